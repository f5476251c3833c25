"""A solver of your own: random restarts of greedy, judged by the same solve() as all others.

Run it: python examples/own_solver.py
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom import Budget, Knapsack, Stop, solve


@dataclass(frozen=True)
class RandomGreedy:
    """Take items in a random order as long as they fit; an iteration is one order."""

    name: ClassVar[str] = "random-greedy"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        """Takes every knapsack."""
        return None

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        """Hand solutions to the budget, which checks and scores them, until it is spent."""
        while not budget.done():
            chosen, room = np.zeros(len(problem), bool), problem.capacity
            for item in rng.permutation(len(problem)):
                if problem.weights[item] <= room and problem.values[item] > 0:
                    chosen[item] = True
                    room -= int(problem.weights[item])
            budget.found(chosen)
            budget.spend()


if __name__ == "__main__":
    rng = np.random.default_rng(1)
    weights = rng.integers(1, 500, 60)
    problem = Knapsack(weights + rng.integers(0, 100, 60), weights, 4360)
    for solver in (RandomGreedy(), "greedy", "dp"):
        result = solve(problem, solver, Stop(iterations=1000), seed=1)
        print(
            f"{result.solver:<14} value {result.value:>6} bound {result.bound!s:>6} {result.status} ({result.reason})"
        )
