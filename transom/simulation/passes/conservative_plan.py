"""The reservations of conservative backfilling: making one, giving it up, and which begins first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    HELD,
    NEVER,
    NOW,
    QUEUED,
    RANK,
    REPLAN,
    RUNNING,
    WAKE,
    WALLTIME,
    State,
)
from transom.simulation.core.noted_promises import Noted, new_noted, note
from transom.simulation.passes.availability import FREED, TAKEN, Profile, add, clear, earliest, new_profile
from transom.simulation.passes.freed_time import (
    GROUP,
    Freed,
    bit_of,
    link,
    new_freed,
    plan,
    seat,
    unplan,
    unseat,
)
from transom.simulation.passes.service_plan import next_release, stays
from transom.simulation.passes.slides import Slides, new_slides
from transom.simulation.passes.stretches import first_stretch


class Plan(NamedTuple):
    """The reservations: ``begin`` per job (-1 for none), shape ``(jobs,)``, and the free profile.

    ``heap`` holds the jobs with a reservation, the earliest on top, ``where`` the place of each in it. ``at``: how
    many those are; whether the last plan was made behind a job past its walltime: it only guesses when that
    ends, so it is made afresh. ``noted`` is for whoever records the reservations.
    """

    begin: IntArray
    profile: Profile
    slides: Slides
    freed: Freed
    heap: IntArray
    where: IntArray
    at: IntArray
    noted: Noted


HELD_BY, OVERDUE = range(2)


def new_plan(state: State, recorded: bool = False) -> Plan:
    """The plan before the first event: everything is free; ``recorded`` if its reservations are."""
    jobs = len(state.jobs)
    return Plan(
        begin=np.full(jobs, -1, np.int64),
        profile=new_profile(state.free, 2 * jobs + 4 + len(state.at)),
        slides=new_slides(len(state.free)),
        freed=new_freed(state),
        heap=np.empty(jobs, np.int64),
        where=np.empty(jobs, np.int64),
        at=np.zeros(2, np.int64),
        noted=new_noted(jobs if recorded else 0),
    )


@no_refcount
def reserve(s: State, p: Plan, job: int, reordered: bool) -> None:
    now, f = s.at[NOW], p.freed
    plan(f, p.profile, s.jobs, job)
    begin = first_stretch(f.stretches, p.profile, s.jobs, job, NEVER)
    if begin == now and not stays(s.jobs, s.at, job):
        begin = earliest(p.profile, s.jobs, job, next_release(s.expected, s.at), NEVER, NEVER)
    _hold(s, p, job, begin, reordered)


@no_refcount
def _hold(s: State, p: Plan, job: int, begin: int, reordered: bool) -> None:
    """Reserve for a job from ``begin`` on."""
    note_begin(s, p, job, begin)
    if begin < NEVER:  # where nodes are out of service, some jobs fit never
        add(p.profile, s.jobs, job, begin, begin + s.jobs[job, WALLTIME], TAKEN)
    if begin > s.at[NOW]:
        s.jobs[job, HELD] = 1
    if not reordered:
        seat(p.freed, s.jobs, job, s.jobs[job, RANK], begin)
    p.where[job] = p.at[HELD_BY]
    p.at[HELD_BY] += 1
    rise(p, job)


@inlined
def note_begin(s: State, p: Plan, job: int, begin: int) -> None:
    """Write down what a job is promised: every promise is made or moved here."""
    p.begin[job] = begin
    note(p.noted, job, begin, s.at[NOW])
    link(p.freed, job, begin)


@no_refcount
def forget(s: State, p: Plan, reordered: bool) -> None:
    """Take all reservations back: what is free follows from the running jobs alone."""
    _clear_to_running(s, p)
    for i in range(s.at[QUEUED]):
        job = s.queue[i]
        if p.begin[job] >= 0:
            leave(s, p, job, reordered)
            p.begin[job] = -1
    p.at[HELD_BY] = 0


@no_refcount
def _clear_to_running(s: State, p: Plan) -> None:
    """Let the profile know of the running jobs alone."""
    now = s.at[NOW]
    clear(p.profile, now, s.free)
    for i in range(s.at[RUNNING]):
        end = max(s.expected[i, 0], now + 1)
        add(p.profile, s.jobs, s.expected[i, 1], end, NEVER, FREED)


@compiled
def restore_plan(s: State, p: Plan, begin: IntArray, reordered: bool) -> None:
    """Take over the reservations of an earlier pass into a new plan.

    Parameters
    ----------
    s : a state between two passes; it is woken at the first of these reservations.
    begin : when each job is to start, -1 where none is reserved for it, shape ``(jobs,)``.
    reordered : whether the order of the queue changes from pass to pass.
    """
    _clear_to_running(s, p)
    for i in range(s.at[QUEUED]):
        job = s.queue[i]
        if begin[job] >= 0:
            plan(p.freed, p.profile, s.jobs, job)
            _hold(s, p, job, begin[job], reordered)
            if not reordered:  # what became free since the job was looked at last is not known
                p.freed.called[s.jobs[job, RANK] // GROUP] |= bit_of(s.jobs[job, RANK])
    if p.at[HELD_BY] > 0:
        s.at[WAKE] = p.begin[p.heap[0]]
    s.at[REPLAN] = s.at[RUNNING] > 0 and s.expected[0, 0] < s.at[NOW]  # behind a job past its walltime


@no_refcount
def leave(s: State, p: Plan, job: int, reordered: bool) -> None:
    """A job waits no more, or not for the begin it has."""
    unplan(p.freed, s.jobs, job, p.begin[job])
    if not reordered:
        unseat(p.freed, p.begin, s.jobs[job, RANK])


@inlined
def rise(p: Plan, job: int) -> None:
    """Move a job up in the heap to where its begin belongs."""
    i, begin = p.where[job], p.begin[job]
    while i > 0:
        above = p.heap[(i - 1) // 2]
        if p.begin[above] <= begin:
            break
        p.heap[i] = above
        p.where[above] = i
        i = (i - 1) // 2
    p.heap[i] = job
    p.where[job] = i


@no_refcount
def take_top(p: Plan) -> None:
    p.at[HELD_BY] -= 1
    size = p.at[HELD_BY]
    job, i = p.heap[size], 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and p.begin[p.heap[child + 1]] < p.begin[p.heap[child]]:
            child += 1
        if p.begin[job] <= p.begin[p.heap[child]]:
            break
        p.heap[i] = p.heap[child]
        p.where[p.heap[i]] = i
        i = child
    p.heap[i] = job
    p.where[job] = i
