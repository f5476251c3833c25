"""What passes know of nodes that go out of service and come back, compiled.

Behind the counters of a state stand the known changes, pairs of (instant [s], nodes more or fewer in service),
ascending, then the limits: pairs of (instant at which a window begins, idle nodes that stay in service beyond it). A
failed node comes back nobody knows when: plans go without it.
"""

from __future__ import annotations

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    COUNTERS,
    DEMAND,
    LIMITED,
    LIMITS,
    NEVER,
    NOW,
    RUNNING,
    WALLTIME,
    State,
)
from transom.simulation.passes.availability import FREED, Profile, add, clear


@no_refcount
def shadow_beside_maintenance(
    jobs: IntArray, expected: IntArray, free: IntArray, at: IntArray, head: int, extra: IntArray
) -> int:
    """The earliest instant after now at which ``head`` fits for its walltime, by expected ends and known changes.

    Parameters
    ----------
    jobs, expected, free, at : of the state.
    head : a job that cannot start now.
    extra : filled with what is left beside it: at that instant and, of limits on what runs beyond the begin of a
        window, then; :data:`NEVER` where the head asks for nothing at such a begin.

    Returns
    -------
    The instant [s], :data:`NEVER` if there is none.
    """
    amounts = len(free) - at[LIMITED]
    for r in range(len(free)):
        extra[r] = free[r]
    shadow, i, c = NEVER, 0, 0
    while shadow == NEVER:
        time = next_instant(expected, at, i, c)
        if time == NEVER:
            break
        while i < at[RUNNING] and max(expected[i, 0], at[NOW] + 1) == time:
            for r in range(amounts):
                extra[r] += jobs[expected[i, 1], DEMAND + r]
            i += 1
        while c < at[CHANGES] and at[COUNTERS + 2 * c] == time:
            extra[0] += at[COUNTERS + 2 * c + 1]
            c += 1
        fitting = True
        for r in range(amounts):
            fitting = fitting and jobs[head, DEMAND + r] <= extra[r]
        if fitting and _stays_free(jobs, expected, at, head, time, extra[0], i, c):
            shadow = time
    for r in range(amounts):
        extra[r] -= jobs[head, DEMAND + r]
    for k in range(at[LIMITED]):
        begin = at[COUNTERS + 2 * at[CHANGES] + 2 * k]
        extra[amounts + k] = NEVER
        if k < at[LIMITS] and shadow < begin < shadow + jobs[head, WALLTIME]:
            extra[amounts + k] = _level_at(jobs, expected, at, begin, free[0]) - jobs[head, DEMAND]
    return shadow


@no_refcount
def next_instant(expected: IntArray, at: IntArray, i: int, c: int) -> int:
    """The next instant at which something becomes free or service changes, after the first ``i`` and ``c`` of them.

    A job for which too few idle nodes stay in service may fit then.
    """
    time = NEVER
    if i < at[RUNNING]:
        time = max(expected[i, 0], at[NOW] + 1)
    if c < at[CHANGES]:
        time = min(time, at[COUNTERS + 2 * c])
    return time


@no_refcount
def _stays_free(
    jobs: IntArray, expected: IntArray, at: IntArray, head: int, begin: int, level: int, i: int, c: int
) -> bool:
    """Whether the nodes of a job stay free from ``begin`` on, when ``level`` are, for its walltime."""
    while True:
        time = next_instant(expected, at, i, c)
        if time >= begin + jobs[head, WALLTIME]:
            return True
        while i < at[RUNNING] and max(expected[i, 0], at[NOW] + 1) == time:
            level += jobs[expected[i, 1], DEMAND]
            i += 1
        while c < at[CHANGES] and at[COUNTERS + 2 * c] == time:
            level += at[COUNTERS + 2 * c + 1]
            c += 1
        if level < jobs[head, DEMAND]:
            return False


@no_refcount
def _level_at(jobs: IntArray, expected: IntArray, at: IntArray, time: int, level: int) -> int:
    """How many nodes will be free at an instant, if ``level`` are now and nothing starts."""
    for i in range(at[RUNNING]):
        if max(expected[i, 0], at[NOW] + 1) <= time:
            level += jobs[expected[i, 1], DEMAND]
    for c in range(at[CHANGES]):
        if at[COUNTERS + 2 * c] <= time:
            level += at[COUNTERS + 2 * c + 1]
    return level


@no_refcount
def enter_known(s: State, profile: Profile, row: IntArray) -> None:
    """Make a free profile of what is free now, of running jobs and of the known changes of what is in service.

    Of the state's amounts, those that the profile has. A job past its walltime ends the next second. ``row``
    ``(1, DEMAND + A)`` is scratch: a job that asks for nothing, before and after.
    """
    now = s.at[NOW]
    clear(profile, now, s.free)
    for i in range(s.at[RUNNING]):
        add(profile, s.jobs, s.expected[i, 1], max(s.expected[i, 0], now + 1), NEVER, FREED)
    for c in range(s.at[CHANGES]):
        row[0, DEMAND] = s.at[COUNTERS + 2 * c + 1]
        add(profile, row, 0, s.at[COUNTERS + 2 * c], NEVER, FREED)
    row[0, DEMAND] = 0


@no_refcount
def stays(jobs: IntArray, at: IntArray, job: int) -> bool:
    """Whether enough idle nodes stay in service for the walltime of a job that would start now."""
    for k in range(at[LIMITS]):
        limit = COUNTERS + 2 * at[CHANGES] + 2 * k
        if at[NOW] + jobs[job, WALLTIME] > at[limit] and jobs[job, DEMAND] > at[limit + 1]:
            return False
    return True


@no_refcount
def use_limits(jobs: IntArray, at: IntArray, job: int) -> None:
    """Take a job that starts now out of what may run beyond the begins of windows."""
    for k in range(at[LIMITS]):
        limit = COUNTERS + 2 * at[CHANGES] + 2 * k
        if at[NOW] + jobs[job, WALLTIME] > at[limit]:
            at[limit + 1] -= jobs[job, DEMAND]
