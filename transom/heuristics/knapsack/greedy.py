"""Greedy by value per weight, with completion: the first answer of every other solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.heuristics.knapsack.greedy_buckets import SORTED, complete, greedy_choice
from transom.models.arrays import BoolArray, IntArray
from transom.models.efficiency import alike, by_efficiency, dantzig
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, common_divisor, nothing_obvious, reduce
from transom.solving import TakesAll
from transom.stop import Budget

__all__ = ["Greedy", "complete"]


@dataclass(frozen=True, slots=True)
class Greedy(TakesAll):
    """Take items by falling value per weight, each one that still fits; or the best single item.

    Ties are broken by position. The better of the two is worth at least half of the optimum, and Dantzig's bound is
    proved beside it. It takes O(n log n) time and counts no iterations. Of more than 20,000 items, those far behind
    the break item are not looked for if time is over by then.

    References
    ----------
    Kellerer, Pferschy, Pisinger, Knapsack Problems (2004), section 2.1 (Ext-Greedy).
    """

    name: ClassVar[str] = "greedy"
    solves: ClassVar[type] = Knapsack

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        one = np.ones(1, np.int64)
        complete(np.zeros(1, np.bool_), one, 1, by_efficiency(one, one))
        many = np.arange(1, SORTED + 2)
        greedy_choice(many * many, many, 10)
        greedy_choice(many, many, int(many.sum()) // 2)
        by_efficiency(one * 2**40, one * 2**40)
        alike(one, one)

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if budget.value is not None and budget.bound is not None:
            return  # another solver has begun with it

        def late() -> bool:
            return budget.seconds_left() == 0

        if len(problem) > SORTED and nothing_obvious(problem):
            # As below, without copies of a million items.
            unit, divisor = common_divisor(problem.values), common_divisor(problem.weights)
            capacity = problem.capacity - problem.capacity % divisor
            chosen, bound = greedy_choice(problem.values, problem.weights, capacity, late)
            budget.found(_or_best_item(chosen, problem.values))
            budget.prove(bound - bound % unit)
            return
        reduced = reduce(problem)
        if not len(reduced.items):
            budget.found(reduced.taken)
            budget.prove(reduced.value)
            return
        chosen, bound = _choice(reduced, late)
        budget.found(reduced.solution(_or_best_item(chosen, reduced.values)))
        budget.prove(reduced.value_of(bound))


def _or_best_item(chosen: BoolArray, values: IntArray) -> BoolArray:
    best = int(values.argmax())
    if values[best] > np.einsum("i,i", values, chosen):
        chosen[:] = False
        chosen[best] = True
    return chosen


def _choice(reduced: Reduced, late: Callable[[], bool]) -> tuple[BoolArray, int]:
    values, weights = reduced.values, reduced.weights
    if len(values) > SORTED:
        return greedy_choice(values, weights, reduced.capacity, late)
    order = by_efficiency(values, weights)
    chosen = np.zeros(len(values), np.bool_)
    complete(chosen, weights, reduced.capacity, order)
    return chosen, dantzig(values, weights, reduced.capacity, order)
