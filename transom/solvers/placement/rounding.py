"""Amounts with fewer bits, for solvers that do not hold all: rounded to one side, so that it is known what follows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from transom import registry
from transom.models.arrays import IntArray
from transom.models.placement import Placement
from transom.solvers.placement.reduced import PER_TRIPLE, Reduced, reduce
from transom.solving import presolve
from transom.stop import Budget


class Rounded(NamedTuple):
    """Demands and rooms in coarser units.

    Parameters
    ----------
    demands, free : shapes ``(T, R)`` and ``(M, R)``.
    exact : whether nothing was rounded.
    bounding : whether everything that fits fits into these, so that their bounds hold.
    """

    demands: IntArray
    free: IntArray
    exact: bool
    bounding: bool


def to_search(
    problem: Placement, budget: Budget, rng: np.random.Generator, bits: int, per_pair: float
) -> Iterator[tuple[Reduced, Rounded]]:
    """What a solver that holds so many bits is to search: the problem rounded for a bound, then for an answer.

    The greedy answer and the bound by which all waiting instances are placed are reported to the budget first. Nothing
    comes where that settles the problem, no second problem where nothing was rounded, and none when the time is over.

    Parameters
    ----------
    bits : of amounts, at most.
    per_pair : what it takes to build the model, for each pair of task and machine that fit [s].
    """
    if presolve(problem, budget):
        return
    registry.make(registry.SOLVERS, "greedy", Placement)(problem, budget, rng)
    budget.prove(int(problem.values @ problem.waiting))
    if budget.short(PER_TRIPLE * problem.demands.size * len(problem.free)):
        return
    reduced = reduce(problem)
    if not len(reduced.values):
        budget.prove(int(budget.value or 0))
        return
    budget.prove(int(reduced.values @ reduced.waiting))
    for feasible in (False, True):
        if budget.done() or budget.short(per_pair * np.count_nonzero(reduced.fits)):
            return
        amounts = rounded(reduced, bits, feasible)
        yield reduced, amounts
        if amounts.exact:
            return


def rounded(problem: Reduced, bits: int, feasible: bool) -> Rounded:
    """Amounts of so many bits at most.

    Parameters
    ----------
    feasible : demands are rounded up and rooms down, so that what fits into these fits; else the other way round, so
        that everything that fits fits into these.
    """
    demands, free, exact = problem.demands.copy(), problem.free.copy(), True
    for r in range(free.shape[1]):
        unit = 2 ** max(0, int(free[:, r].max()).bit_length() - bits)
        common = max(1, int(np.gcd.reduce(np.append(demands[:, r], 0))))
        if unit <= common:  # in units that all demands have in common nothing is lost
            demands[:, r] //= common
            free[:, r] //= common
            continue
        exact = False
        up, down = (demands, free) if feasible else (free, demands)
        up[:, r] = -(-up[:, r] // unit)
        down[:, r] //= unit
    return Rounded(demands, free, exact, not feasible or exact)
