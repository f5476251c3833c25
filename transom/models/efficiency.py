"""Items of a knapsack in the order of value per weight, and the bound that follows from it.

All comparisons are exact, whatever the size of the numbers: a bound that is off by one in the
sixteenth digit would "prove" a wrong optimum.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray

EXACT_IN_FLOATS = 2.0**52
"""Below this product of largest value and weight, quotients in double precision differ where fractions do."""


def by_efficiency(values: IntArray, weights: IntArray) -> IntArray:
    """Positions by falling value per weight; equal ones keep their order.

    Parameters
    ----------
    values : > 0, shape ``(m,)``.
    weights : > 0, shape ``(m,)``.
    """
    if not len(values):
        return np.empty(0, np.int64)
    ratio = values / weights
    # Two different fractions a/b and c/d are at least 1/(ad) apart in relative terms: below this
    # limit, their quotients in double precision differ too, and stand in the right order.
    if float(values.max()) * float(weights.max()) < EXACT_IN_FLOATS:
        return np.argsort(-ratio, kind="stable").astype(np.int64, copy=False)
    order: IntArray = sort_by_efficiency(ratio, values, weights)
    return order


def dantzig(values: IntArray, weights: IntArray, capacity: int, order: IntArray) -> int:
    r"""Dantzig's bound: the value of the linear relaxation, rounded down.

    .. math:: U = \sum_{j<b} v_j + \Bigl\lfloor \Bigl(W - \sum_{j<b} w_j\Bigr) \frac{v_b}{w_b} \Bigr\rfloor

    with the break item :math:`b`, the first one in the order of efficiency that does not fit.

    Parameters
    ----------
    values, weights, capacity : the knapsack, all > 0; arrays of shape ``(items,)``.
    order : positions as :func:`by_efficiency` gives them.

    References
    ----------
    Dantzig, Discrete-variable extremum problems, Operations Research 5 (1957).
    """
    filled = np.cumsum(weights[order])
    item = int(np.searchsorted(filled, capacity, side="right"))
    value = int(values[order[:item]].sum())
    if item == len(order):
        return value
    left = capacity - (int(filled[item - 1]) if item else 0)
    broken = order[item]
    return value + left * int(values[broken]) // int(weights[broken])


@compiled
def alike(values: IntArray, weights: IntArray) -> bool:
    """Whether all items have the same value per weight, exactly; both of shape ``(items,)``, all > 0."""
    for item in range(1, len(values)):
        a, b = values[item], weights[item]
        if a == b and values[0] == weights[0]:
            continue
        if _less(a, b, values[0], weights[0]) or _less(values[0], weights[0], a, b):
            return False
    return True


@compiled
def _less(a: int, b: int, c: int, d: int) -> bool:
    # a/b < c/d by their continued fractions, without a product that could overflow.
    while True:
        whole_ab, whole_cd = a // b, c // d
        if whole_ab != whole_cd:
            return whole_ab < whole_cd
        rest_ab, rest_cd = a - whole_ab * b, c - whole_cd * d
        if rest_cd == 0:
            return False
        if rest_ab == 0:
            return True
        a, b, c, d = d, rest_cd, b, rest_ab


@compiled
def sort_by_efficiency(ratio: FloatArray, values: IntArray, weights: IntArray) -> IntArray:
    # Bottom-up merge sort; only items that double precision cannot distinguish are compared exactly.
    count = len(ratio)
    source, target = np.arange(count), np.empty(count, np.int64)
    width = 1
    while width < count:
        for first in range(0, count, 2 * width):
            middle, last = min(first + width, count), min(first + 2 * width, count)
            i, j = first, middle
            for k in range(first, last):
                right = i >= middle
                if not right and j < last:
                    a, b = source[i], source[j]
                    if ratio[b] > ratio[a] * (1 + 1e-15):
                        right = True
                    elif ratio[b] >= ratio[a] * (1 - 1e-15):
                        right = _less(values[a], weights[a], values[b], weights[b])
                if right:
                    target[k] = source[j]
                    j += 1
                else:
                    target[k] = source[i]
                    i += 1
        source, target = target, source
        width *= 2
    return source
