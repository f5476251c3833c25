"""Sorting, sums and copies for compiled functions: the compiler's own take seconds to compile wherever they are called.

And for the others: numpy sorts 16 bits at a time several times faster than 64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount

_RUN = 8  # entries that are sorted by insertion before runs are merged
_FEW = 1000  # entries, up to which a single sort is as fast


def radix_order(keys: NDArray[np.int64]) -> NDArray[np.intp]:
    """``np.argsort(keys, kind="stable")`` of whole numbers, in rounds of 16 bits, which numpy sorts by radix.

    Parameters
    ----------
    keys : shape ``(n,)``; no two differ by 2**63 or more.
    """
    if len(keys) <= _FEW:
        return np.argsort(keys, kind="stable")
    rest = keys - keys.min()
    bits = int(rest.max()).bit_length()
    order = np.argsort(rest.astype(np.uint16), kind="stable")
    for shift in range(16, bits, 16):
        order = order[np.argsort((rest >> shift).astype(np.uint16)[order], kind="stable")]
    return order


@compiled
def stable_order(keys: NDArray[Any]) -> NDArray[np.int64]:
    """Positions of numbers in ascending order, equal ones in the order that they stand in: a merge sort from below.

    Parameters
    ----------
    keys : shape ``(n,)``, none of them nan.

    Returns
    -------
    Positions, shape ``(n,)``; ``keys[stable_order(keys)]`` ascends.
    """
    n = len(keys)
    order, other = np.empty(n, np.int64), np.empty(n, np.int64)
    for first in range(0, n, _RUN):
        for i in range(first, min(first + _RUN, n)):
            at, key = i, keys[i]
            while at > first and keys[order[at - 1]] > key:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = _RUN
    while width < n:
        for first in range(0, n, 2 * width):
            middle, end = min(first + width, n), min(first + 2 * width, n)
            left, right = first, middle
            at = first
            if middle < end:
                low, high = keys[order[left]], keys[order[right]]
                while True:
                    if low <= high:
                        other[at] = order[left]
                        at += 1
                        left += 1
                        if left == middle:
                            break
                        low = keys[order[left]]
                    else:
                        other[at] = order[right]
                        at += 1
                        right += 1
                        if right == end:
                            break
                        high = keys[order[right]]
            for i in range(left, middle):
                other[at] = order[i]
                at += 1
            for i in range(right, end):
                other[at] = order[i]
                at += 1
        order, other = other, order
        width *= 2
    return order


@compiled
def reordered(values: NDArray[Any], order: NDArray[np.int64]) -> NDArray[Any]:
    """``values[order]``, which the compiler takes longer for; shape ``(len(order),)``."""
    found = np.empty(len(order), values.dtype)
    for i in range(len(order)):
        found[i] = values[order[i]]
    return found


@compiled
def ascending(values: NDArray[Any]) -> NDArray[Any]:
    """The numbers in ascending order, shape ``(n,)``."""
    return reordered(values, stable_order(values))


@compiled
def sort_in_place(values: NDArray[Any]) -> None:
    """Bring numbers, shape ``(n,)``, into ascending order without scratch memory: for few, or nearly sorted ones."""
    gap = 1
    while 3 * gap + 1 < len(values):
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, len(values)):
            at, value = i, values[i]
            while at >= gap and values[at - gap] > value:
                values[at] = values[at - gap]
                at -= gap
            values[at] = value
        gap //= 3


@compiled
def largest(values: NDArray[Any]) -> Any:
    """The largest of numbers, shape ``(n,)``, n >= 1."""
    found = values[0]
    for i in range(1, len(values)):
        found = max(found, values[i])
    return found


@compiled
def smallest_at(values: NDArray[Any]) -> int:
    """The place of the smallest of numbers, shape ``(n,)``, n >= 1; the first among equals; none is nan."""
    at = 0
    for i in range(1, len(values)):
        if values[i] < values[at]:
            at = i
    return at


@compiled
def sum_of(values: NDArray[Any]) -> Any:
    """The sum, from the first to the last; shape ``(n,)``."""
    found = values.dtype.type(0)
    for i in range(len(values)):
        found += values[i]
    return found


@no_refcount
def clear(values: NDArray[np.int64]) -> None:
    """``values[:] = 0``, shape ``(n,)``."""
    for i in range(len(values)):
        values[i] = 0


@compiled
def front(values: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """``values[:count].copy()``, shape ``(count,)``."""
    found = np.empty(count, np.int64)
    for i in range(count):
        found[i] = values[i]
    return found


@no_refcount
def dot(left: NDArray[Any], right: NDArray[Any]) -> float:
    """``(left * right).sum()``, shape ``(n,)`` each."""
    total = 0.0
    for i in range(len(left)):
        total += left[i] * right[i]
    return total


@no_refcount
def put(target: NDArray[Any], source: NDArray[Any]) -> None:
    """``target[:] = source``, shape ``(n,)`` each."""
    for i in range(len(target)):
        target[i] = source[i]
