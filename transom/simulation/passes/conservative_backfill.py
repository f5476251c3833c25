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
from transom.simulation.passes.availability import FREED, add, earliest, trim
from transom.simulation.passes.conservative_plan import (
    DEPTH,
    OVERDUE,
    Plan,
    hold,
    plan_afresh,
    reserve,
    settle,
    withdraw,
)
from transom.simulation.passes.freed_room import enter_freed
from transom.simulation.passes.service_plan import stays, use_limits


@compiled
def conservative_pass(s: State, p: Plan, picks: IntArray, modes: IntArray) -> tuple[int, int, int, int]:
    """Compress, reserve for the new jobs, start those whose reservation has come.

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
        plan_afresh(s, p)
    else:
        # Jobs that would run into a window are planned later than where they fit by numbers: they may move anywhere.
        enter_freed(p.freed, p.profile, now, freed if freed == now or at[LIMITS] == 0 else NEVER)
        for i in range(p.at[DEPTH], at[QUEUED]):  # others have come before these
            if p.begin[s.queue[i]] >= 0:
                withdraw(s, p, s.queue[i])
                freed = NEVER
        if freed > now:
            settle(s, p)
    p.at[OVERDUE] = overdue
    at[REPLAN] = 0
    _reserve(s, p)
    return _start_due(s, p, picks, modes, overdue)


@no_refcount
def _reserve(s: State, p: Plan) -> None:
    """Reserve for the first jobs that hold no reservation, and for those of the others that can start now."""
    now, held, i = s.at[NOW], 0, 0
    while held < p.at[DEPTH] and i < s.at[QUEUED]:
        job = s.queue[i]
        if p.begin[job] < 0:
            reserve(s, p, job)
        held += p.begin[job] > now
        i += 1
    level = p.profile.levels[p.profile.row[0], 0, 0] + p.profile.due[0, 0]
    for k in range(i, s.at[QUEUED]):
        job = s.queue[k]
        if s.jobs[job, DEMAND] > level or (s.at[LIMITS] > 0 and not stays(s.jobs, s.at, job)):
            continue
        if earliest(p.profile, s.jobs, job, now, now + 1, NEVER) == now:
            hold(s, p, job, now)
            level -= s.jobs[job, DEMAND]


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
