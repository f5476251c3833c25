"""Where waiting jobs may move forward since more became free, compiled.

Between two passes every waiting job is planned as early as it can be, so that only what has become free since lets it
move, in one of two ways. It slides: more became free right before its planned begin. Or it jumps: a stretch that
holds some of the freed time is long enough and ends before that begin. Either is ruled out for most jobs at the
cost of a look into a table: which buckets of time had something freed, and for each class of requests and walltimes
where a long enough stretch may begin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME
from transom.simulation.passes.availability import (
    BLOCKS,
    FIRST,
    HIGH,
    LOW,
    ROW,
    SINCE,
    SIZE,
    Profile,
    block_of,
    earliest,
    fit_of_block,
    fits_step,
    level,
    step_of,
)

CLASSES = 64
"""Requests of nodes and walltimes that are distinguished, at most; others count as the next smaller one."""

BUCKETS = 2**14
"""Buckets of time; later times share them with earlier ones."""

CHANGE, SHIFT, OPEN, LONGEST = range(4)
PLACE, LENGTH, SEEN, LONGER = range(4)


class Freed(NamedTuple):
    """What became free, for ``C`` classes of nodes and ``S`` of walltimes, ascending.

    ``nodes`` ``(C,)`` and ``walltimes`` ``(S,)`` [s]: the least of each class. ``first`` ``(C * S,)``: no job of both
    classes can jump to a begin before this [s]. ``last`` ``(BUCKETS,)``: the change that last freed time in a bucket.
    ``jobs`` ``(n, 4)``: of a job its place in ``first``, its walltime [s], the last change before it was looked at, and
    the first place in ``first`` where no stretch is long enough if none is for this job. ``at``: how many changes there
    were, the length of a bucket as a power of two, how many classes of nodes may jump, and the longest walltime.
    """

    nodes: IntArray
    walltimes: IntArray
    first: IntArray
    last: IntArray
    jobs: IntArray
    at: IntArray


def new_freed(jobs: IntArray) -> Freed:
    """Nothing became free; ``jobs`` are the rows of a replay's state."""
    asked, lasting = jobs[:, DEMAND], jobs[:, WALLTIME]
    nodes, walltimes = _least_of_classes(asked), _least_of_classes(lasting)
    size = np.searchsorted(nodes, asked, side="right") - 1
    span = np.searchsorted(walltimes, lasting, side="right") - 1
    longer = np.where(walltimes[span] == lasting, span, span + 1)
    longer[(nodes[size] != asked) | jobs[:, DEMAND + 1 :].any(axis=1)] = len(walltimes)
    row = size * len(walltimes)
    longest = int(lasting.max(initial=1))
    return Freed(
        nodes,
        walltimes,
        np.full(len(nodes) * len(walltimes), NEVER),
        np.zeros(BUCKETS, np.int64),
        np.column_stack((row + span, lasting, 0 * row, row + longer)),
        np.array([0, max(0, longest.bit_length() - 8), 0, longest]),
    )


def _least_of_classes(values: IntArray) -> IntArray:
    if len(values) == 0:
        return values
    return np.unique(np.quantile(values, np.linspace(0, 1, CLASSES), method="lower"))


@no_refcount
def close(f: Freed) -> None:
    """No job can jump."""
    for place in range(f.at[OPEN] * len(f.walltimes)):
        f.first[place] = NEVER
    f.at[OPEN] = 0


