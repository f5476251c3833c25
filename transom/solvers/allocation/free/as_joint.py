"""Free allocation as a joint choice in which all jobs must start: for deeper trees, and limits on leaf switches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from transom import registry
from transom.models.allocation import Allocation
from transom.models.joint import Joint
from transom.solving import warm_up
from transom.stop import Budget


def solve_as_joint(problem: Allocation, budget: Budget, rng: np.random.Generator) -> None:
    """Go on from the best solution, if any, with ``joint-cpsat``: solutions are the same, costs are negated values."""
    jobs = len(problem)
    posed = Joint(
        problem.tree, problem.idle, problem.sizes, np.zeros(jobs, np.int64), 1.0, np.arange(jobs), problem.cost,
        problem.leaf_limits,
    )  # fmt: skip
    solver = registry.make(registry.SOLVERS, "joint-cpsat", Joint)
    with budget.uncounted():
        warm_up(solver, Joint)
    solver(posed, _Negated(posed, budget), rng, start=budget.solution)


class _Negated(Budget):
    """What is left of a budget, for the joint choice: what is found, proved and spent goes to the allocation's."""

    def __init__(self, posed: Joint, whole: Budget) -> None:
        seconds = None if whole.stop.seconds is None else max(whole.seconds_left(), 1e-9)
        target = None if whole.stop.target is None else -whole.stop.target
        stop = replace(whole.stop, seconds=seconds, iterations=whole.iterations_left(), target=target)
        super().__init__(stop, posed, whole.threads, whole.clock)
        self._whole, self.notes = whole, whole.notes

    def spend(self, iterations: int = 1) -> None:
        super().spend(iterations)
        self._whole.spend(iterations)

    def found(self, solution: Any) -> bool:
        better = super().found(solution)
        if better:
            self._whole.found(solution)
        return better

    def prove(self, bound: float) -> None:
        super().prove(bound)
        self._whole.prove(-bound)

    def prove_infeasible(self) -> None:
        super().prove_infeasible()
        self._whole.prove_infeasible()
