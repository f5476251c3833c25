"""How long how much is free, compiled: for each class of requests, where the first stretch of a length may begin.

A stretch is time without a break in which at least so many nodes are free. For each class there is a short list of
bounds (begin, length), both rising: no stretch is longer than the last bound that begins with it or before. Where more
becomes free, a bound is entered; where something is taken, bounds stay and are merely loose. A search begins at the
first bound that is long enough and puts what it finds in its place, so that the next one need not look there again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME
from transom.simulation.passes.availability import Profile, block_of, earliest, step_of

CLASSES = 256
"""Requests that are distinguished, at most; others count as the next smaller one."""

SPANS = 62
"""Walltimes that are distinguished, by powers of two."""

BOUNDS = 64
"""Bounds of a class, at most."""

TIME, BELOW = range(2)


class Stretches(NamedTuple):
    """Bounds by class ``(C,)``, classes by nodes ascending.

    ``floor``: the least request of a class [nodes]; ``waiting``: how many jobs of it wait, ``spans`` ``(C, SPANS)``: by
    walltime; ``least``: the least of these (shorter stretches are not entered), ``least_from``: of this class and all
    larger ones; ``version``: how often more became free for it; ``size``: how many bounds there are; ``begin``,
    ``length`` ``(C, BOUNDS)`` [s]. ``since`` and ``until`` ``(C, 2)`` and ``met`` ``(BOUNDS, 2)`` hold stretches while
    they are entered: the former a time for the last of some neighbouring classes, and the class below these. ``of``:
    the class of each job; ``exact``: whether a job asks for just that, and for nothing else.
    """

    floor: IntArray
    waiting: IntArray
    spans: IntArray
    least: IntArray
    least_from: IntArray
    version: IntArray
    size: IntArray
    begin: IntArray
    length: IntArray
    since: IntArray
    until: IntArray
    met: IntArray
    of: IntArray
    exact: IntArray


def new_stretches(jobs: IntArray) -> Stretches:
    """No bounds; ``jobs`` are the rows of a replay's state."""
    nodes = jobs[:, DEMAND]
    floor, counts = np.unique(nodes, return_counts=True)
    if len(floor) > CLASSES:
        common = floor[np.argpartition(-counts, CLASSES - 1)[: CLASSES - 1]]
        floor = np.union1d(common, floor[:1])
    of = np.searchsorted(floor, nodes, side="right") - 1
    exact = np.zeros(len(jobs), np.int64)
    if len(jobs):
        exact[:] = (floor[of] == nodes) & ~jobs[:, DEMAND + 1 :].any(axis=1)
    classes = len(floor)
    return Stretches(
        floor=floor,
        waiting=np.zeros(classes, np.int64),
        spans=np.zeros((classes, SPANS), np.int64),
        least=np.full(classes, SPANS),
        least_from=np.full(classes, SPANS),
        version=np.zeros(classes, np.int64),
        size=np.zeros(classes, np.int64),
        begin=np.empty((classes, BOUNDS), np.int64),
        length=np.empty((classes, BOUNDS), np.int64),
        since=np.empty((classes, 2), np.int64),
        until=np.empty((classes, 2), np.int64),
        met=np.empty((BOUNDS, 2), np.int64),
        of=of,
        exact=exact,
    )


@no_refcount
def count_request(t: Stretches, c: int, walltime: int, more: int) -> bool:
    """One job more, or fewer if ``more`` is -1, of class ``c`` waits; whether its walltime is the shortest there."""
    span, before = span_of(walltime), t.least[c]
    t.waiting[c] += more
    t.spans[c, span] += more
    t.least[c] = min(before, span)
    while t.least[c] < SPANS and t.spans[c, t.least[c]] == 0:
        t.least[c] += 1
    if t.least[c] != before:
        least = SPANS if c + 1 == len(t.floor) else t.least_from[c + 1]
        for d in range(c, -1, -1):
            least = min(least, t.least[d])
            t.least_from[d] = least
    return bool(t.least[c] < before)


@no_refcount
def span_of(walltime: int) -> int:
    """The power of two below a walltime."""
    span = 0
    while span < SPANS - 1 and walltime >> (span + 1) > 0:
        span += 1
    return span


@inlined
def first_begin(t: Stretches, c: int, length: int) -> int:
    """No stretch of class ``c`` that is so long begins before this; :data:`NEVER` if there is none at all."""
    k = _first_bound(t, c, length)
    return t.begin[c, k] if k < t.size[c] else NEVER


