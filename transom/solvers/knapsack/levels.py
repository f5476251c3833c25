"""Knapsacks whose values are a multiple of the weights and a few small numbers more: how many items of each number."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.solvers.knapsack.remainder import Remainder

_PAIRS = 64  # of items, whose slopes are looked at
_DENOMINATORS = 12
_DIFFERENT = 16  # most different levels


@dataclass(frozen=True, eq=False, slots=True)
class Levels:
    r"""Values as :math:`q v_j = p w_j + g \ell_j`, exact.

    Parameters
    ----------
    level : :math:`\ell_j \ge 0`, shape ``(m,)``.
    above, below : :math:`p` and :math:`q > 0`.
    unit : :math:`g > 0`.
    """

    level: IntArray
    above: int
    below: int
    unit: int


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """How many items of each of two levels to choose.

    Parameters
    ----------
    chosen : so many of the lightest of each level, shape ``(m,)``.
    spare : what they leave of the capacity.
    costs : what changing the side of an item costs of the spare capacity at least, shape ``(m,)``.
    bound : what no choice of so many items exceeds in value.
    """

    chosen: BoolArray
    spare: int
    costs: IntArray
    bound: int


def levels_of(values: IntArray, weights: IntArray) -> Levels | None:
    """The levels of values, if they are few and not all equal."""
    order = np.argsort(weights, kind="stable")
    half = len(order) // 2
    if half < 4:
        return None
    first = np.linspace(0, half - 1, min(half, _PAIRS)).astype(np.int64)
    a, b = order[first], order[first + half]
    apart = weights[b] - weights[a]
    slopes = (values[b] - values[a])[apart > 0] / apart[apart > 0]
    seen: dict[tuple[int, int], int] = {}
    for slope in slopes.tolist():
        for below in range(1, _DENOMINATORS + 1):
            above = round(slope * below)
            if abs(slope * below - above) < 1e-3:
                seen[above, below] = seen.get((above, below), 0) + 1
                break
    if not seen:
        return None
    above, below = max(seen, key=lambda pair: seen[pair])
    if float(values.max()) * below + float(weights.max()) * abs(above) >= 2.0**62:
        return None
    beyond = below * values - above * weights
    different = np.unique(beyond)
    if not 1 < len(different) <= _DIFFERENT or different[0] < 0:
        return None
    unit = int(np.gcd.reduce(different))
    return Levels(beyond // unit, above, below, unit)


def most(rest: Remainder, level: IntArray) -> int | None:
    """The most that levels of items that fit can add up to, if there are at most two of them beside 0."""
    some = np.unique(level[level > 0])
    if len(some) > 2 or int(rest.copies.max()) > 1:
        return None
    # So many of the lightest items of the one level, then as many as fit of the other.
    one, two = (np.concatenate(([0], np.cumsum(np.sort(rest.weights[level == each])))) for each in (some[0], some[-1]))
    if len(some) == 1:
        two = two[:1]
    one = one[one <= rest.capacity]
    more = np.searchsorted(two, rest.capacity - one, side="right") - 1
    return int((some[0] * np.arange(len(one)) + some[-1] * more).max())


def counts(rest: Remainder, of: Levels) -> Iterator[Counts]:
    r"""Every way to choose numbers of items of two levels that fit, by falling bound, the roomiest first.

    Of each level, a choice of :math:`k` items has the weight of the :math:`k` lightest ones at least, and, with
    :math:`\theta` the weight of the last of these, :math:`|w_j - \theta|` more for each item that changes sides. The
    bound counts on the whole capacity. Nothing is said where there are more levels than two, or one of them is 0.
    """
    different = np.unique(of.level)
    if len(different) != 2 or not different[0] or of.above < 0 or int(rest.copies.max()) > 1:
        return
    sides = [np.flatnonzero(of.level == each) for each in different]
    sides = [side[np.argsort(rest.weights[side], kind="stable")] for side in sides]
    sums = [np.concatenate(([0], np.cumsum(rest.weights[side]))) for side in sides]
    numbers = np.arange(len(sums[1]))
    level = most(rest, of.level)
    assert level is not None
    for total in range(level, -1, -1):
        others, left = np.divmod(total - int(different[1]) * numbers, int(different[0]))
        pairs = np.flatnonzero((left == 0) & (others >= 0) & (others < len(sums[0])))
        spare = rest.capacity - sums[0][others[pairs]] - sums[1][pairs]
        for at in np.argsort(-spare, kind="stable"):
            if spare[at] < 0:
                break
            chosen, costs = np.zeros(len(of.level), np.bool_), np.empty(len(of.level), np.int64)
            for side, count in zip(sides, (int(others[pairs[at]]), int(pairs[at])), strict=True):
                chosen[side[:count]] = True
                costs[side] = np.abs(rest.weights[side] - rest.weights[side[max(count - 1, 0)]])
            bound = (of.above * rest.capacity + of.unit * total) // of.below
            yield Counts(chosen, int(spare[at]), costs, bound)
