"""Sets of jobs, those of one size alike, as numbers in mixed radix: the union of two is their sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray


class JobSets(NamedTuple):
    """Jobs of each size, and all sets of them; packed, the digits of a set are bit fields, a guard bit above each."""

    nodes: IntArray  # of a job of each size, (sizes,)
    unit: IntArray  # the set of one such job
    packed_unit: IntArray
    packed: IntArray  # (sets,)
    span: IntArray  # nodes of all jobs of a set
    room: int  # all jobs packed, guard bits set
    guard: int  # the guard bits


@compiled
def make_sets(nodes: IntArray, counts: IntArray) -> JobSets:
    """Tables of the sets of so many jobs of each size."""
    number = 1
    for count in counts:
        number *= count + 1
    units, packed_units = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
    packed, span = np.zeros(number, np.int64), np.zeros(number, np.int64)
    unit, shift, room, guard = 1, 0, 0, 0
    for size in range(len(nodes)):
        width = 1
        while counts[size] >> width:
            width += 1
        units[size], packed_units[size] = unit, 1 << shift
        for which in range(number):
            digit = which // unit % (counts[size] + 1)
            packed[which] += digit << shift
            span[which] += digit * nodes[size]
        guard += 1 << (shift + width)
        room += (counts[size] << shift) + (1 << (shift + width))
        unit *= counts[size] + 1
        shift += width + 1
    return JobSets(nodes, units, packed_units, packed, span, room, guard)


@no_refcount
def disjoint(first: int, second: int, sets: JobSets) -> bool:
    """Whether there are jobs enough for both sets: no field of the difference borrows from its guard bit."""
    return (sets.room - sets.packed[first] - sets.packed[second]) & sets.guard == sets.guard  # type: ignore[no-any-return]
