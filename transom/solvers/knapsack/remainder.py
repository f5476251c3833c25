"""What a knapsack comes down to once a good solution is known: fewer items, smaller numbers, equal items together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.models.reduction import Reduced

_STEPS = 27_720  # the least common multiple of 1 to 12: multipliers are often fractions of small numbers
_ROOM = 2.0**60  # what scaled sums must stay below
_LEAST = 2.0**10  # a scale below this is too coarse to fix anything by
_ALIKE = 3  # so many items per different item, and equal ones are put together


@dataclass(frozen=True, eq=False, slots=True)
class Remainder:
    """The items that a solution may still differ in if it is better than the best one known.

    Equal items stand together as one, two, four ... of them: every number of copies remains possible.

    Parameters
    ----------
    reduced : the problem.
    values, weights : of the items or of bundles of equal items, > 0, shape ``(m,)``.
    copies : how many items each one stands for, shape ``(m,)``.
    capacity : what is left of the capacity, in units of the weights.
    known : value of the best solution known, in units of the values and without the fixed items; rounded down.
    kind : which different item each one is made of, shape ``(m,)``.
    items : positions in the reduced problem, shape ``(k,)``.
    kinds, ranks : of each of these items, its kind and its number among the equal ones, shape ``(k,)``.
    taken : the items of the reduced problem that are fixed in, bool.
    value : what those are worth, in its units.
    unit : the common divisor of the values.
    """

    reduced: Reduced
    values: IntArray
    weights: IntArray
    copies: IntArray
    capacity: int
    known: int
    kind: IntArray
    items: IntArray
    kinds: IntArray
    ranks: IntArray
    taken: BoolArray
    value: int
    unit: int

    def solution(self, chosen: BoolArray) -> BoolArray:
        """The solution of the problem for a choice, shape ``(n,)``."""
        taken = self.taken.copy()
        counts = np.zeros(int(self.kinds.max(initial=-1)) + 1, np.int64)
        np.add.at(counts, self.kind[chosen], self.copies[chosen])
        taken[self.items[self.ranks < counts[self.kinds]]] = True
        return self.reduced.solution(taken)

    def value_of(self, value: int) -> int:
        """A value or bound in terms of the problem; solutions that are fixed out are no better than the best one."""
        return self.reduced.value_of(self.value + self.unit * int(value))

    def best(self, value: int) -> int:
        """What a value of the problem is here, rounded down."""
        return (self.reduced.best(value) - self.value) // self.unit


def scale(largest: float) -> int:
    """By what values are multiplied so that multipliers are whole numbers and sums within 60 bits; 0 if that is coarse.

    Parameters
    ----------
    largest : no sum of values, or of anything times its multiplier, is larger.
    """
    room = _ROOM / max(largest, 1.0) / _STEPS
    if room * _STEPS < _LEAST:
        return 0
    return int(_STEPS * 2 ** int(np.floor(np.log2(room)))) if room >= 1 else 2 ** int(np.log2(room * _STEPS))


def remainder(reduced: Reduced, known: int) -> Remainder | None:
    r"""Fix the items that no better solution changes, and divide what is left by common divisors.

    By the Lagrangian bound :math:`L = \mu W + \sum_j \max(0, v_j - \mu w_j)` with the efficiency
    :math:`\mu` of the break item: an item changes sides in a better solution only if
    :math:`L - |v_j - \mu w_j|` exceeds that solution. All numbers are whole ones after multiplication.

    Parameters
    ----------
    known : value of the best solution of the problem that is known.

    Returns
    -------
    None where nothing can be better.
    """
    items = np.arange(len(reduced.items))
    taken = np.zeros(len(items), np.bool_)
    values, weights, capacity = reduced.values, reduced.weights, reduced.capacity
    value, unit, best = 0, 1, reduced.best(known)
    while True:
        fits = weights <= capacity
        items, values, weights = items[fits], values[fits], weights[fits]
        if not len(items):
            if best >= 0:
                return None
            break
        sides = _sides(values, weights, capacity, best)
        if sides is None:
            return None
        inside, free = sides
        fixed = items[inside]
        taken[fixed] = True
        gain = int(values[inside].sum())
        capacity -= int(weights[inside].sum())
        value, best = value + unit * gain, best - gain
        items, values, weights = items[free], values[free], weights[free]
        if capacity < 0:
            return None
        divisor, factor = int(np.gcd.reduce(weights)), int(np.gcd.reduce(values))
        if max(divisor, factor) > 1:
            values, weights, capacity = values // factor, weights // divisor, capacity // divisor
            unit, best = unit * factor, best // factor
        elif free.all():
            break
    every = np.arange(len(items))
    return _bundled(
        Remainder(
            reduced=reduced,
            values=values,
            weights=weights,
            copies=np.ones(len(items), np.int64),
            capacity=capacity,
            known=best,
            kind=every,
            items=items,
            kinds=every,
            ranks=np.zeros_like(every),
            taken=taken,
            value=value,
            unit=unit,
        )
    )


def _sides(values: IntArray, weights: IntArray, capacity: int, best: int) -> tuple[BoolArray, BoolArray] | None:
    """Which items are in every better solution, and which are not settled; None if there is none."""
    ratio = values / weights
    order = np.argsort(-ratio)
    filled = np.cumsum(weights[order])
    place = int(np.searchsorted(filled, capacity, side="right"))
    slope = float(ratio[order[place]]) if place < len(order) else 0.0
    steps = scale(float(values.sum()) + slope * float(weights.sum()))
    if not steps:
        return np.zeros(len(values), np.bool_), np.ones(len(values), np.bool_)
    multiplier = round(slope * steps)
    gains = steps * values - multiplier * weights
    slack = multiplier * capacity + int(gains[gains > 0].sum()) - steps * (best + 1)
    if slack < 0:
        return None
    free = np.abs(gains) <= slack
    return ~free & (gains > 0), free


def _bundled(rest: Remainder) -> Remainder:
    """Equal items together, where there are enough of them."""
    values, weights, items = rest.values, rest.weights, rest.items
    order = np.lexsort((values, weights))
    new = np.ones(len(items), np.bool_)
    new[1:] = (np.diff(weights[order]) != 0) | (np.diff(values[order]) != 0)
    starts = np.flatnonzero(new)
    if _ALIKE * len(starts) > len(items):
        return rest
    kinds = np.cumsum(new) - 1
    kind, copies = [], []
    for each, count in enumerate(np.diff(np.append(starts, len(items))).tolist()):
        size = 1
        while count > 0:
            kind.append(each)
            copies.append(min(size, count))
            count -= size
            size *= 2
    of_kind, of_copies = np.array(kind, np.int64), np.array(copies, np.int64)
    first = order[starts][of_kind]
    return replace(
        rest,
        values=values[first] * of_copies,
        weights=weights[first] * of_copies,
        copies=of_copies,
        kind=of_kind,
        items=items[order],
        kinds=kinds,
        ranks=np.arange(len(items)) - starts[kinds],
    )
