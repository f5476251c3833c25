"""Sets of jobs, those of one size alike, as numbers in mixed radix: the union of two is their sum."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled

SIZE, UNIT, PACKED_UNIT = range(3)
"""Rows of ``jobs``: nodes, the set of one such job, and that set packed."""

PACKED, SPAN = range(2)
"""Rows of ``sets``: digits as bit fields, nodes of all jobs."""

ALL, GUARD = range(2)
"""Fields of ``room``: all jobs packed, with the guard bits; the guard bits, one above each field."""


@compiled
def make_sets(sizes, counts):  # type: ignore[no-untyped-def]
    """Tables of the sets of so many jobs of each size.

    Returns
    -------
    ``jobs`` ``(3, sizes)``, ``sets`` ``(2, sets)`` and ``room`` ``(2,)``.
    """
    number = 1
    for count in counts:
        number *= count + 1
    jobs = np.empty((3, len(sizes)), np.int64)
    sets = np.zeros((2, number), np.int64)
    room = np.zeros(2, np.int64)
    unit, shift = 1, 0
    for row in range(len(sizes)):
        width = 1
        while counts[row] >> width:
            width += 1
        jobs[SIZE, row] = sizes[row]
        jobs[UNIT, row] = unit
        jobs[PACKED_UNIT, row] = 1 << shift
        for which in range(number):
            digit = which // unit % (counts[row] + 1)
            sets[PACKED, which] += digit << shift
            sets[SPAN, which] += digit * sizes[row]
        room[ALL] += (counts[row] << shift) + (1 << (shift + width))
        room[GUARD] += 1 << (shift + width)
        unit *= counts[row] + 1
        shift += width + 1
    return jobs, sets, room


@compiled
def disjoint(first, second, sets, room):  # type: ignore[no-untyped-def]
    """Whether there are jobs enough for both sets: no field of the difference borrows from its guard bit."""
    return (room[ALL] - sets[PACKED, first] - sets[PACKED, second]) & room[GUARD] == room[GUARD]
