"""MultiSched's engine: pruning, exhaustive search of few jobs, a genetic algorithm for many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models.selection import Selection
from transom.models.selection_reduction import forced_jobs, reduce_selection
from transom.solving import presolve, warm_up
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class MultiSched:
    """The poster's method: jobs that do not fit alone leave; of few the whole front, of many what a GA finds.

    Notes say which method was at work (``chose``), how many jobs were left to it (``considered``) and how many had
    been pruned (``pruned``). An iteration is that of the method at work.

    Parameters
    ----------
    ga : the genetic algorithm: ``nsga2``, ``bbsched`` (``bbsched-ga``, pruned as here), or the specification of any
        solver of selections.
    exhaustive : with fewer jobs than this ``exhaustive`` is asked for the whole front, >= 0: the poster says 10, its
        code takes exactly ten jobs as well, which is 11. Where ``exhaustive`` refuses, the GA is taken.
    prune : whether jobs that do not fit alone are taken away before they are counted; also from the chromosome of
        ``ga=bbsched``. The other methods have no use for such jobs in any case.

    Raises
    ------
    SpecError : ``exhaustive`` is negative, or ``ga`` is no solver of selections.

    References
    ----------
    Fan, Lan, MultiSched, section 2.2 and figure 3.
    """

    name: ClassVar[str] = "multisched"
    solves: ClassVar[type] = Selection

    ga: str = "nsga2"
    exhaustive: int = 10
    prune: bool = True

    def __post_init__(self) -> None:
        if self.exhaustive < 0:
            raise SpecError(f"multisched: exhaustive must be >= 0, got {self.exhaustive}")
        if not issubclass(Selection, _solver(self._ga()).solves):
            raise SpecError(f"multisched: ga={self.ga} does not solve selections")

    def supports(self, problem: Selection, /) -> str | None:
        """What its genetic algorithm takes."""
        reason: str | None = _solver(self._ga()).supports(problem)
        return reason

    def warm_up(self) -> None:
        """Compile what either method needs."""
        for spec in ("exhaustive", self._ga()):
            warm_up(_solver(spec), Selection)

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        reduced = reduce_selection(problem)
        if reduced is None:
            budget.prove_infeasible()
            return
        considered = len(reduced.jobs) + int((reduced.taken & ~forced_jobs(problem)).sum())
        considered += 0 if self.prune else reduced.pruned
        budget.notes["considered"] = considered
        budget.notes["pruned"] = reduced.pruned if self.prune else 0
        few = considered < self.exhaustive and _solver("exhaustive").supports(problem) is None
        solver = _solver("exhaustive" if few else self._ga())
        budget.notes["chose"] = solver.name
        solver(problem, budget, rng, start=start)

    def _ga(self) -> str:
        return f"bbsched-ga:prune={'yes' if self.prune else 'no'}" if self.ga == "bbsched" else self.ga


@cache
def _solver(spec: str) -> Any:
    return registry.make(registry.SOLVERS, spec, Selection)
