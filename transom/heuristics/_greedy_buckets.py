"""The greedy answer and Dantzig's bound of large knapsacks, without sorting all items.

What is taken in any case stands in buckets of higher efficiency; only the bucket of the break item, and later items
that still fit, are sorted. The answer is that of sorting everything.
"""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.models._arrays import BoolArray, IntArray
from transom.models.efficiency import by_efficiency, dantzig

SORTED = 20_000
"""So many items are sorted at once."""

_EXACT = 2.0**52
_BUCKETS = 16  # their number, as a power of two


def greedy_choice(values: IntArray, weights: IntArray, capacity: int) -> tuple[BoolArray, int]:
    """Take items by falling value per weight, each one that still fits; and Dantzig's bound.

    Parameters
    ----------
    values, weights, capacity : the knapsack, all > 0; not all items fit.

    Returns
    -------
    The choice, shape ``(m,)``, and the bound.
    """
    chosen = np.zeros(len(values), np.bool_)
    bits = (values / weights).view(np.int64)  # positive floats are ordered as their bits are
    items, room, worse = _break_bucket(bits, weights, capacity, chosen)
    taken = int(np.einsum("i,i", values, chosen))
    order = items
    # Where all are alike, they stay in their order, unless double precision cannot tell.
    if bits[items].min() < bits[items].max() or float(values.max()) * float(weights.max()) >= _EXACT:
        order = items[by_efficiency(values[items], weights[items])]
    bound = taken + dantzig(values, weights, room, order)
    room = complete(chosen, weights, room, order)
    while room:
        # Later items that still fit, the best of them first.
        rest = _fitting(bits, weights, worse, room)
        if not len(rest):
            break
        if len(rest) > SORTED:
            worse = int(np.partition(bits[rest], -SORTED)[-SORTED])
            rest = rest[bits[rest] >= worse]
        else:
            worse = int(bits[rest].min())
        room = complete(chosen, weights, room, rest[by_efficiency(values[rest], weights[rest])])
    return chosen, bound


def _break_bucket(bits: IntArray, weights: IntArray, room: int, chosen: BoolArray) -> tuple[IntArray, int, int]:
    """Mark what is better than the bucket of the break item; its items, the room for them, and the least bits in it."""
    items = np.empty(0, np.int64)  # all of them
    while True:
        low, high = _range(bits, items)
        shift = max(0, (high - low).bit_length() - _BUCKETS)
        if 0 < len(items) <= SORTED or low == high:
            return items if len(items) else np.arange(len(bits)), room, low
        items, room = _split(bits, weights, items, low, shift, 1 + (high - low >> shift), room, chosen)


@compiled
def _range(bits, items):  # type: ignore[no-untyped-def]
    few = len(items)
    low = high = bits[items[0] if few else 0]
    for k in range(few or len(bits)):
        item = items[k] if few else k
        low, high = min(low, bits[item]), max(high, bits[item])
    return low, high


@compiled
def _split(bits, weights, items, low, shift, count, room, chosen):  # type: ignore[no-untyped-def]
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
def _fitting(bits, weights, worse, room):  # type: ignore[no-untyped-def]
    """The items that fit, among those whose efficiency has fewer bits."""
    found = 0
    for item in range(len(bits)):
        if bits[item] < worse and weights[item] <= room:
            found += 1
    items, found = np.empty(found, np.int64), 0
    for item in range(len(bits)):
        if bits[item] < worse and weights[item] <= room:
            items[found] = item
            found += 1
    return items


@compiled
def complete(chosen, weights, room, order):  # type: ignore[no-untyped-def]
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
