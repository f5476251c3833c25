"""Compiled inner loops of the primal-dual dynamic programme (:mod:`transom.solvers.knapsack.primal_dual`).

Values and weights of states are relative to the break solution. ``lists`` has shape
``(2, 4, room)``: two buffers that take turns, each with the rows value, weight, bits and link.
``core`` is the search's memory between two calls, its fields named below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray


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


VALUE, WEIGHT, BITS, LINK = range(4)
"""Rows of a list: value and weight of a state, its decisions since the last table, its place in that table."""

COUNT, TURN, LEFT, RIGHT, BEST, BEST_BITS, BEST_LINK, IMPROVED, USED, ITEMS = range(10)
"""Fields of ``core``: number of states; the buffer they are in; the next items outside the core; the
incumbent, how it came about and whether it is newer than the last report; bits in use; items so far."""

MERGING, VALUE_STEP, WEIGHT_STEP, PLAIN, SHIFTED, KEPT, TOP, WORK = range(10, 18)
"""Fields for an item that is being taken in: whether there is one; what it adds; the next state without
and with it; how many states were kept, and the highest value seen; states looked at so far."""

FIELDS = 18

FINISHED, FULL, FILED, PAUSED = range(4)
"""Why :func:`expand` returned: search at its end, list full, bits used up, work or iterations done."""

_SAFE = 1e-14  # far more than all rounding errors of one bound, in relative terms


@compiled
def expand(lists: IntArray, core: IntArray, bits: IntArray, items: Items, most: int, work: int) -> int:
    """Take items into the core until something has to be done outside.

    Parameters
    ----------
    lists, core : the states; changed in place.
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
        if core[MERGING]:
            before = work
            work = _merge(lists, core, residual, _limits(core, items), work)
            core[WORK] += before - work
            if core[MERGING]:
                return PAUSED
            most -= 1
        _skip(core, items)
        left, right = core[LEFT], core[RIGHT]
        if core[COUNT] == 0 or (left < 0 and right == len(values)):
            core[COUNT] = 0
            return FINISHED
        if most == 0 or work <= 0:
            return PAUSED
        if core[USED] == 64:
            return FILED
        if 2 * core[COUNT] > lists.shape[2]:
            return FULL
        # The core grows on both sides by turns, to the right first.
        if left < 0 or (right < len(values) and right - broken <= broken - 1 - left):
            bits[core[USED]] = right
            core[VALUE_STEP], core[WEIGHT_STEP] = values[right], weights[right]
            core[RIGHT] += 1
        else:
            bits[core[USED]] = left
            core[VALUE_STEP], core[WEIGHT_STEP] = -values[left], -weights[left]
            core[LEFT] -= 1
        core[MERGING], core[PLAIN], core[SHIFTED], core[KEPT], core[TOP] = 1, 0, 0, 0, -(2**63)
        _improve(lists[core[TURN]], core, residual)
        _skip(core, items)


@compiled
def bounds(lists: IntArray, core: IntArray, items: Items) -> IntArray:
    """The upper bound of each state, relative to the break solution, shape ``(states,)``."""
    states, residual = lists[core[TURN]], items.capacity - items.sums[1, items.broken]
    limits = _limits(core, items)
    found = np.empty(core[COUNT], np.int64)
    for i in range(core[COUNT]):
        # Within 62 bits, so that the sum stays within 63.
        rise = max(-4e18, min(_rise(residual - states[WEIGHT, i], limits), 4e18))
        found[i] = states[VALUE, i] + np.int64(np.floor(rise))
    return found


@no_refcount
def _limits(core: IntArray, items: Items) -> tuple[float, float, float, float]:
    # What the items outside the core can still do: at most this much value per free unit of weight and
    # this much in all; at least this much loss per unit that has to go, and no more weight than this.
    values, weights, sums = items.values, items.weights, items.sums
    left, right = core[LEFT], core[RIGHT]
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
def _improve(source: IntArray, core: IntArray, residual: int) -> None:
    # Values rise with weights, so the heaviest state that is feasible with the item is the best one.
    low, high = 0, core[COUNT]
    while low < high:
        middle = (low + high) // 2
        if source[WEIGHT, middle] + core[WEIGHT_STEP] <= residual:
            low = middle + 1
        else:
            high = middle
    if low and source[VALUE, low - 1] + core[VALUE_STEP] > core[BEST]:
        core[BEST] = source[VALUE, low - 1] + core[VALUE_STEP]
        core[BEST_BITS] = source[BITS, low - 1] | np.int64(1) << core[USED]
        core[BEST_LINK] = source[LINK, low - 1]
        core[IMPROVED] = 1


@compiled
def _merge(lists: IntArray, core: IntArray, residual: int, limits: tuple[float, float, float, float], work: int) -> int:
    # The states without and with the item, by rising weight; dominated and hopeless ones are left out.
    # Goes on where it stopped, and returns what is left of `work`.
    source, target = lists[core[TURN]], lists[1 - core[TURN]]
    count, value, weight = core[COUNT], core[VALUE_STEP], core[WEIGHT_STEP]
    flag = np.int64(1) << core[USED]
    i, k, kept, top, goal = core[PLAIN], core[SHIFTED], core[KEPT], core[TOP], core[BEST] + 1
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
    core[PLAIN], core[SHIFTED], core[KEPT], core[TOP] = i, k, kept, top
    if i == count and k == count:
        core[MERGING] = 0
        core[COUNT] = kept
        core[TURN] = 1 - core[TURN]
        core[USED] += 1
        core[ITEMS] += 1
    return work


@no_refcount
def _skip(core: IntArray, items: Items) -> None:
    # Pass over items whose change of side cannot lead to a better solution.
    while core[RIGHT] < len(items.values) and _hopeless(core[RIGHT], core[BEST], items):
        core[RIGHT] += 1
    while core[LEFT] >= 0 and _hopeless(core[LEFT], core[BEST], items):
        core[LEFT] -= 1


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
