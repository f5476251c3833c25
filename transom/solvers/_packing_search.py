"""What the native solvers of a packing share: the blocks of a start, and how far floating point carries a bound."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transom.models._arrays import FloatArray, IntArray
from transom.models.allocation import Allocation
from transom.models.fat_tree import FatTree
from transom.models.shortest_path import ConstrainedPath
from transom.solvers._packing import Packing, first_fit, packing, unpacked
from transom.stop import Budget

_RELATIVE = 1e-9
_LARGE = 1e7  # up to which costs suit the absolute tolerances of linear programmes


def warm_packing() -> None:
    """Compile what packs, unpacks and judges static allocations and paths."""
    tiny = Allocation(FatTree.k_ary(2), np.arange(2), np.array([2]))
    owner = unpacked(tiny, np.zeros(1, np.int64), np.zeros(1, np.int64))
    first_fit(packing(tiny))
    tiny.value(owner)
    tiny.violations(owner)


def refused_rule(problem: Allocation) -> str | None:
    """Why a solver of the static rule cannot take this allocation, or None."""
    return None if problem.rule == "static" else f"its rule is {problem.rule}, not static"


def blocks(problem: Allocation | ConstrainedPath, solution: Any) -> tuple[IntArray, IntArray]:
    """Row of each block's size and its first entry, by row, then entry: the inverse of ``unpacked``."""
    if isinstance(problem, ConstrainedPath):
        starts, sizes = np.asarray(solution, np.int64).reshape(-1, 2).T
    else:
        starts, sizes = problem.starts(solution), problem.sizes
    rows = np.unique(sizes, return_inverse=True)[1].astype(np.int64)  # each size occurs in every solution
    order = np.lexsort((starts, rows))
    return rows[order], starts[order]


def has_no_arc(packing: Packing) -> bool:
    """Whether there is no block at all of some size."""
    return bool((~np.isfinite(packing.costs)).all(axis=1).any())


def answer_greedily(
    problem: Allocation | ConstrainedPath, packing: Packing, budget: Budget, why: str | None = None
) -> None:
    """Hand over blocks placed one after another, from a solver that cannot build its model within the budget.

    Parameters
    ----------
    why : what is noted where the solver ends before its time is up.
    """
    if why is not None:
        budget.notes["ended"] = why
    if budget.value is None and (placed := first_fit(packing)) is not None:
        budget.found(unpacked(problem, *placed))


def cost_unit(costs: FloatArray) -> float:
    """A power of two by which to divide costs so that tolerances for numbers around 1 suit them; mostly 1."""
    finite = np.abs(costs[np.isfinite(costs)])
    largest = float(finite.max(initial=0.0))
    if largest == 0 or 1 <= largest <= _LARGE:
        return 1.0
    return math.ldexp(1.0, math.frexp(largest)[1] - 20)


def float_slack(packing: Packing, unit: float) -> float:
    """By how much a linear programme may overstate a bound, beside a relative 1e-9.

    Reduced costs are right to 1e-7, for every variable of a solution: blocks, entries in between.
    """
    return 1e-7 * unit * (packing.length + int(packing.counts.sum()))


def honest(bound: float, whole: bool, slack: float) -> float:
    """A bound from floating point as far as it holds: less the slack, rounded up where costs are whole."""
    safe = bound - slack - _RELATIVE * abs(bound)
    return math.ceil(safe) if whole and abs(safe) < 2**53 else safe


def prove(budget: Budget, bound: float, whole: bool, slack: float) -> None:
    """Hand over what holds of a bound; never more than the best value, which a solution has."""
    safe = honest(bound, whole, slack)
    budget.prove(safe if budget.value is None else min(safe, budget.value))


def close(budget: Budget, bound: float, whole: bool, slack: float) -> None:
    """The search is closed: claim that the best value is optimal if the solver's own bound says so too."""
    prove(budget, bound, whole, slack)
    if budget.value is not None and bound >= budget.value - slack - _RELATIVE * abs(budget.value):
        budget.prove(budget.value)
