"""The greedy answer and Dantzig's bound of large knapsacks, without sorting all items.

A sample shows near which efficiency the break item is, so that one pass takes what is better; of what is near, only
the bucket of the break item, and later items that still fit, are sorted. The answer is that of sorting everything,
as long as there is time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.efficiency import EXACT_IN_FLOATS, alike, by_efficiency, dantzig

SORTED = 20_000
"""So many items are sorted at once."""

_BUCKETS = 16  # their number, as a power of two
_SAMPLE = 8192  # items that show in which range the break item is ...
_MARGIN = 200  # ... and by how many of them it may be off


def greedy_choice(
    values: IntArray, weights: IntArray, capacity: int, late: Callable[[], bool] = lambda: False
) -> tuple[BoolArray, int]:
    """Take items by falling value per weight, each one that still fits; and Dantzig's bound.

    Parameters
    ----------
    values, weights, capacity : the knapsack, all > 0; not all items fit.
    late : whether time is over: items far behind the break item that still fit are not looked for then.

    Returns
    -------
    The choice, shape ``(m,)``, and the bound.
    """
    values, weights = values.view(), weights.view()
    values.flags.writeable = weights.flags.writeable = False  # what the kernels are compiled for
    chosen = np.zeros(len(values), np.bool_)
    low, high = _range_of_break(values, weights, capacity)
    exact = float(values.max()) * float(weights.max()) < EXACT_IN_FLOATS
    items, better, inside = _between(values, weights, low, high, chosen, low < high or not exact)
    room = capacity - int(better)
    if not 0 <= room < inside:  # the sample has misled
        chosen[:] = False
        items, room, low = np.arange(len(values)), capacity, 0.0
    if low < high or not exact:
        bound, room = _take_near(values, weights, items, room, chosen)
    else:
        first = int(items[0])
        bound = int(np.einsum("i,i", values, chosen)) + room * int(values[first]) // int(weights[first])
        room = _take_alike(values, weights, low, room, chosen)
    ratio = low
    while room and not late():
        # Later items that still fit, the best of them first.
        rest, ratios = _fitting(values, weights, ratio, room)
        if not len(rest):
            break
        rest, ratio = _best_of(rest, ratios)
        room = complete(chosen, weights, room, rest[by_efficiency(values[rest], weights[rest])])
    return chosen, bound


def _range_of_break(values: IntArray, weights: IntArray, capacity: int) -> tuple[float, float]:
    """Between which values per weight the break item is, if a sample does not mislead."""
    step = max(1, len(values) // _SAMPLE)
    few = weights[::step]
    ratios = values[::step] / few
    order = np.argsort(-ratios)
    place = int(np.searchsorted(np.cumsum(few[order]), capacity * (float(few.sum()) / float(weights.sum()))))
    high = float(ratios[order[place - _MARGIN]]) if place >= _MARGIN else np.inf
    return float(ratios[order[place + _MARGIN]]) if place + _MARGIN < len(order) else 0.0, high


def _take_near(values: IntArray, weights: IntArray, items: IntArray, room: int, chosen: BoolArray) -> tuple[int, int]:
    """Take those near the break item; Dantzig's bound, and what is left of the room.

    Parameters
    ----------
    items, room : the items that are near it, and the room for them; all that are better have been taken.
    """
    of_items, sizes = values[items], weights[items]
    bits = (of_items / sizes).view(np.int64)  # positive floats are ordered as their bits are
    better = np.zeros(len(items), np.bool_)
    few, room, worst = _break_bucket(bits, sizes, room, better)
    chosen[items[better]] = True
    taken = int(np.einsum("i,i", values, chosen))
    if bits[few].min() == bits[few].max() and alike(of_items[few], sizes[few]):
        order = few
        bound = taken + room * int(of_items[few[0]]) // int(sizes[few[0]])
    else:
        order = by_efficiency(of_items[few], sizes[few])
        bound = taken + dantzig(of_items[few], sizes[few], room, order)
        order = few[order]
    room = complete(chosen, weights, room, items[order])
    while room:
        rest = np.flatnonzero((bits < worst) & (sizes <= room))
        if not len(rest):
            break
        rest, worst = _best_of(rest, bits[rest])
        room = complete(chosen, weights, room, items[rest[by_efficiency(of_items[rest], sizes[rest])]])
    return bound, room


def _best_of(items: IntArray, ratios: NDArray[Any]) -> tuple[IntArray, Any]:
    """The best of these, about as many as are sorted at once, and the least ratio among them."""
    if len(items) <= SORTED:
        return items, ratios.min()
    least = np.partition(ratios, -SORTED)[-SORTED]
    return items[ratios >= least], least


@compiled
def _between(
    values: IntArray, weights: IntArray, low: float, high: float, chosen: BoolArray, listed: bool
) -> tuple[IntArray, int, int]:
    """The items of which value per weight is in a range (one of them, if they are not to be listed), and weights.

    Better ones are marked; of these and of those in the range the total weight.
    """
    items, found, better, inside = np.empty(len(values) + 1 if listed else 2, np.int64), 0, 0, 0
    for item in range(len(values)):  # without branches, which half of the items would not expect
        weight = weights[item]
        ratio = values[item] / weight
        above = ratio > high
        near = (ratio >= low) & (ratio <= high)
        chosen[item] = above
        better += weight * above
        inside += weight * near
        items[found] = item
        found += near & (listed | (found == 0))
    return items[:found].copy(), better, inside


@compiled
def _take_alike(values: IntArray, weights: IntArray, ratio: float, room: int, chosen: BoolArray) -> int:
    """Take each item of this value per weight that still fits; what is left of the room."""
    for item in range(len(values)):
        if weights[item] <= room and not chosen[item] and values[item] / weights[item] == ratio:
            chosen[item] = True
            room -= weights[item]
    return room


def _break_bucket(bits: IntArray, weights: IntArray, room: int, chosen: BoolArray) -> tuple[IntArray, int, int]:
    """Mark what is better than the bucket of the break item; its items, the room for them, and the least bits in it."""
    items = np.empty(0, np.int64)  # all of them
    while True:
        low, high = _range(bits, items)
        shift = max(0, int(high - low).bit_length() - _BUCKETS)
        if 0 < len(items) <= SORTED or low == high:
            return items if len(items) else np.arange(len(bits)), room, low
        items, room = _split(bits, weights, items, low, shift, 1 + (high - low >> shift), room, chosen)


@compiled
def _range(bits: IntArray, items: IntArray) -> tuple[int, int]:
    few = len(items)
    low = high = bits[items[0] if few else 0]
    for k in range(few or len(bits)):
        item = items[k] if few else k
        low, high = min(low, bits[item]), max(high, bits[item])
    return low, high


@compiled
def _split(
    bits: IntArray, weights: IntArray, items: IntArray, low: int, shift: int, count: int, room: int, chosen: BoolArray
) -> tuple[IntArray, int]:
    """The items in the bucket of the break item, and the room for them; those in better ones are marked."""
    totals, sizes, few = np.zeros(count, np.int64), np.zeros(count, np.int64), len(items)
    for k in range(few or len(bits)):
        item = items[k] if few else k
        place = bits[item] - low >> shift
        totals[place] += weights[item]
        sizes[place] += 1
    bucket = count - 1
    while bucket > 0 and totals[bucket] <= room:
        room -= totals[bucket]
        bucket -= 1
    inside, found = np.empty(sizes[bucket], np.int64), 0
    for k in range(few or len(bits)):
        item = items[k] if few else k
        place = bits[item] - low >> shift
        if place > bucket:
            chosen[item] = True
        elif place == bucket:
            inside[found] = item
            found += 1
    return inside, room


@compiled
def _fitting(values: IntArray, weights: IntArray, least: float, room: int) -> tuple[IntArray, FloatArray]:
    """The items that fit, among those that are worth less per weight, and their value per weight."""
    items, ratios, found = np.empty(len(values), np.int64), np.empty(len(values)), 0
    for item in range(len(values)):
        if weights[item] <= room:
            ratio = values[item] / weights[item]
            if ratio < least:
                items[found], ratios[found] = item, ratio
                found += 1
    return items[:found].copy(), ratios[:found].copy()


@compiled
def complete(chosen: BoolArray, weights: IntArray, room: int, order: IntArray) -> int:
    """Take each item in ``order`` that is not in ``chosen`` yet and still fits into ``room``.

    Parameters
    ----------
    chosen : bool, shape ``(m,)``, changed in place.
    weights : int64, shape ``(m,)``.
    room : what is left of the capacity.
    order : positions, int64.

    Returns
    -------
    What is left of ``room``.
    """
    for item in order:
        if not chosen[item] and weights[item] <= room:
            chosen[item] = True
            room -= weights[item]
    return room