@no_refcount
def enter_freed(f: Freed, p: Profile, begin: int, end: int) -> None:
    """More became free in ``[begin, end)``, as the profile knows."""
    if begin >= end:
        return
    f.at[CHANGE] += 1
    number, last = begin >> f.at[SHIFT], (end - 1) >> f.at[SHIFT]
    for bucket in range(number, min(last, number + BUCKETS - 1) + 1):
        f.last[bucket & (BUCKETS - 1)] = f.at[CHANGE]
    b, c = block_of(p, begin - 1), block_of(p, begin)
    i, k = step_of(p, b, begin - 1), step_of(p, c, begin)
    most = 0
    while c < p.at[BLOCKS] and p.blocks[c, FIRST] < end:
        if c + 1 < p.at[BLOCKS] and p.blocks[c + 1, FIRST] <= end and k == 0:
            most, k = max(most, p.blocks[c, HIGH]), p.blocks[c, SIZE]
        while k < p.blocks[c, SIZE] and p.steps[p.blocks[c, ROW], 0, k] < end:
            most = max(most, level(p, c, k, 0))
            k += 1
        if k < p.blocks[c, SIZE]:
            break
        c += 1
        k = 0
    # The smaller the request, the further to both sides the room for it extends.
    since, until, spans, top = begin, end, 0, len(f.nodes)
    while top > 0 and f.nodes[top - 1] > most:
        top -= 1
    f.at[OPEN] = max(f.at[OPEN], top)
    for size in range(top - 1, -1, -1):
        nodes = f.nodes[size]
        while since > begin - f.at[LONGEST] and p.at[SINCE] < since:
            if i == p.blocks[b, SIZE] - 1 and p.blocks[b, LOW] >= nodes:
                i = 0
            if level(p, b, i, 0) < nodes:
                break
            since = max(p.steps[p.blocks[b, ROW], 0, i], p.at[SINCE])
            i -= 1
            if i < 0 and b > 0:
                b -= 1
                i = p.blocks[b, SIZE] - 1
        while until - since < f.at[LONGEST]:
            if k == 0 and c < p.at[BLOCKS] and p.blocks[c, LOW] >= nodes:
                c += 1
                continue
            if c == p.at[BLOCKS]:
                until = NEVER
                break
            until = max(until, p.steps[p.blocks[c, ROW], 0, k])
            if level(p, c, k, 0) < nodes:
                break
            k += 1
            if k == p.blocks[c, SIZE]:
                c += 1
                k = 0
        while spans < len(f.walltimes) and f.walltimes[spans] <= until - since:
            spans += 1
        row = size * len(f.walltimes)
        for place in range(row + spans - 1, row - 1, -1):
            if f.first[place] <= since:
                break
            f.first[place] = since


@inlined
def may_move(f: Freed, job: int, begin: int) -> bool:
    """Whether a job planned for ``begin`` may find room before that."""
    if f.first[f.jobs[job, PLACE]] + f.jobs[job, LENGTH] <= begin:
        return True
    return bool(f.last[((begin - 1) >> f.at[SHIFT]) & (BUCKETS - 1)] > f.jobs[job, SEEN])


@no_refcount
def earlier(f: Freed, p: Profile, jobs: IntArray, job: int, begin: int) -> int:
    """The earliest begin of a job planned for ``begin``, which has room there."""
    place, limit = f.jobs[job, PLACE], begin - f.jobs[job, LENGTH] + 1
    f.jobs[job, SEEN] = f.at[CHANGE]
    if f.first[place] < limit:
        found = earliest(p, jobs, job, max(f.first[place], p.at[SINCE]), limit, NEVER)
        place, end = f.jobs[job, LONGER], (place // len(f.walltimes) + 1) * len(f.walltimes)
        while place < end and f.first[place] < found:
            f.first[place] = found
            place += 1
        if found < limit:
            return found
    if begin == NEVER:
        return begin
    return _free_since(p, jobs, job, begin)


@no_refcount
def _free_since(p: Profile, jobs: IntArray, job: int, until: int) -> int:
    """Since when a job fits until an instant; that instant if it does not fit right before."""
    b = block_of(p, until - 1)
    i = step_of(p, b, until - 1)
    since = until
    while since > p.at[SINCE]:
        if fit_of_block(p, jobs, job, b) > 0:
            since = p.blocks[b, FIRST]
        else:
            for j in range(i, -1, -1):
                if not fits_step(p, jobs, job, b, j):
                    return int(max(since, p.at[SINCE]))
                since = p.steps[p.blocks[b, ROW], 0, j]
        b -= 1
        i = p.blocks[b, SIZE] - 1
    return int(p.at[SINCE])
