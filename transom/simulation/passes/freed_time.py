"""Which waiting jobs may move forward into what has become free, compiled.

A waiting job that cannot start earlier than planned stays so until more becomes free where it could run. There are two
ways: it slides, as more became free right before its planned begin; or somewhere else a stretch became long
enough. Jobs that may slide are found by their begins, which stand in buckets of time, and are called. For
the others the bounds of :mod:`~transom.simulation.passes.stretches` say from when on a stretch of a length may
begin: groups of neighbours in the site's order and then single jobs are skipped that are planned before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME, State
from transom.simulation.passes.availability import Profile, block_of, fit_of_block, fits_step, step_of
from transom.simulation.passes.freed_stretch import enter_stretch
from transom.simulation.passes.slides import Steps
from transom.simulation.passes.stretches import (
    CLASSES,
    Stretches,
    count_request,
    first_begin,
    first_stretch,
    new_stretches,
)

BUCKETS = 2**18
"""Buckets of time; later times share them with earlier ones."""

GROUP = 64
"""Places of waiting jobs whose least requests are kept, one bit of a word each."""

NOBODY = CLASSES
"""The class at a place where no job waits."""

SHIFT, FULL, TAKEN = range(3)

(_ONE,) = np.array((1,))
"""For each Python number that is handed over, the compiler makes code of its own."""

_NUMBER = np.zeros(67, np.int64)
"""The number of a bit from what is left of it by 67: no two powers of two up to the 66th leave the same."""

_NUMBER[[2**number % 67 for number in range(GROUP)]] = np.arange(GROUP)


class Freed(NamedTuple):
    """The waiting jobs, by job or by their place in the site's order.

    ``bucket`` ``(BUCKETS,)``: the first job of each bucket of planned begins, or -1; ``after``, ``before``: the next
    and the last one in it, by job; ``place`` by job. ``job``, ``size`` (its class), ``walltime`` and ``seen`` (the
    version of its class when it was last searched for in vain) by place. ``least``, ``shortest``, ``last``, ``latest``,
    ``taken`` and ``called`` by group of places: the least class, the shortest walltime, bounds on the last begin and on
    the latest begin that another place must lie before, a bit for each place where a job waits and for each whose job
    may slide. ``at``: the length of a bucket as a power of two,
    and an instant at which so many nodes were not free since a job moved last.
    """

    stretches: Stretches
    bucket: IntArray
    after: IntArray
    before: IntArray
    place: IntArray
    job: IntArray
    size: IntArray
    walltime: IntArray
    seen: IntArray
    least: IntArray
    shortest: IntArray
    last: IntArray
    latest: IntArray
    taken: NDArray[np.uint64]
    called: NDArray[np.uint64]
    at: IntArray


def new_freed(state: State) -> Freed:
    """Nobody waits."""
    jobs = len(state.jobs)
    groups = jobs // GROUP + 1
    longest = int(state.jobs[:, WALLTIME].max(initial=1))
    return Freed(
        stretches=new_stretches(state.jobs),
        bucket=np.full(BUCKETS, -1),
        after=np.empty(jobs, np.int64),
        before=np.empty(jobs, np.int64),
        place=np.zeros(jobs, np.int64),
        job=np.empty(jobs, np.int64),
        size=np.full(jobs, NOBODY),
        walltime=np.empty(jobs, np.int64),
        seen=np.empty(jobs, np.int64),
        least=np.full(groups, NOBODY),
        shortest=np.full(groups, NEVER),
        last=np.full(groups, -1),
        latest=np.full(groups, -NEVER),
        taken=np.zeros(groups, np.uint64),
        called=np.zeros(groups, np.uint64),
        at=np.array([max(0, longest.bit_length() - 11), -1, 0]),
    )


@no_refcount
def plan(f: Freed, p: Profile, jobs: IntArray, job: int) -> None:
    """A job that has had no begin will get one."""
    t, c = f.stretches, f.stretches.of[job]
    if count_request(t, c, jobs[job, WALLTIME], _ONE):
        t.size[c] = 1  # what was too short for anybody is not known
        t.begin[c, 0], t.length[c, 0] = p.first[0], NEVER


@no_refcount
def unplan(f: Freed, jobs: IntArray, job: int, begin: int) -> None:
    """A job has no begin any more."""
    count_request(f.stretches, f.stretches.of[job], jobs[job, WALLTIME], -_ONE)
    unlink(f, job, begin)


@no_refcount
def seat(f: Freed, jobs: IntArray, job: int, place: int, begin: int) -> None:
    """A job waits at a place, planned to begin at ``begin``."""
    g = place // GROUP
    f.place[job], f.job[place] = place, job
    f.size[place], f.walltime[place] = f.stretches.of[job], jobs[job, WALLTIME]
    f.seen[place] = -1
    f.taken[g] |= bit_of(place)
    f.least[g] = min(f.least[g], f.size[place])
    f.shortest[g] = min(f.shortest[g], f.walltime[place])
    f.last[g] = max(f.last[g], begin)
    f.latest[g] = max(f.latest[g], begin - f.walltime[place])


@inlined
def bit_of(place: int) -> np.uint64:
    """The bit of a place in the word of its group."""
    return np.uint64(1) << np.uint64(place % GROUP)


@inlined
def first_of(places: np.uint64) -> tuple[np.uint64, int]:
    """The lowest bit that is set in a word, and its number."""
    bit = places & (~places + np.uint64(1))
    return bit, _NUMBER[bit % np.uint64(67)]


@no_refcount
def unseat(f: Freed, begin: IntArray, place: int) -> None:
    """The job at a place waits no more; ``begin`` are the begins of all jobs."""
    g = place // GROUP
    f.size[place] = NOBODY
    f.taken[g] &= ~bit_of(place)
    f.called[g] &= ~bit_of(place)
    measure_group(f, begin, g)


@no_refcount
def measure_group(f: Freed, begin: IntArray, g: int) -> None:
    """Bring what is known of a group of places up to date."""
    least, shortest, last, latest = NOBODY, NEVER, -1, -NEVER
    places = f.taken[g]
    while places:
        bit, k = first_of(places)
        places ^= bit
        k += g * GROUP
        least = min(least, f.size[k])
        shortest = min(shortest, f.walltime[k])
        last = max(last, begin[f.job[k]])
        latest = max(latest, begin[f.job[k]] - f.walltime[k])
    f.least[g], f.shortest[g], f.last[g], f.latest[g] = least, shortest, last, latest


@no_refcount
def call(f: Freed, p: Profile, jobs: IntArray, begins: IntArray, begin: int, end: int, smallest: int) -> None:
    """More became free in ``[begin, end)``: enter it, and call the jobs planned to begin in it or at its end."""
    f.at[FULL] = -1
    if begin >= end:
        return
    peak = enter_stretch(f.stretches, p, begin, end, smallest)
    if peak < smallest:
        return
    shift = f.at[SHIFT]
    first, last = (begin + 1) >> shift, end >> shift
    for number in range(first, min(last, first + BUCKETS - 1) + 1):
        job = f.bucket[number & (BUCKETS - 1)]
        while job >= 0:
            if begin < begins[job] <= end and jobs[job, DEMAND] <= peak:
                f.called[f.place[job] // GROUP] |= bit_of(f.place[job])
            job = f.after[job]


@no_refcount
def smallest_request(f: Freed) -> int:
    """No job that waits asks for fewer nodes."""
    t = f.stretches
    for c in range(len(t.floor)):
        if t.waiting[c] > 0:
            return int(t.floor[c])
    return NEVER


@inlined
def group_may_jump(f: Freed, g: int) -> bool:
    """Whether a job of a group of places may find a stretch before its begin."""
    c, shortest = f.least[g], f.shortest[g]
    if c == NOBODY:
        return False
    if shortest >> f.stretches.least[c] == 0:  # a job of another class, too short for the bounds of this one
        return True
    return bool(first_begin(f.stretches, c, shortest) < f.latest[g])


@inlined
def may_jump(f: Freed, place: int, begin: int) -> bool:
    """Whether the job at a place, which cannot slide, may find a stretch before its begin."""
    t, c, walltime = f.stretches, f.size[place], f.walltime[place]
    # It has no room right before its begin, so that it would have to end before that.
    if first_begin(t, c, walltime) >= begin - walltime:
        return False
    return bool(t.exact[f.job[place]] > 0 or f.seen[place] < t.version[c])


@inlined
def jump(f: Freed, p: Profile, jobs: IntArray, place: int, begin: int) -> int:
    """The earliest begin of the job at a place, which cannot slide; its present one, ``begin``, if none is earlier."""
    limit = begin - f.walltime[place]
    found = first_stretch(f.stretches, p, jobs, f.job[place], limit)
    if found < limit:
        return found
    f.seen[place] = f.stretches.version[f.size[place]]
    return begin


@inlined
def slide(f: Freed, taken: Steps, p: Profile, jobs: IntArray, job: int, old: int) -> int:
    """Since when a job planned for ``old`` has room until then, beside what slides took; ``old`` if it has none."""
    nodes = jobs[job, DEMAND]
    if not p.first[0] < old < NEVER or (f.at[FULL] == old - 1 and f.at[TAKEN] <= nodes):
        return old
    b, begin = block_of(p, old - 1), old
    k: int = taken.size[0] - 1
    i = step_of(p, b, old - 1)
    while k >= 0 and taken.time[k] >= old:
        k -= 1
    while True:
        level = p.levels[p.row[b], 0, i] + p.due[b, 0]
        if k >= 0:
            level -= taken.nodes[k]
        if level < nodes:
            if begin == old:
                f.at[FULL], f.at[TAKEN] = old - 1, nodes
            return begin
        if not fits_step(p, jobs, job, b, p.row[b], i):
            return begin
        begin = p.times[p.row[b], i]
        if k >= 0 and taken.time[k] >= begin:
            begin = taken.time[k]
            k -= 1
        if begin > p.times[p.row[b], i]:
            continue
        i -= 1
        while i < 0:
            if b == 0:
                return int(begin)
            b -= 1
            i = p.size[b] - 1
            if (k < 0 or (taken.nodes[k] == 0 and taken.time[k] <= p.first[b])) and fit_of_block(p, jobs, job, b) > 0:
                begin, i = p.first[b], -1


@inlined
def link(f: Freed, job: int, begin: int) -> None:
    """Have a job stand in the bucket of its begin."""
    if begin >= NEVER:
        return
    number = (begin >> f.at[SHIFT]) & (BUCKETS - 1)
    following = f.bucket[number]
    f.before[job], f.after[job], f.bucket[number] = -1, following, job
    if following >= 0:
        f.before[following] = job


@inlined
def unlink(f: Freed, job: int, begin: int) -> None:
    """Take a job out of the bucket of its begin."""
    if begin >= NEVER:
        return
    before, after = f.before[job], f.after[job]
    if before >= 0:
        f.after[before] = after
    else:
        f.bucket[(begin >> f.at[SHIFT]) & (BUCKETS - 1)] = after
    if after >= 0:
        f.before[after] = before
