"""The window policy: order, window, problem, solver, start; then EASY around a kept reservation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom import registry
from transom.errors import SpecError
from transom.models import Knapsack, Objective, Window
from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.core import events
from transom.simulation.core.decision import Decision
from transom.simulation.core.site_order import load_rule
from transom.simulation.passes.easy_backfill import fits, shadow_time
from transom.simulation.passes.window_pass import pass_over, window_state
from transom.simulation.policies import window_replay
from transom.solving import Solver, answer, warm_up
from transom.stop import Stop

if TYPE_CHECKING:
    from transom.simulation.core.replay import Progress, Replay


@dataclass(slots=True)
class WindowPolicy:
    """Solve a knapsack over the first jobs of the queue and start what was chosen.

    With ``easy`` the first job in the site's order that keeps waiting gets a reservation, which it
    keeps until it starts; a choice that would delay it is cut (``cut`` in the decisions counts
    them), and the rest of the queue is backfilled around it. Without, jobs may starve.

    Parameters
    ----------
    order : priority rule that orders the queue.
    size : jobs in the window, > 0.
    k : instead, the knob, in (0, 1]: ``ceil(k * queue)`` jobs.
    objective : a registered objective.
    solver : a registered solver or a specification.
    seconds, iterations : the solver's :class:`~transom.stop.Stop` per window.
    easy : whether to reserve and backfill.
    """

    order: str = "fcfs"
    size: int = 50
    k: float | None = None
    objective: str = "nodes"
    solver: str = "auto"
    seconds: float | None = 1.0
    iterations: int | None = None
    easy: bool = True

    _objective: Objective = field(init=False, repr=False)
    _solver: Solver = field(init=False, repr=False)
    _stop: Stop = field(init=False, repr=False)
    _seeds: np.random.Generator = field(init=False, repr=False)
    _protected: int = field(default=-1, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.size < 1:
            raise SpecError(f"window: size must be > 0, got {self.size}")
        if self.k is not None and not 0 < self.k <= 1:
            raise SpecError(f"window: k must be in (0, 1], got {self.k}")
        load_rule(self.order)
        self._objective = registry.make(registry.OBJECTIVES, self.objective)
        self._solver = registry.make(registry.SOLVERS, self.solver)
        self._stop = Stop(seconds=self.seconds, iterations=self.iterations)
        if not issubclass(Knapsack, self._solver.solves):
            raise SpecError(f"window: solver {self.solver!r} does not solve knapsacks")
        self.reset(stream(0, "window"))

    def reset(self, rng: np.random.Generator) -> None:
        """Forget the reservation, draw the solver's seeds from ``rng``, load the solver."""
        self._seeds = rng
        self._protected = -1
        warm_up(self._solver, Knapsack)

    @property
    def run(self) -> Callable[[Replay, Progress], dict[str, NDArray[Any]]] | None:
        """A whole replay in one compiled loop; None where solver, objective or stop are not those it knows."""
        if type(self) is not WindowPolicy or not window_replay.takes(self):
            return None
        return lambda replay, report: window_replay.run_windows(replay, self, report)

    def length(self, waiting: int) -> int:
        """Jobs in the window if so many wait and all are offered."""
        return self.size if self.k is None else math.ceil(round(self.k * waiting, 9))

    def decide(self, window: Window, /) -> Decision:
        """Start the protected job if it fits, then what the solver chose, then backfill."""
        ids = window.queue.id
        state = window_state(window, np.arange(len(ids)))
        extra = np.empty(len(state.free), np.int64)
        first: list[int] = []
        shadow = int(events.NEVER)
        protected = -1
        if self.easy and (kept := np.flatnonzero(ids == self._protected)).size:
            protected = int(kept[0])
            if fits(state.jobs, protected, state.free):
                _occupy(state, protected)
                first.append(protected)
                protected = -1
            else:
                shadow = shadow_time(state.jobs, state.expected, state.free, state.at, protected, extra, True)

        chosen, notes = self._choose(window, state.free, [*first, protected])
        kept_choice, cut = _cut(state, chosen, shadow, extra, protected >= 0)
        decision = Decision(
            start=tuple(ids[first + ([] if protected >= 0 else kept_choice)].tolist()),
            backfill=tuple(ids[kept_choice].tolist()) if protected >= 0 else (),
            notes={**notes, "cut": cut},
        )
        return self._backfill(window, state, decision, protected) if self.easy else decision

    def _choose(self, window: Window, free: IntArray, skip: list[int]) -> tuple[list[int], dict[str, Any]]:
        waiting = len(window.queue)
        jobs = np.setdiff1d(np.arange(min(self.length(waiting), waiting)), skip)
        asked = Knapsack.from_window(window, self._objective, jobs)
        problem = Knapsack(asked.values, asked.weights, int(free[0]), asked.scale)
        result = answer(problem, self._solver, self._stop, int(self._seeds.integers(2**31)))
        notes = {
            "window": len(jobs),
            "status": result.status,
            "value": math.nan if result.value is None else float(result.value) / problem.scale,
            "bound": math.nan if result.bound is None else float(result.bound) / problem.scale,
            "seconds": result.seconds,
        }
        return [] if result.solution is None else jobs[result.solution].tolist(), notes

    def _backfill(self, window: Window, state: events.State, decision: Decision, protected: int) -> Decision:
        gone = np.isin(window.queue.id, decision.start + decision.backfill)
        rest = np.flatnonzero(~gone)
        if protected >= 0:
            rest = np.concatenate(([protected], rest[rest != protected]))
        state.queue[: len(rest)] = rest
        state.at[events.QUEUED] = len(rest)
        after = pass_over(window, "easy", state)
        self._protected = after.reserve[0].job if after.reserve else -1
        return Decision(
            start=decision.start + after.start,
            backfill=decision.backfill + after.backfill,
            reserve=after.reserve,
            notes=decision.notes,
        )


def optimization(size: int = 50, objective: str = "dras-capability", solver: str = "dp") -> WindowPolicy:
    """Optimization of the DRAS paper: its knapsack policy, without reservation and backfilling.

    Parameters
    ----------
    size : jobs in the window, 50 as in the paper.
    objective : ``dras-capability`` (eq. 1, Theta) or ``dras-capacity`` (eq. 2, Cori).
    solver : dynamic programming as in the paper.

    References
    ----------
    Fan et al., DRAS, sections IV-A and V, Table IV.
    """
    return WindowPolicy(size=size, objective=objective, solver=solver, seconds=None, easy=False)


def _cut(
    state: events.State, chosen: list[int], shadow: int, extra: IntArray, protected: bool
) -> tuple[list[int], int]:
    """Place the chosen jobs in queue order; leave out those that do not fit or would delay the protected one."""
    kept: list[int] = []
    for job in chosen:
        if not fits(state.jobs, job, state.free):
            continue  # a further resource ran out, which the knapsack does not know
        if protected and state.at[events.NOW] + state.jobs[job, events.WALLTIME] > shadow:
            if not fits(state.jobs, job, extra):
                continue
            extra -= state.jobs[job, events.DEMAND :]
        _occupy(state, job)
        kept.append(job)
    return kept, len(chosen) - len(kept)


def _occupy(state: events.State, job: int) -> None:
    events.occupy(state.jobs, state.expected, state.free, state.at, job)
