"""What has become free, and which waiting jobs may move forward into it, compiled.

A waiting job that cannot start earlier than planned stays so until more becomes free where it could run: it moves
only into a stretch that meets such a step. So steps are stamped when more becomes free in them, and a compression
looks at those waiting jobs alone whose walltime is no longer than the longest such stretch with as many nodes as
they ask for, to the power of two below, or before whose planned begin more became free.

A stamp is the number of the compression (:data:`PLACES` times) plus the place in the site's order of the job that
moved away. It is news to all jobs that the same compression still looks at, and in the next one to those that stand
before that place. Both are the stamps above a limit that grows with the place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.compiling import borrowing
from transom.models._arrays import BoolArray, IntArray
from transom.simulation.availability import begin_of_room, block_of, fit_of_block, fits_step, step_of
from transom.simulation.events import DEMAND, NEVER, WALLTIME

PLACES = np.int64(2**32)
"""More than there are jobs."""

CLASSES = 16
"""Sizes of jobs that are told apart, by powers of two."""

SPANS = 4096
"""Spans of time of which it is known whether more became free in them."""

GROUP = 64
"""Places of waiting jobs whose least request is kept."""

NOBODY = np.int64(2**62)
"""The request at a place where no job waits."""

PEAK, SINCE, ROUND, SHIFT = range(4)


class Freed(NamedTuple):
    """What is news, and the waiting jobs by their place in the site's order.

    ``longest`` ``(CLASSES,)``: limits of the longest stretch of news with so many nodes; ``opening``
    ``(CLASSES,)``: when the first one begins at the earliest; ``missed`` ``(CLASSES,)``: steps that were
    searched in vain since the limit was found. ``met``: the spans of time with news. ``at``: the most nodes
    free in any news, when the first span begins, the number of the compression, and the length of a span as a
    power of two. ``job``, ``nodes``, ``size``, ``walltime`` and ``begin`` by place; ``least``: the fewest nodes
    within a group of places.
    """

    longest: IntArray
    opening: IntArray
    missed: IntArray
    met: BoolArray
    at: IntArray
    job: IntArray
    nodes: IntArray
    size: IntArray
    walltime: IntArray
    begin: IntArray
    least: IntArray


def new_freed(jobs: int) -> Freed:
    """Nothing has become free and nobody waits."""
    return Freed(
        longest=np.zeros(CLASSES, np.int64),
        opening=np.zeros(CLASSES, np.int64),
        missed=np.zeros(CLASSES, np.int64),
        met=np.zeros(SPANS, np.bool_),
        at=np.zeros(4, np.int64),
        job=np.empty(jobs, np.int64),
        nodes=np.full(jobs, NOBODY),
        size=np.empty(jobs, np.int64),
        walltime=np.empty(jobs, np.int64),
        begin=np.empty(jobs, np.int64),
        least=np.full(jobs // GROUP + 1, NOBODY),
    )


@borrowing
def enter(f, jobs, job, place, begin):  # type: ignore[no-untyped-def]
    """A job waits at a place, planned to begin at ``begin``."""
    f.job[place], f.begin[place] = job, begin
    f.nodes[place], f.walltime[place] = jobs[job, DEMAND], jobs[job, WALLTIME]
    f.size[place] = size_of(jobs[job, DEMAND])
    f.least[place // GROUP] = min(f.least[place // GROUP], f.nodes[place])


@borrowing
def leave(f, place):  # type: ignore[no-untyped-def]
    """The job at a place waits no more."""
    f.nodes[place] = NOBODY
    group = place // GROUP
    least = NOBODY
    for other in range(group * GROUP, min((group + 1) * GROUP, len(f.nodes))):
        least = min(least, f.nodes[other])
    f.least[group] = least


@borrowing
def size_of(nodes):  # type: ignore[no-untyped-def]
    """The power of two below a number of nodes, at most the last of :data:`CLASSES`."""
    size = 0
    while size < CLASSES - 1 and 2 << size <= nodes:
        size += 1
    return size


@borrowing
def news_above(f, place):  # type: ignore[no-untyped-def]
    """Stamps above this are news to the job at a place."""
    return (f.at[ROUND] - 1) * PLACES + place


@borrowing
def stamp(f, p, begin, end, value, smallest):  # type: ignore[no-untyped-def]
    """Note that more has become free in ``[begin, end)``; less than ``smallest`` nodes are of no use to anybody."""
    if begin >= end:
        return
    b = block_of(p, begin)
    i = step_of(p, b, begin)
    since, peak, longest, opening = np.int64(-1), np.int64(0), np.int64(0), NEVER
    while b < p.number[0] and p.first[b] < end:
        row = p.row[b]
        if p.high[b, 0] >= smallest:
            for j in range(i, p.size[b]):
                time = p.times[row, j]
                if time >= end:
                    break
                level = p.levels[row, 0, j] + p.due[b, 0]
                if level >= smallest:
                    p.stamp[row, j] = p.last[b] = value
                    peak = max(peak, level)
                    if since < 0:
                        since = _room_since(p, b, j, smallest) if time <= begin else time
                        opening = min(opening, since)
                elif since >= 0:
                    longest = max(longest, time - since)
                    _meet(f, since, time)
                    since = np.int64(-1)
        elif since >= 0:
            longest = max(longest, p.first[b] - since)
            _meet(f, since, p.first[b])
            since = np.int64(-1)
        b += 1
        i = 0
    if since >= 0:
        until = _room_until(p, end, smallest)
        longest = max(longest, until - since)
        _meet(f, since, until)
    if longest > 0:
        f.at[PEAK] = max(f.at[PEAK], peak)
        for size in range(size_of(peak) + 1):
            f.longest[size] = max(f.longest[size], longest)
            f.opening[size] = min(f.opening[size], opening)


@borrowing
def survey(f, p, place, now):  # type: ignore[no-untyped-def]
    """Find out anew what is news to jobs from ``place`` on."""
    limit = news_above(f, place)
    f.met[:] = False
    end = p.number[0] - 1
    horizon = p.times[p.row[end], p.size[end] - 1] - now
    f.at[SINCE], f.at[SHIFT] = now, 0
    while horizon >> f.at[SHIFT] >= SPANS:
        f.at[SHIFT] += 1
    peak = np.int64(0)
    for b in range(p.number[0]):
        if p.last[b] <= limit:
            continue
        row, last = p.row[b], np.int64(0)
        for j in range(p.size[b]):
            last = max(last, p.stamp[row, j])
            if p.stamp[row, j] > limit:
                peak = max(peak, p.levels[row, 0, j] + p.due[b, 0])
                until = NEVER
                if j + 1 < p.size[b]:
                    until = p.times[row, j + 1]
                elif b + 1 < p.number[0]:
                    until = p.first[b + 1]
                _meet(f, p.times[row, j], until)
        p.last[b] = last
    f.at[PEAK] = peak
    for size in range(CLASSES):
        f.longest[size] = NEVER if size <= size_of(peak) else 0
        f.opening[size] = now if size <= size_of(peak) else NEVER
        f.missed[size] = 0


@borrowing
def correct(f, p, place, size, smallest):  # type: ignore[no-untyped-def]
    """Find out anew how long the longest stretch of news is for a size of jobs."""
    limit, nodes = news_above(f, place), max(smallest, np.int64(1) << size)
    longest, opening, since, news = np.int64(0), NEVER, np.int64(-1), False
    for b in range(p.number[0]):
        row = p.row[b]
        if p.high[b, 0] < nodes:
            if since >= 0 and news:
                longest, opening = max(longest, p.first[b] - since), min(opening, since)
            since = np.int64(-1)
        elif p.low[b, 0] >= nodes and p.last[b] <= limit:
            if since < 0:
                since, news = p.first[b], False
        else:
            for j in range(p.size[b]):
                if p.levels[row, 0, j] + p.due[b, 0] >= nodes:
                    if since < 0:
                        since, news = p.times[row, j], False
                    if p.stamp[row, j] > limit:
                        news = True
                elif since >= 0:
                    if news:
                        longest, opening = max(longest, p.times[row, j] - since), min(opening, since)
                    since = np.int64(-1)
    if since >= 0 and news:
        longest, opening = NEVER, min(opening, since)
    f.longest[size], f.opening[size] = longest, opening
    f.missed[size] = 0


@borrowing
def next_place(f, p, place, last):  # type: ignore[no-untyped-def]
    """The first place from ``place`` on, up to ``last``, whose job may move into news; -1 if there is none."""
    peak = f.at[PEAK]
    while place <= last:
        group = place // GROUP
        end = min((group + 1) * GROUP, last + 1)
        if f.least[group] <= peak:
            for k in range(place, end):
                if f.nodes[k] > peak or f.begin[k] <= f.opening[f.size[k]]:
                    continue
                if f.walltime[k] <= f.longest[f.size[k]] or _freed_before(f, p, k):
                    return k
        place = end
    return -1


@borrowing
def look(f, p, jobs, place, smallest):  # type: ignore[no-untyped-def]
    """The earliest begin of the job at a place in a stretch of news; its present one if none is earlier."""
    job, old, limit = f.job[place], f.begin[place], news_above(f, place)
    length = jobs[job, WALLTIME]
    b, i = 0, 0
    while b < p.number[0] and p.first[b] < old:
        if p.last[b] <= limit or fit_of_block(p, jobs, job, b) < 0:
            b += 1
            i = 0
            continue
        row, size = p.row[b], p.size[b]
        f.missed[f.size[place]] += size
        while i < size and (p.stamp[row, i] <= limit or not fits_step(p, jobs, job, b, row, i)):
            i += 1
        if i == size:
            b += 1
            i = 0
            continue
        time = p.times[row, i]
        if time >= old:
            return old
        since = max(begin_of_room(p, jobs, job, time), p.first[0])
        # Where the stretch ends; from `old` on the job has room already.
        while True:
            if i == 0 and fit_of_block(p, jobs, job, b) > 0:
                i = p.size[b]
            row, size = p.row[b], p.size[b]
            while i < size and fits_step(p, jobs, job, b, row, i):
                i += 1
            until = NEVER
            if i < size:
                until = p.times[row, i]
            elif b + 1 < p.number[0]:
                until = p.first[b + 1]
            if until - since >= length or until >= old:
                return since
            if i < size:
                break
            b += 1
            i = 0
    return old


@borrowing
def _freed_before(f, p, place):  # type: ignore[no-untyped-def]
    """Whether more has become free right before the planned begin, enough nodes for the job."""
    time = f.begin[place] - 1
    if not f.met[_span(f, time)] or time < p.first[0]:
        return False
    b = block_of(p, time)
    limit = news_above(f, place)
    if p.last[b] <= limit or p.high[b, 0] < f.nodes[place]:
        return False
    i = step_of(p, b, time)
    row = p.row[b]
    return p.stamp[row, i] > limit and p.levels[row, 0, i] + p.due[b, 0] >= f.nodes[place]


@borrowing
def _meet(f, begin, end):  # type: ignore[no-untyped-def]
    for span in range(_span(f, begin), _span(f, end - 1) + 1):
        f.met[span] = True


@borrowing
def _span(f, time):  # type: ignore[no-untyped-def]
    return min(max(np.int64(0), time - f.at[SINCE]) >> f.at[SHIFT], SPANS - 1)


@borrowing
def _room_until(p, time, nodes):  # type: ignore[no-untyped-def]
    """Until when so many nodes are free from ``time`` on without a break."""
    b = block_of(p, time)
    i = step_of(p, b, time)
    while b < p.number[0]:
        if p.low[b, 0] < nodes:
            row = p.row[b]
            for j in range(i, p.size[b]):
                if p.levels[row, 0, j] + p.due[b, 0] < nodes:
                    return max(time, p.times[row, j])
        b += 1
        i = 0
    return NEVER


@borrowing
def _room_since(p, b, i, nodes):  # type: ignore[no-untyped-def]
    """Since when so many nodes are free without a break until step ``i`` of block ``b``."""
    since = p.times[p.row[b], i]
    while b >= 0:
        row = p.row[b]
        if p.low[b, 0] >= nodes:
            since = p.first[b]
        else:
            for j in range(i, -1, -1):
                if p.levels[row, 0, j] + p.due[b, 0] < nodes:
                    return since
                since = p.times[row, j]
        b -= 1
        if b >= 0:
            i = p.size[b] - 1
    return since