@inlined
def _first_bound(t: Stretches, c: int, length: int) -> int:
    """The first bound of class ``c`` that is so long; how many there are, if none is."""
    low, high = 0, t.size[c]
    while low < high:
        middle = (low + high) // 2
        if t.length[c, middle] >= length:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def bound(t: Stretches, c: int, begin: int, length: int) -> None:
    """Enter that a stretch of class ``c`` may begin at ``begin`` or later, and last so long."""
    size, k = t.size[c], 0
    while k < size and t.begin[c, k] <= begin:
        if t.length[c, k] >= length:
            return
        k += 1
    if k > 0 and t.begin[c, k - 1] == begin:
        k -= 1
    m = k
    while m < size and t.length[c, m] <= length:
        m += 1
    if m == k and size == BOUNDS:  # looser, but one fewer
        if k < size:
            t.begin[c, k] = begin
        else:
            t.length[c, size - 1] = length
        return
    if m == k:
        for j in range(size, k, -1):
            t.begin[c, j], t.length[c, j] = t.begin[c, j - 1], t.length[c, j - 1]
    elif m > k + 1:
        for j in range(m, size):
            t.begin[c, j - m + k + 1], t.length[c, j - m + k + 1] = t.begin[c, j], t.length[c, j]
    t.size[c] = size + k + 1 - m
    t.begin[c, k], t.length[c, k] = begin, length


@no_refcount
def first_stretch(t: Stretches, p: Profile, jobs: IntArray, job: int, limit: int) -> int:
    """The earliest begin before ``limit`` at which a job fits for its walltime; ``limit`` if there is none."""
    c, length = t.of[job], jobs[job, WALLTIME]
    k = _first_bound(t, c, length)
    if k == t.size[c] or t.begin[c, k] >= limit:
        return limit
    floor, start = t.floor[c], max(t.begin[c, k], p.first[0])
    most = t.length[c, k - 1] if k else 0
    b = block_of(p, start)
    i = step_of(p, b, start)
    found, count, time = limit, 0, NEVER
    while True:
        b, i = _next_room(p, b, i, floor)
        if b == p.number[0]:
            time = NEVER
            break
        time = max(start, p.times[p.row[b], i])
        if time >= limit:
            break
        b, i = _next_lack(p, b, i, floor, time + length)
        until = p.times[p.row[b], i] if b < p.number[0] else NEVER
        if until - time >= length:
            found = time
            break
        if until - time > most:
            most = until - time
            if count < BOUNDS:
                t.met[count, 0] = time
                count += 1
            t.met[count - 1, 1] = most
    _put(t, c, k, count, time)
    if found < limit and not t.exact[job]:
        return earliest(p, jobs, job, found, limit, NEVER)
    return found


@no_refcount
def _put(t: Stretches, c: int, k: int, count: int, time: int) -> None:
    """Replace what bounds ``k`` and following say of the time before ``time`` by the first ``count`` in ``met``."""
    m = k
    while m < t.size[c] and t.begin[c, m] <= time:
        m += 1
    longest, rest, final = t.length[c, m - 1] if m > k else 0, t.size[c] - m, 0
    if time < NEVER and m > k:
        final = 1
    room = BOUNDS - k - rest - final
    if count > room:
        if room > 0:
            t.met[room - 1, 1] = t.met[count - 1, 1]
        else:
            time = t.met[0, 0]
        count = room
    shift = k + count + final - m
    if shift > 0:
        for j in range(t.size[c] - 1, m - 1, -1):
            t.begin[c, j + shift], t.length[c, j + shift] = t.begin[c, j], t.length[c, j]
    elif shift < 0:
        for j in range(m, t.size[c]):
            t.begin[c, j + shift], t.length[c, j + shift] = t.begin[c, j], t.length[c, j]
    for j in range(count):
        t.begin[c, k + j], t.length[c, k + j] = t.met[j, 0], t.met[j, 1]
    if final:
        t.begin[c, k + count], t.length[c, k + count] = time, longest
    t.size[c] += shift


@inlined
def _next_room(p: Profile, b: int, i: int, nodes: int) -> tuple[int, int]:
    """The first step from step ``i`` of block ``b`` on with so many nodes: its block and place."""
    while b < p.number[0]:
        if p.high[b, 0] >= nodes:
            row, least = p.row[b], nodes - p.due[b, 0]
            for j in range(i, p.size[b]):
                if p.levels[row, 0, j] >= least:
                    return b, j
        b += 1
        i = 0
    return b, 0


@inlined
def _next_lack(p: Profile, b: int, i: int, nodes: int, time: int) -> tuple[int, int]:
    """The first step from step ``i`` of block ``b`` on with fewer nodes, or one that begins at ``time`` or later."""
    while b < p.number[0]:
        if p.first[b] >= time:
            return b, 0
        if p.low[b, 0] < nodes:
            row, least = p.row[b], nodes - p.due[b, 0]
            for j in range(i, p.size[b]):
                if p.levels[row, 0, j] < least:
                    return b, j
        b += 1
        i = 0
    return b, 0
