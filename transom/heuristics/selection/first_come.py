"""First come, first served: the order of the queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.models.selection import Selection
from transom.models.selection_reduction import forced_jobs
from transom.solving import TakesAll, presolve
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class FirstCome(TakesAll):
    """Start jobs in the order of the queue up to the first that does not fit, then every later one that does.

    The first part is the papers' naive FCFS, which stops there; how many jobs it starts is noted as ``naive``. But
    what a window leaves idle is no solution: the second part completes it (first fit). As a policy of the simulator,
    ``fcfs`` is the naive one. Forced jobs come before all others, excluded ones are passed over, and a job waits
    for those that it requires. A front of one point; the objectives do not matter. It counts no iterations.

    References
    ----------
    "FCFS" in Fan, Lan, MultiSched, section 3.
    """

    name: ClassVar[str] = "fcfs"
    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("moocore",)

    def warm_up(self) -> None:
        """Import the library that judges fronts."""
        import moocore  # noqa: F401

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if not presolve(problem, budget):
            budget.notes["naive"] = naive(problem)
            budget.found(problem.front(forced_jobs(problem)[None, :]))


def naive(problem: Selection) -> int:
    """How many jobs of a selection whose forced jobs fit start before the first that cannot, forced ones included."""
    chosen = forced_jobs(problem)
    room = problem.capacity - problem.demands[chosen].sum(axis=0)
    others: dict[int, list[int]] = {}
    for job, other in problem.requires:
        others.setdefault(job, []).append(other)
    for job in np.flatnonzero(~chosen & ~problem.excluded).tolist():
        if (problem.demands[job] > room).any() or not chosen[others.get(job, [])].all():
            break
        chosen[job] = True
        room = room - problem.demands[job]
    return int(chosen.sum())
