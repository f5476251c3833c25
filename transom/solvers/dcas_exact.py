"""The exact optimum of the dynamic rule: interval structures, then a subset program on top of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree
from transom.solvers import _dcas_labels
from transom.solvers._dcas_structures import Structures, table_bytes
from transom.solvers._packing import packing
from transom.solvers.scas_dp import static_optimum
from transom.stop import Budget, Stop

_CHUNK = 30_000  # labels between two looks at the clock: a few milliseconds


@dataclass(frozen=True, slots=True)
class DcasExact:
    name: ClassVar[str] = "dcas-exact"
    solves: ClassVar[type] = Allocation

    memory: int = 512

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"dcas-exact: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Allocation, /) -> str | None:
        """None for the dynamic rule on a tree whose leaves and pods are consecutive nodes."""
        if problem.rule != "dynamic":
            return f"it solves the dynamic rule, not {problem.rule}"
        if not problem.tree.contiguous:
            return "the nodes of a leaf switch or of a pod are not consecutive"
        return None

    def warm_up(self) -> None:
        """Compile the kernels."""
        _warm_up()

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if problem.trivial() is not None:
            return
        optimum = static_optimum(problem)
        if optimum is not None:
            budget.found(optimum[0])
        if budget.done():
            return
        pack = packing(problem)
        structures = Structures(problem, pack)
        budget.prove(_safe(structures.lowest, problem.cost.floored))
        if budget.done() or table_bytes(pack) > self.memory * 2**20 or budget.value is None:
            return
        limit = budget.value - structures.lowest
        structures.prepare(limit - 0.5 if problem.cost.floored else limit - 1e-9 * abs(budget.value))
        while True:
            end = structures.grow(_CHUNK)
            if end == _dcas_labels.DONE:
                break
            if end == _dcas_labels.FULL:
                if not structures.make_room(self.memory * 2**20):
                    return
            elif budget.done():
                return
        better = structures.best(budget.value)
        if better is not None:
            budget.found(better)
        budget.prove(budget.value)


def _safe(bound: float, whole: bool) -> float:
    if whole:
        return math.ceil(bound - 1e-9 * abs(bound))
    return bound - 1e-9 * abs(bound)


@cache
def _warm_up() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(10), [4, 4, 2], "dynamic")
    DcasExact()(problem, Stop().start(problem), np.random.default_rng(0))
