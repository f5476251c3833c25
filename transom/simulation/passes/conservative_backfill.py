"""One pass of conservative backfilling, compiled: every waiting job holds a reservation.

A job gets the earliest place in the free profile that delays no reservation, in queue order; after
an early end the plan is compressed in queue order: each job in turn gives up its reservation and
takes the earliest place there is, which is never a later one (Mu'alem and Feitelson, TPDS 2001).
Only jobs that may move into what has become free are looked at (:mod:`~transom.simulation.passes.freed_time`).
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, inlined, no_refcount
from transom._system.sorting import sort_in_place
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    DEMAND,
    ENDED,
    HELD,
    LIMITS,
    NEVER,
    NOW,
    QUEUED,
    RANK,
    REPLAN,
    RUNNING,
    START,
    WAKE,
    WALLTIME,
    State,
    occupy,
)
from transom.simulation.core.noted_promises import note
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.availability import (
    FREED,
    TAKEN,
    add,
    trim,
)
from transom.simulation.passes.conservative_plan import (
    HELD_BY,
    OVERDUE,
    Plan,
    forget,
    leave,
    note_begin,
    reserve,
    rise,
    take_top,
)
from transom.simulation.passes.freed_time import (
    GROUP,
    NOBODY,
    bit_of,
    call,
    first_of,
    group_may_jump,
    jump,
    may_jump,
    measure_group,
    seat,
    slide,
    smallest_request,
    unlink,
)
from transom.simulation.passes.service_plan import enter_changes, stays, use_limits
from transom.simulation.passes.slides import (
    FURTHER,
    clear_steps,
    copy_further,
    enter_steps,
    has_room,
    raise_steps,
)


@compiled
def conservative_pass(
    s: State, p: Plan, picks: IntArray, modes: IntArray, reordered: bool
) -> tuple[int, int, int, int]:
    """Compress, reserve for the new jobs, start those whose reservation has come.

    ``reordered`` says that the order of the queue changes from pass to pass, so that ranks say nothing.

    Returns (number of starts, number of backfilled among them, the first job in queue order that
    keeps waiting or -1, the begin of its reservation or -1).
    """
    at, now = s.at, s.at[NOW]
    trim(p.profile, now)
    freed = now
    for k in range(at[ENDED]):
        job = s.ended[k]
        end = s.jobs[job, START] + s.jobs[job, WALLTIME]
        if end > now:
            add(p.profile, s.jobs, job, now, end, FREED)
            freed = max(freed, end)
    at[ENDED] = 0
    overdue = at[RUNNING] > 0 and s.expected[0, 0] <= now
    if overdue or p.at[OVERDUE] or at[REPLAN]:
        forget(s, p, reordered)
        if at[CHANGES] > 0:
            enter_changes(p.profile, at, np.zeros((1, DEMAND + p.profile.low.shape[1]), np.int64))
    elif freed > now:
        _compress(s, p, freed, reordered)
    p.at[OVERDUE] = overdue
    at[REPLAN] = 0
    new = at[QUEUED] - p.at[HELD_BY]
    i = at[QUEUED]
    for k in range(new - 1, -1, -1):  # most are at the end of the queue
        i -= 1
        while p.begin[s.queue[i]] >= 0:
            i -= 1
        picks[k] = i
    for k in range(new):
        reserve(s, p, s.queue[picks[k]], reordered)
    return _start_due(s, p, picks, modes, reordered, overdue)


@no_refcount
def _compress(s: State, p: Plan, freed: int, reordered: bool) -> None:
    f, profile, now, queued = p.freed, p.profile, s.at[NOW], s.at[QUEUED]
    if queued == 0:
        return
    first, last = 0, queued - 1
    if reordered:
        for i in range(queued):
            if p.begin[s.queue[i]] >= 0:
                seat(f, s.jobs, s.queue[i], i, p.begin[s.queue[i]])
                f.called[i // GROUP] |= bit_of(i)
    else:
        first, last = s.jobs[s.queue[0], RANK], s.jobs[s.queue[last], RANK]
    smallest = smallest_request(f)
    call(f, profile, s.jobs, p.begin, now, freed, smallest)
    soon = p.slides.freed.time  # the first instant that moves freed; jobs planned before it cannot use it
    for group in range(first // GROUP, last // GROUP + 1):
        if f.last[group] > soon[0] and f.called[group] == 0:
            _apply_slides(s, p, smallest)
        jumps = group_may_jump(f, group)
        if not jumps and f.called[group] == 0:
            continue
        jumped, passed = jumps, np.uint64(0)
        while True:
            places = (f.taken[group] if jumps or f.last[group] > soon[0] else f.called[group]) & ~passed
            if places == 0:
                break
            bit, number = first_of(places)
            passed |= bit | (bit - np.uint64(1))
            place = group * GROUP + number
            job = f.job[place]
            old = p.begin[job]
            if old > soon[0]:
                _apply_slides(s, p, smallest)
                jumps = group_may_jump(f, group)
            called, new = f.called[group] & bit, old
            if called:
                f.called[group] &= ~bit
                new = slide(f, p.slides.taken, profile, s.jobs, job, old)
            if jumps and may_jump(f, place, new):
                if p.slides.taken.size[0]:
                    _apply_slides(s, p, smallest)
                new = jump(f, profile, s.jobs, place, new)
            if new < old:
                if not has_room(p.slides):
                    _apply_slides(s, p, smallest)
                _move(s, p, job, old, new)
                jumps = group_may_jump(f, group)
            jumped = jumped or jumps
        if jumped:
            measure_group(f, p.begin, group)
    if p.slides.taken.size[0]:
        _apply_slides(s, p, smallest)
    if reordered:
        for i in range(queued):
            f.size[i] = NOBODY
        for group in range((queued - 1) // GROUP + 1):
            f.taken[group] = f.called[group] = 0
            f.least[group], f.shortest[group], f.last[group], f.latest[group] = NOBODY, NEVER, -1, -NEVER


@inlined
def _move(s: State, p: Plan, job: int, old: int, new: int) -> None:
    """Give a job an earlier begin; the profile is to know of its nodes later."""
    nodes, length = s.jobs[job, DEMAND], s.jobs[job, WALLTIME]
    unlink(p.freed, job, old)
    note_begin(s, p, job, new)
    rise(p, job)
    # Where it slides, what it held and holds again stays as it is.
    taken_until, freed_from = min(old, new + length), max(old, new + length)
    raise_steps(p.slides.taken, new, taken_until, nodes)
    if old < NEVER:
        raise_steps(p.slides.freed, freed_from, old + length, nodes)
    if copy_further(p.slides, s.jobs, job):
        add(p.profile, p.slides.requests, FURTHER, new, taken_until, TAKEN)
        if old < NEVER:
            add(p.profile, p.slides.requests, FURTHER, freed_from, old + length, FREED)


@no_refcount
def _apply_slides(s: State, p: Plan, smallest: int) -> None:
    """Have the profile know of the moves, and call the jobs that may move into what they freed."""
    freed, k = p.slides.freed, 0
    enter_steps(p.profile, p.slides)
    while k < freed.size[0]:
        begin = freed.time[k]
        while freed.nodes[k]:
            k += 1
        call(p.freed, p.profile, s.jobs, p.begin, begin, freed.time[k], smallest)
        k += 1
    clear_steps(p.slides.taken)
    clear_steps(freed)


@compiled
def _start_due(
    s: State, p: Plan, picks: IntArray, modes: IntArray, reordered: bool, overdue: bool
) -> tuple[int, int, int, int]:
    at, now = s.at, s.at[NOW]
    count = 0
    while p.at[HELD_BY] > 0 and p.begin[p.heap[0]] == now:
        job = p.heap[0]
        take_top(p)
        note(p.noted, job, now, now)
        picks[count] = job
        count += 1
        leave(s, p, job, reordered)
    _find(s, p, picks, count, reordered)
    if at[LIMITS] > 0:
        count = _keep_those_that_stay(s, p, picks, count)
    # The first in the queue whose turn has not come: so many before it start.
    waiting = 0
    while waiting < count and picks[waiting] == waiting:
        waiting += 1
    for k in range(count):
        job = s.queue[picks[k]]
        occupy(s.jobs, s.expected, s.free, at, job)
        p.begin[job] = -1
        if k >= waiting:
            modes[k] = BACKFILLED
        else:
            modes[k] = RESERVED if s.jobs[job, HELD] else READY
    first, begin, wake = -1, -1, NEVER
    if waiting < at[QUEUED]:
        first = s.queue[waiting]
        begin = p.begin[first]
    if not overdue:
        if p.at[HELD_BY] > 0:
            wake = p.begin[p.heap[0]]
    else:
        # Behind an overdue job a reservation for the next second moves on with it: wait for its end.
        for k in range(p.at[HELD_BY]):
            if p.begin[p.heap[k]] > now + 1:
                wake = min(wake, p.begin[p.heap[k]])
    at[WAKE] = wake
    return count, count - waiting, first, begin


@no_refcount
def _keep_those_that_stay(s: State, p: Plan, picks: IntArray, count: int) -> int:
    """Leave out jobs that are due but would run into a window on every choice of idle nodes: all is planned anew."""
    kept = 0
    for k in range(count):
        job = s.queue[picks[k]]
        if stays(s.jobs, s.at, job):
            use_limits(s.jobs, s.at, job)
            picks[kept] = picks[k]
            kept += 1
        else:
            p.begin[job] = -1
            s.at[REPLAN] = 1
    return kept


@compiled
def _find(s: State, p: Plan, picks: IntArray, count: int, reordered: bool) -> None:
    """Replace jobs by their positions in the queue, ascending."""
    if count == 0:
        return
    if reordered:
        now, k = s.at[NOW], 0
        for i in range(s.at[QUEUED]):
            if p.begin[s.queue[i]] == now:
                picks[k] = i
                k += 1
        return
    for k in range(count):
        rank, low, high = s.jobs[picks[k], RANK], 0, s.at[QUEUED]
        while high - low > 1:
            middle = (low + high) // 2
            if s.jobs[s.queue[middle], RANK] <= rank:
                low = middle
            else:
                high = middle
        picks[k] = low
    sort_in_place(picks[:count])
