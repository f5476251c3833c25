"""Compiled inner loops of the dynamic programme under a cut (:mod:`transom.solvers.knapsack.sharpening`).

Items enter in the order in which changing their side costs least under the cut. Value and weight of a state are
relative to where the search begins; the list has the row of losses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.solvers.knapsack.states import (
    BITS,
    FILED,
    FINISHED,
    FULL,
    LINK,
    LOSS,
    PAUSED,
    VALUE,
    WEIGHT,
    Numbers,
    improve,
)


class Changes(NamedTuple):
    """What changing the side of an item does; the items in the order in which they enter.

    Parameters
    ----------
    steps : what it adds to value and weight, shape ``(m, 2)``.
    costs : what it costs under the cut (>= 0, rising) and under the capacity alone, shape ``(m, 2)``.
    rises : how much items from each one on can add to the bound of the capacity, shape ``(m + 1,)``.
    """

    steps: IntArray
    costs: IntArray
    rises: IntArray


@compiled
def expand(
    lists: IntArray, at: Numbers, bits: IntArray, changes: Changes, numbers: IntArray, items: int, work: int
) -> int:
    """Take items in until something has to be done outside.

    Parameters
    ----------
    lists, at : the states; changed in place.
    bits : which item each bit stands for, shape ``(64,)``; changed in place.
    changes : the items.
    numbers : free capacity; scale; bound under the cut, and under the capacity alone with all that items can add, both
        scaled and relative; multiplier of the capacity.
    items : how many items may enter, -1 for any number.
    work : after about how many states to return.
    """
    steps, costs, rises = changes
    room, scale, cut, plain, slope = numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]
    while True:
        goal = scale * (at.best + 1)
        while at.next < len(steps) and costs[at.next, 1] > plain - goal:
            at.next += 1
        item = at.next
        if item == len(steps) or costs[item, 0] > cut - goal or at.count == 0:
            return FINISHED
        if items == 0 or work <= 0:
            return PAUSED
        if at.used == 64:
            return FILED
        if 2 * at.count > lists.shape[2]:
            return FULL
        bits[at.used] = item
        source, target = lists[at.turn], lists[1 - at.turn]
        count, value, weight, cost = at.count, steps[item, 0], steps[item, 1], costs[item, 0]
        improve(source, at, value, weight, room)
        goal = scale * (at.best + 1)
        # Whatever is not the end of a solution has to take another item.
        least = costs[item + 1, 0] if item + 1 < len(steps) else np.int64(2**62)
        # Relative to the free capacity: scale * value + slope * (room - weight) + what later items can add.
        base = slope * room + rises[item + 1]
        flag = np.int64(1) << at.used
        i = k = kept = 0
        top = np.int64(-(2**62))
        while i < count or k < count:
            shifted = i == count
            if not shifted and k < count:
                apart = source[WEIGHT, k] + weight - source[WEIGHT, i]
                more = source[VALUE, k] + value - source[VALUE, i]
                # Of equal states the one that lost less: whatever completes the other completes it, too.
                less = source[LOSS, k] + cost < source[LOSS, i]
                shifted = apart < 0 or (apart == 0 and (more > 0 or (more == 0 and less)))
            if shifted:
                v, w, loss = source[VALUE, k] + value, source[WEIGHT, k] + weight, source[LOSS, k] + cost
                b, link = source[BITS, k] | flag, source[LINK, k]
                k += 1
            else:
                v, w, loss = source[VALUE, i], source[WEIGHT, i], source[LOSS, i]
                b, link = source[BITS, i], source[LINK, i]
                i += 1
            if v <= top:
                continue
            top = v
            if loss + least > cut - goal or scale * v - slope * w + base < goal:
                continue
            target[VALUE, kept], target[WEIGHT, kept], target[LOSS, kept] = v, w, loss
            target[BITS, kept], target[LINK, kept] = b, link
            kept += 1
        work -= 2 * count
        at.work += 2 * count
        items -= 1
        at.count = kept
        at.turn = 1 - at.turn
        at.used += 1
        at.items += 1
        at.next += 1


@compiled
def subsets(steps: IntArray) -> IntArray:
    """All choices of a few items by rising weight: value, weight and mask of each, shape ``(3, 2**len(steps))``."""
    count = len(steps)
    lists = np.zeros((2, 3, 1 << count), np.int64)
    for item in range(count):
        source, target = lists[item % 2], lists[1 - item % 2]
        size, value, weight = 1 << item, steps[item, 0], steps[item, 1]
        i = k = 0
        for place in range(2 * size):
            if i == size or (k < size and source[1, k] + weight < source[1, i]):
                target[0, place], target[1, place] = source[0, k] + value, source[1, k] + weight
                target[2, place] = source[2, k] | np.int64(1) << item
                k += 1
            else:
                target[0, place], target[1, place], target[2, place] = source[0, i], source[1, i], source[2, i]
                i += 1
    found: IntArray = lists[count % 2]
    return found


@compiled
def pair(values: IntArray, weights: IntArray, others: IntArray, room: int) -> tuple[int, int, int]:
    """The best sum of a state and a choice of other items that fits.

    Parameters
    ----------
    values, weights : of the states, by rising weight.
    others : as :func:`subsets` gives them.
    room : the free capacity.

    Returns
    -------
    Its value, the place of the state and that of the choice; -2**62 where nothing fits.
    """
    most, one, two = np.int64(-(2**62)), 0, 0
    top, top_at = np.int64(-(2**62)), 0
    j = 0
    for i in range(len(values) - 1, -1, -1):
        while j < others.shape[1] and weights[i] + others[1, j] <= room:
            if others[0, j] > top:
                top, top_at = others[0, j], j
            j += 1
        if j and values[i] + top > most:
            most, one, two = values[i] + top, i, top_at
    return int(most), one, two
