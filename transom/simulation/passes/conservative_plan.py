"""The reservations of conservative backfilling, compiled: making, moving and withdrawing them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    DEMAND,
    HELD,
    LIMITS,
    NEVER,
    NOW,
    QUEUED,
    REPLAN,
    RUNNING,
    WAKE,
    WALLTIME,
    State,
)
from transom.simulation.core.noted_promises import Noted, new_noted
from transom.simulation.passes.availability import FREED, TAKEN, Profile, add, clear, earliest, new_profile
from transom.simulation.passes.freed_room import (
    Freed,
    close_all,
    earlier,
    enter_freed,
    may_move,
    new_freed,
)
from transom.simulation.passes.service_plan import enter_changes, next_release, stays

DEPTH, OVERDUE = range(2)


class Plan(NamedTuple):
    """The reservations of ``n`` jobs.

    ``begin`` ``(n,)``: of each [s], -1 for none; ``profile``: what is free beside running jobs and reservations;
    ``freed``: what of it became free; ``at``: how many waiting jobs may hold a reservation, and whether the last
    plan was made behind a job past its walltime: it only guesses when that ends, so it is made afresh. ``noted`` is for
    whoever records the reservations, ``asked`` a row like that of a job that asks for nothing.
    """

    begin: IntArray
    profile: Profile
    freed: Freed
    at: IntArray
    noted: Noted
    asked: IntArray


def new_plan(state: State, recorded: bool = False, depth: int | None = None) -> Plan:
    """The plan before the first event: everything is free.

    Parameters
    ----------
    state : of the replay.
    recorded : whether somebody records the reservations.
    depth : how many waiting jobs hold reservations, by default all.
    """
    jobs = len(state.jobs)
    return Plan(
        begin=np.full(jobs, -1, np.int64),
        profile=new_profile(state.free, 2 * jobs + 4 + len(state.at)),
        freed=new_freed(state.jobs),
        at=np.array([jobs if depth is None else depth, 0]),
        noted=new_noted(jobs if recorded else 0),
        asked=np.zeros((1, DEMAND + len(state.free)), np.int64),
    )


@no_refcount
def reserve(s: State, p: Plan, job: int) -> None:
    """Reserve for a job from the first instant on at which it fits."""
    now = s.at[NOW]
    begin = earliest(p.profile, s.jobs, job, now, NEVER, NEVER)
    if begin == now and s.at[LIMITS] > 0 and not stays(s.jobs, s.at, job):
        begin = earliest(p.profile, s.jobs, job, next_release(s.expected, s.at), NEVER, NEVER)
    hold(s, p, job, begin)


@no_refcount
def hold(s: State, p: Plan, job: int, begin: int) -> None:
    """Reserve for a job from ``begin`` on."""
    p.begin[job] = begin
    if begin < NEVER:  # where nodes are out of service, some jobs fit never
        add(p.profile, s.jobs, job, begin, begin + s.jobs[job, WALLTIME], TAKEN)
    if begin > s.at[NOW]:
        s.jobs[job, HELD] = 1


@no_refcount
def withdraw(s: State, p: Plan, job: int) -> None:
    """Take back the reservation of a job that goes on waiting."""
    begin = p.begin[job]
    p.begin[job] = -1
    if begin < NEVER:
        free(s, p, job, begin, begin + s.jobs[job, WALLTIME])


@no_refcount
def free(s: State, p: Plan, job: int, begin: int, end: int) -> None:
    """What a job asks for is free in ``[begin, end)``."""
    if begin < end:
        add(p.profile, s.jobs, job, begin, end, FREED)
        enter_freed(p.freed, p.profile, begin, end)


@no_refcount
def settle(s: State, p: Plan) -> None:
    """Move reservations forward into what has become free, in the order of the queue, until none can move."""
    i = settled = 0
    while settled < s.at[QUEUED]:
        job = s.queue[i]
        i = i + 1 if i + 1 < s.at[QUEUED] else 0
        settled += 1
        old = new = p.begin[job]
        if old > s.at[NOW] and may_move(p.freed, job, old):
            new = earlier(p.freed, p.profile, s.jobs, job, old)
        if new < old:
            settled = 0
            # Where it slides, what it held and holds again stays as it is.
            p.begin[job] = new
            add(p.profile, s.jobs, job, new, min(old, new + s.jobs[job, WALLTIME]), TAKEN)
            if old < NEVER:
                free(s, p, job, max(old, new + s.jobs[job, WALLTIME]), old + s.jobs[job, WALLTIME])
    close_all(p.freed)


@no_refcount
def plan_afresh(s: State, p: Plan) -> None:
    """Take all reservations back: what is free follows from running jobs and from known outages alone."""
    _clear_to_running(s, p)
    for i in range(s.at[QUEUED]):
        p.begin[s.queue[i]] = -1
    if s.at[CHANGES] > 0:
        enter_changes(p.profile, s.at, p.asked)


@no_refcount
def _clear_to_running(s: State, p: Plan) -> None:
    now = s.at[NOW]
    clear(p.profile, now, s.free)
    for i in range(s.at[RUNNING]):
        add(p.profile, s.jobs, s.expected[i, 1], max(s.expected[i, 0], now + 1), NEVER, FREED)


@compiled
def restore_plan(s: State, p: Plan, begin: IntArray) -> None:
    """Take over the reservations of an earlier pass into a new plan.

    Parameters
    ----------
    s : a state between two passes; it is woken at the first of these reservations.
    p : a new plan.
    begin : when each job is to start, -1 where none is reserved for it, shape ``(jobs,)``.
    """
    _clear_to_running(s, p)
    wake = NEVER
    for i in range(s.at[QUEUED]):
        job = s.queue[i]
        if begin[job] >= 0:
            hold(s, p, job, begin[job])
            wake = min(wake, begin[job])
    s.at[WAKE] = min(s.at[WAKE], wake)
    s.at[REPLAN] = s.at[RUNNING] > 0 and s.expected[0, 0] < s.at[NOW]  # behind a job past its walltime
