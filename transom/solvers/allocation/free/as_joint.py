"""Free allocation as a joint choice in which all jobs must start: for deeper trees, and limits on leaf switches."""

from __future__ import annotations

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
    part = budget.part(posed, found=budget.found, prove=lambda bound: budget.prove(-bound))
    solver(posed, part, rng, start=budget.solution)
