"""A pass of the window policy around its knapsack, compiled: the jobs that are offered, and what becomes of a choice.

Between the two stands whoever chooses: a solver, window by window, or the compiled loop of a replay.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import no_refcount
from transom._system.records import record
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.events import DEMAND, HELD, NEVER, NOW, PASSED, QUEUED, WALLTIME, State, occupy
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.easy_backfill import Starts, easy_pass, fits, shadow_time


class Standing:
    """Where a pass stands: the job that holds the reservation from pass to pass, jobs on offer, what these may have.

    Places in the queue: ``ready`` of the held job that starts at once, ``reserved`` of one that keeps waiting; -1 for
    none, and no job.
    """

    held: int
    items: int
    room: int
    ready: int
    reserved: int


class Scratch(NamedTuple):
    """Arrays of passes over ``n`` jobs, ``(n,)`` each: starts of a pass and how they start, the queue without them,
    places of the jobs on offer, and starts by EASY; what is left beside a reservation, ``(1 + R,)``.
    """

    picks: IntArray
    modes: IntArray
    rest: IntArray
    where: IntArray
    found: IntArray
    how: IntArray
    extra: IntArray
    at: Standing


def new_scratch(s: State) -> Scratch:
    """Nobody holds a reservation."""
    picks, modes, rest, where, found, how = (np.empty(len(s.jobs), np.int64) for _ in range(6))
    scratch = Scratch(picks, modes, rest, where, found, how, np.empty(len(s.free), np.int64), record(Standing))
    scratch.at.held = -1
    return scratch


@no_refcount
def offer(s: State, length: int, w: Scratch) -> None:
    """List in ``where`` the first ``length`` jobs of the queue but the one that holds the reservation."""
    at, queue = w.at, s.queue
    at.ready, at.reserved, at.room = -1, -1, s.free[0]
    if at.held >= 0:
        for i in range(s.at[QUEUED]):
            if queue[i] == at.held:
                at.reserved = i
                break
    if at.reserved >= 0 and fits(s.jobs, at.held, s.free):
        at.ready, at.reserved = at.reserved, -1
        at.room -= s.jobs[at.held, DEMAND]
    at.items = 0
    for i in range(min(length, s.at[QUEUED])):
        if i != at.ready and i != at.reserved:
            w.where[at.items] = i
            at.items += 1


@no_refcount
def carry_out(s: State, easy: bool, w: Scratch, chosen: BoolArray) -> tuple[int, int, int, int]:
    """Place the job that is ready and the chosen ones in queue order; then, with ``easy``, backfill.

    Jobs that do not fit or would delay the reserved one are cut. ``picks`` and ``modes`` are filled, and the held job
    is the one that :func:`offer` passes over next.

    Returns
    -------
    (number of starts, how many of them ahead of a job that holds a reservation, how many were cut, when the held job
    starts [s] or -1)
    """
    jobs, queue, expected, free, at, now = s.jobs, s.queue, s.expected, s.free, s.at, s.at[NOW]
    ready, reserved, extra = w.at.ready, w.at.reserved, w.extra
    count, ahead, cut, shadow = 0, 0, 0, NEVER
    if ready >= 0:
        occupy(jobs, expected, free, at, queue[ready])
        w.picks[0], w.modes[0], count = ready, RESERVED if jobs[queue[ready], HELD] else READY, 1
    elif reserved >= 0:
        shadow = shadow_time(jobs, expected, free, at, queue[reserved], extra, True)
    for i in range(w.at.items):
        if not chosen[i]:
            continue
        job = queue[w.where[i]]
        fitting = fits(jobs, job, free)  # a further resource may run out, which the knapsack does not know
        if fitting and reserved >= 0 and now + jobs[job, WALLTIME] > shadow:
            fitting = fits(jobs, job, extra)
            if fitting:
                for r in range(len(extra)):
                    extra[r] -= jobs[job, DEMAND + r]
        if not fitting:
            cut += 1
            continue
        occupy(jobs, expected, free, at, job)
        w.picks[count] = w.where[i]
        w.modes[count] = BACKFILLED if reserved >= 0 else RESERVED if jobs[job, HELD] else READY
        ahead += reserved >= 0
        count += 1
    w.at.held, begin = -1, -1
    if easy:
        count, behind, w.at.held, begin = _backfill(s, w, count, reserved)
        ahead += behind
    return count, ahead, cut, begin


@no_refcount
def _backfill(s: State, w: Scratch, count: int, reserved: int) -> tuple[int, int, int, int]:
    """EASY over the jobs that are not among the ``count`` picked ones, the reserved one first.

    Returns the number of picks, how many were backfilled, and who holds the reservation from when on.
    """
    at, where, rest = s.at, w.where, w.rest
    waiting, left = at[QUEUED], 0
    for i in range(waiting):
        where[i] = i
    for k in range(count):
        where[w.picks[k]] = -1
    if reserved >= 0:
        where[reserved] = -1
        rest[0], left = reserved, 1
    for i in range(waiting):
        if where[i] >= 0:
            rest[left] = i
            left += 1
    for i in range(left):
        where[i] = rest[i]
        rest[i] = s.queue[where[i]]
    at[QUEUED], at[PASSED] = left, 0
    more, behind, head, begin = easy_pass(s.jobs, rest, s.expected, s.free, at, Starts(w.found, w.how), w.extra, True)
    at[QUEUED], at[PASSED] = waiting, 0
    for k in range(more):
        w.picks[count + k], w.modes[count + k] = where[w.found[k]], w.how[k]
    return count + more, behind, head, begin
