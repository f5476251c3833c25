"""Compiled inner loops of the primal-dual dynamic programme (:mod:`transom.solvers.knapsack.primal_dual`).

Values and weights of states are relative to the break solution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray
from transom.solvers.knapsack.states import BITS, FILED, FINISHED, FULL, LINK, PAUSED, VALUE, WEIGHT, Numbers, improve


class Items(NamedTuple):
    """The items by falling efficiency.

    Parameters
    ----------
    values, weights : shape ``(items,)``.
    sums : total value and weight of the items before each position, shape ``(2, items + 1)``.
    broken : position of the break item.
    capacity : the capacity.
    """

    values: IntArray
    weights: IntArray
    sums: IntArray
    broken: int
    capacity: int


_SAFE = 1e-14  # far more than all rounding errors of one bound, in relative terms


@compiled
def expand(lists: IntArray, at: Numbers, bits: IntArray, items: Items, most: int, work: int) -> int:
    """Take items into the core until something has to be done outside.

    Parameters
    ----------
    lists, at : the states; changed in place.
    bits : which item each bit stands for, shape ``(64,)``; changed in place.
    items : what is searched.
    most : how many items may enter, -1 for any number.
    work : after about how many states to return.

    Returns
    -------
    Why it stopped.
    """
    values, weights, broken = items.values, items.weights, items.broken
    residual = items.capacity - items.sums[1, broken]
    while True:
        if at.merging:
            before = work
            work = _merge(lists, at, residual, _limits(at, items), work)
            at.work += before - work
            if at.merging:
                return PAUSED
            most -= 1
        _skip(at, items)
        left, right = at.left, at.right
        if at.count == 0 or (left < 0 and right == len(values)):
            at.count = 0
            return FINISHED
        if most == 0 or work <= 0:
            return PAUSED
        if at.used == 64:
            return FILED
        if 2 * at.count > lists.shape[2]:
            return FULL
        # The core grows on both sides by turns, to the right first.
        if left < 0 or (right < len(values) and right - broken <= broken - 1 - left):
            bits[at.used] = right
            at.value_step, at.weight_step = values[right], weights[right]
            at.right += 1
        else:
            bits[at.used] = left
            at.value_step, at.weight_step = -values[left], -weights[left]
            at.left -= 1
        at.merging, at.plain, at.shifted, at.kept, at.top = 1, 0, 0, 0, -(2**63)
        improve(lists[at.turn], at, at.value_step, at.weight_step, residual)
        _skip(at, items)


@compiled
def bounds(lists: IntArray, at: Numbers, items: Items) -> IntArray:
    """The upper bound of each state, relative to the break solution, shape ``(states,)``."""
    states, residual = lists[at.turn], items.capacity - items.sums[1, items.broken]
    limits = _limits(at, items)
    found = np.empty(at.count, np.int64)
    for i in range(at.count):
        # Within 62 bits, so that the sum stays within 63.
        rise = max(-4e18, min(_rise(residual - states[WEIGHT, i], limits), 4e18))
        found[i] = states[VALUE, i] + np.int64(np.floor(rise))
    return found


@no_refcount
def _limits(at: Numbers, items: Items) -> tuple[float, float, float, float]:
    # What the items outside the core can still do: at most this much value per free unit of weight and
    # this much in all; at least this much loss per unit that has to go, and no more weight than this.
    values, weights, sums = items.values, items.weights, items.sums
    left, right = at.left, at.right
    gain = values[right] / weights[right] * (1 + _SAFE) if right < len(values) else 0.0
    loss = values[left] / weights[left] * (1 - _SAFE) if left >= 0 else 0.0
    return gain, np.float64(sums[0, -1] - sums[0, right]), loss, -np.float64(sums[1, left + 1])


@compiled
def _rise(room: int, limits: tuple[float, float, float, float]) -> float:
    # How much value a state with so much free weight (or so much too much) can still gain or has to lose.
    gain, most, loss, least = limits
    if room >= 0:
        return min(room * gain, most * (1 + _SAFE))
    return room * loss if room >= least * (1 + _SAFE) else -np.inf


@compiled
def _merge(lists: IntArray, at: Numbers, residual: int, limits: tuple[float, float, float, float], work: int) -> int:
    # The states without and with the item, by rising weight; dominated and hopeless ones are left out.
    # Goes on where it stopped, and returns what is left of `work`.
    source, target = lists[at.turn], lists[1 - at.turn]
    count, value, weight = at.count, at.value_step, at.weight_step
    flag = np.int64(1) << at.used
    i, k, kept, top, goal = at.plain, at.shifted, at.kept, at.top, at.best + 1
    while (i < count or k < count) and work > 0:
        work -= 1
        shifted = i == count
        if not shifted and k < count:
            apart = source[WEIGHT, k] + weight - source[WEIGHT, i]
            shifted = apart < 0 or (apart == 0 and source[VALUE, k] + value > source[VALUE, i])
        if shifted:
            v, w = source[VALUE, k] + value, source[WEIGHT, k] + weight
            b, link = source[BITS, k] | flag, source[LINK, k]
            k += 1
        else:
            v, w, b, link = source[VALUE, i], source[WEIGHT, i], source[BITS, i], source[LINK, i]
            i += 1
        if v <= top:
            continue
        top = v
        if _rise(residual - w, limits) < goal - v:
            continue
        target[VALUE, kept], target[WEIGHT, kept] = v, w
        target[BITS, kept], target[LINK, kept] = b, link
        kept += 1
    at.plain, at.shifted, at.kept, at.top = i, k, kept, top
    if i == count and k == count:
        at.merging = 0
        at.count = kept
        at.turn = 1 - at.turn
        at.used += 1
        at.items += 1
    return work


@no_refcount
def _skip(at: Numbers, items: Items) -> None:
    # Pass over items whose change of side cannot lead to a better solution.
    while at.right < len(items.values) and _hopeless(at.right, at.best, items):
        at.right += 1
    while at.left >= 0 and _hopeless(at.left, at.best, items):
        at.left -= 1


@no_refcount
def _hopeless(item: int, best: int, items: Items) -> bool:
    # Whether no solution that has `item` on the other side is better than the incumbent, by the
    # linear relaxation of the other items, with the break item that then applies.
    values, weights, sums, broken, capacity = items
    sign = 1 if item >= broken else -1
    room = capacity - sign * weights[item]
    at = np.searchsorted(sums[1], room, side="right") - 1
    value = sums[0, at] - sums[0, broken] + sign * values[item]
    rise = 0.0
    if at < len(values):
        rise = (room - sums[1, at]) * (values[at] / weights[at]) * (1 + _SAFE)
    return bool(rise < best + 1 - value)
