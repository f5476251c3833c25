"""The reservations of conservative backfilling, compiled: making, moving and withdrawing them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
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
from transom.simulation.passes.availability import FREED, TAKEN, Profile, add, earliest, new_profile
from transom.simulation.passes.freed_room import Freed, earlier, enter_freed, may_move, new_freed
from transom.simulation.passes.service_plan import enter_known, next_instant, stays

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
def move(s: State, p: Plan, job: int, begin: int) -> None:
    """Reserve for a job from ``begin`` on, earlier than before if at all; -1 takes the reservation back.

    What it held and holds again stays as it is.
    """
    old, length = p.begin[job], s.jobs[job, WALLTIME]
    p.begin[job] = begin
    if begin > s.at[NOW]:
        s.jobs[job, HELD] = 1
    if 0 <= begin < NEVER:  # where nodes are out of service, some jobs fit never
        add(p.profile, s.jobs, job, begin, min(begin + length, old if old >= 0 else NEVER), TAKEN)
    if 0 <= old < NEVER:
        since = old if begin < 0 else max(old, begin + length)
        add(p.profile, s.jobs, job, since, old + length, FREED)
        enter_freed(p.freed, p.profile, since, old + length)


@no_refcount
def next_to_move(s: State, p: Plan, place: int, looked: int) -> tuple[int, int, int]:
    """The next job, in the order of the queue again and again, that moves into what has become free.

    Parameters
    ----------
    place : in the queue, where to begin.
    looked : how many jobs were looked at since one moved.

    Returns
    -------
    Its place, ``looked``, and when it can begin; -1 where none can move any more.
    """
    while looked < s.at[QUEUED]:
        if place >= s.at[QUEUED]:
            place = 0
        job = s.queue[place]
        begin = p.begin[job]
        looked += 1
        if begin > s.at[NOW] and may_move(p.freed, job, begin):
            found = earlier(p.freed, p.profile, s.jobs, job, begin)
            if found < begin:
                return place, looked, found
        place += 1
    return place, looked, -1


@no_refcount
def first_place(s: State, p: Plan, job: int, limit: int) -> int:
    """The first instant before ``limit`` at which a job without a reservation fits; ``limit`` if there is none."""
    begin = earliest(p.profile, s.jobs, job, s.at[NOW], limit, NEVER)
    if begin == s.at[NOW] and s.at[LIMITS] > 0 and not stays(s.jobs, s.at, job):
        begin = earliest(p.profile, s.jobs, job, next_instant(s.expected, s.at, 0, 0), limit, NEVER)
    return begin


@compiled
def restore_plan(s: State, p: Plan, begin: IntArray) -> None:
    """Take over the reservations of an earlier pass into a new plan.

    Parameters
    ----------
    s : a state between two passes; it is woken at the first of these reservations.
    p : a new plan.
    begin : when each job is to start, -1 where none is reserved for it, shape ``(jobs,)``.
    """
    enter_known(s, p.profile, p.asked)
    wake = NEVER
    for i in range(s.at[QUEUED]):
        job = s.queue[i]
        if begin[job] >= 0:
            move(s, p, job, begin[job])
            wake = min(wake, begin[job])
    s.at[WAKE] = min(s.at[WAKE], wake)
    s.at[REPLAN] = s.at[RUNNING] > 0 and s.expected[0, 0] < s.at[NOW]  # behind a job past its walltime
