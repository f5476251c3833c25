"""First fit in the window's order: the paper's Seq."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.heuristics.allocation.arrays import best_known
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop


@dataclass(frozen=True, slots=True)
class Sequential:
    """Place jobs in the window's order, each on the lowest idle nodes that are left (Seq.).

    Blocks follow each other from the head of the idle nodes without a hole, so that each job is
    consecutive under every rule, and none wraps around. It takes linear time and counts no iterations.

    References
    ----------
    Lan et al. (2023), section V-A (the initial solution) and table III.
    """

    name: ClassVar[str] = "sequential"
    solves: ClassVar[type] = Allocation

    def supports(self, problem: Allocation, /) -> str | None:
        """Every allocation without limits on leaf switches."""
        return problem.limited

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels of the model."""
        problem = Allocation(FatTree.k_ary(4), np.arange(8), np.array([4, 2]), "dynamic")
        Sequential()(problem, Stop().start(problem), np.random.default_rng(0))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if not presolve(problem, budget):
            best_known(problem, budget, start)
