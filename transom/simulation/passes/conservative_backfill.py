"""One pass of conservative backfilling, compiled: every waiting job holds a reservation, or the first ``depth``.

A job gets the earliest place in the free profile that delays no reservation, in queue order. After an early end the
plan is compressed: in queue order each job takes the earliest place there is beside the others, which is never a
later one, again and again until none moves (Mu'alem and Feitelson, TPDS 2001, who go through the queue once).

Where only the first jobs of the queue hold reservations (RESERVATIONDEPTH of Maui), the others start in queue order
where they fit now and delay none of them. With one reservation, that is EASY.
"""

from __future__ import annotations

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    DEMAND,
    ENDED,
    HELD,
    LIMITS,
    NEVER,
    NOW,
    QUEUED,
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
from transom.simulation.passes.availability import FREED, SINCE, add, level_at
from transom.simulation.passes.conservative_plan import DEPTH, OVERDUE, Plan, first_place, move, next_to_move
from transom.simulation.passes.freed_room import close, enter_freed
from transom.simulation.passes.service_plan import enter_known, stays, use_limits


@compiled
def conservative_pass(s: State, p: Plan, picks: IntArray, modes: IntArray) -> tuple[int, int, int, int]:
    """Compress, reserve for the new jobs, start those whose reservation has come.

    Returns (number of starts, number of backfilled among them, the first job in queue order that
    keeps waiting or -1, the begin of its reservation or -1).
    """
    at, now = s.at, s.at[NOW]
    p.profile.at[SINCE] = freed = now
    for k in range(at[ENDED]):
        job = s.ended[k]
        end = s.jobs[job, START] + s.jobs[job, WALLTIME]
        if end > now:
            add(p.profile, s.jobs, job, now, end, FREED)
            freed = max(freed, end)
    at[ENDED] = 0
    overdue = at[RUNNING] > 0 and s.expected[0, 0] <= now
    if overdue or p.at[OVERDUE] or at[REPLAN]:
        freed = now
        enter_known(s, p.profile, p.asked)
        for i in range(at[QUEUED]):
            p.begin[s.queue[i]] = -1
    else:
        # Jobs that would run into a window are planned later than where they fit by numbers: they may move anywhere.
        enter_freed(p.freed, p.profile, now, freed if freed == now or at[LIMITS] == 0 else NEVER)
        for i in range(p.at[DEPTH], at[QUEUED]):  # others have come before these
            if p.begin[s.queue[i]] >= 0:
                move(s, p, s.queue[i], -1)
                freed = NEVER
    place, looked, begin = 0, 0, 0
    while freed > now and begin >= 0:
        place, looked, begin = next_to_move(s, p, place, looked)
        if begin >= 0:
            move(s, p, s.queue[place], begin)
            place, looked = place + 1, 0
    close(p.freed)
    held, free = 0, level_at(p.profile, now, 0)
    for i in range(at[QUEUED]):
        job, limit = s.queue[i], NEVER if held < p.at[DEPTH] else now + 1
        if p.begin[job] < 0 and (limit == NEVER or s.jobs[job, DEMAND] <= free):
            begin = first_place(s, p, job, limit)
            if begin < limit or limit == NEVER:
                move(s, p, job, begin)
                free = level_at(p.profile, now, 0)
        held += p.begin[job] > now
    p.at[OVERDUE] = overdue
    at[REPLAN] = 0
    return _start_due(s, p, picks, modes, overdue)


@no_refcount
def _start_due(s: State, p: Plan, picks: IntArray, modes: IntArray, overdue: bool) -> tuple[int, int, int, int]:
    at, now = s.at, s.at[NOW]
    count, backfilled, first, first_begin, wake = 0, 0, -1, -1, NEVER
    for i in range(at[QUEUED]):
        job = s.queue[i]
        begin = p.begin[job]
        note(p.noted, job, begin, now)
        if begin == now:
            p.begin[job] = begin = -1
            if at[LIMITS] == 0 or stays(s.jobs, at, job):
                if at[LIMITS] > 0:
                    use_limits(s.jobs, at, job)
                occupy(s.jobs, s.expected, s.free, at, job)
                picks[count] = i
                if first >= 0:
                    modes[count] = BACKFILLED
                    backfilled += 1
                else:
                    modes[count] = RESERVED if s.jobs[job, HELD] else READY
                count += 1
                continue
            at[REPLAN] = 1  # it would run into a window on every choice of idle nodes: all is planned anew
        if first < 0:
            first, first_begin = job, begin
        # Behind an overdue job a reservation for the next second moves on with it: wait for its end.
        if begin > (now + 1 if overdue else now):
            wake = min(wake, begin)
    at[WAKE] = wake
    return count, backfilled, first, first_begin
