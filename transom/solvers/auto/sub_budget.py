"""Sub-budgets, for several methods that share a budget."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from transom.stop import Budget, Problem


class SubBudget(Budget):
    """A part of what is left of a budget; what is found, proved, spent and noted goes to the whole of it.

    Parameters
    ----------
    problem : that of the whole.
    whole : the budget.
    share : of the time and of the iterations that are left, > 0 and at most 1.
    """

    def __init__(self, problem: Problem, whole: Budget, share: float) -> None:
        seconds, iterations = whole.stop.seconds, whole.iterations_left()
        stop = replace(
            whole.stop,
            seconds=None if seconds is None else max(share * whole.seconds_left(), 1e-9),
            iterations=None if iterations is None else math.ceil(share * iterations),
        )
        super().__init__(stop, problem, whole.threads, whole.clock)
        self._whole, self.notes = whole, whole.notes
        self._sync()

    def spend(self, iterations: int = 1) -> None:
        super().spend(iterations)
        self._whole.spend(iterations)

    def found(self, solution: Any) -> bool:
        better = self._whole.found(solution)
        if better:
            self._improved_at = self.iterations
        self._sync()
        return better

    def prove(self, bound: float) -> None:
        self._whole.prove(bound)
        self._sync()

    def prove_infeasible(self) -> None:
        self._whole.prove_infeasible()
        self.infeasible = True

    def _sync(self) -> None:
        self.solution, self.value, self.bound = self._whole.solution, self._whole.value, self._whole.bound
