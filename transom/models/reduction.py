"""What a knapsack comes down to once the obvious is decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.models.knapsack import Knapsack

_FEW = 100


@dataclass(frozen=True, eq=False, slots=True)
class Reduced:
    """The undecided items of a knapsack, in units that have no common divisor.

    Every optimal choice among ``items`` is, together with ``taken``, an optimal solution of the
    problem, and worth ``value + unit * (value of the choice)``. If there are undecided items at
    all, not all of them fit.

    Parameters
    ----------
    items : positions of the undecided items, ascending, shape ``(m,)``.
    values : their values divided by ``unit``, > 0, shape ``(m,)``.
    weights : their weights divided by the greatest common divisor, > 0 and <= capacity, shape ``(m,)``.
    capacity : the capacity in the units of ``weights``, rounded down; 0 where every item is decided.
    taken : the items that are taken in any case, shape ``(n,)``, bool.
    value : what those are worth.
    unit : the greatest common divisor of the undecided values.
    """

    items: IntArray
    values: IntArray
    weights: IntArray
    capacity: int
    taken: BoolArray
    value: int
    unit: int

    def solution(self, chosen: BoolArray) -> BoolArray:
        """The solution of the problem that takes the undecided items marked in ``chosen``, shape ``(m,)``."""
        if len(self.items) == len(self.taken):
            return chosen.copy()
        solution = self.taken.copy()
        solution[self.items[chosen]] = True
        return solution

    def value_of(self, value: int) -> int:
        """A value or bound of the reduced problem in terms of the problem."""
        return self.value + self.unit * int(value)

    def best(self, value: int) -> int:
        """What a value of the problem is in terms of the reduced one, rounded down."""
        return (value - self.value) // self.unit


def reduce(problem: Knapsack) -> Reduced:
    """Decide the obvious items of a knapsack.

    Items worth nothing or less and items heavier than the capacity are left out, weightless ones are
    taken, and if all others fit together they are taken as well.
    """
    values, weights, capacity = problem.values, problem.weights, problem.capacity
    if nothing_obvious(problem):  # said apart because it is quick where there are a million
        taken, items = np.zeros(len(values), np.bool_), np.arange(len(values))
        values, weights = values.copy(), weights.copy()
    else:
        useful = (values > 0) & (weights <= capacity)
        taken = useful & (weights == 0)
        open_ = useful & (weights > 0)
        if int(weights[open_].sum()) <= capacity:
            taken |= open_
            open_ = np.zeros_like(open_)
        items = np.flatnonzero(open_)
        values, weights = values[items], weights[items]
    unit = divisor = 1
    if len(items):
        unit, divisor = common_divisor(values), common_divisor(weights)
        if unit > 1:
            values = values // unit
        if divisor > 1:
            weights = weights // divisor
    value = problem.value(taken) if taken.any() else 0
    return Reduced(items, values, weights, capacity // divisor if len(items) else 0, taken, value, unit)


def nothing_obvious(problem: Knapsack) -> bool:
    """Whether :func:`reduce` leaves every item undecided."""
    values, weights = problem.values, problem.weights
    return bool(
        len(values)
        and values.min() > 0
        and weights.min() > 0
        and weights.max() <= problem.capacity
        and int(weights.sum()) > problem.capacity
    )


def common_divisor(numbers: IntArray) -> int:
    """The greatest common divisor of shape ``(n,)``; of many numbers, the first few mostly show that it is 1."""
    divisor = int(np.gcd.reduce(numbers[:_FEW]))
    return divisor if divisor == 1 or len(numbers) <= _FEW else int(np.gcd.reduce(numbers))
