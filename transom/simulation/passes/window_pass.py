"""The compiled passes over a single window, for policies that decide outside a rule's own replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transom._system.compiling import compiled
from transom.models import Window
from transom.models import job as table
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Backfilling, Decision, Reservation
from transom.simulation.core.events import COUNTERS, DEMAND, NEVER, NOW, QUEUED, RUNNING, SUBMIT, WALLTIME, State
from transom.simulation.core.schedule import BACKFILLED
from transom.simulation.passes.availability import add
from transom.simulation.passes.conservative_backfill import conservative_pass
from transom.simulation.passes.conservative_plan import Plan, new_plan
from transom.simulation.passes.easy_backfill import Starts, easy_pass, plain_pass


def window_state(window: Window, queue: Sequence[int] | IntArray) -> State:
    """The state of a replay that stands at ``window``; ``queue`` holds queue positions, in order.

    Queued jobs are numbered by their position in ``window.queue``, running ones after them.
    """
    order = np.array(queue, np.int64)
    state: State = state_at(
        window.now, window.queue.data, window.running.data, window.running_end, window.available, order
    )
    return state


@compiled
def state_at(
    now: int, queue: IntArray, running: IntArray, running_end: IntArray, available: IntArray, order: IntArray
) -> State:
    """:func:`window_state` of the parts of a window: the data of its tables and its arrays; ``order`` is the queue."""
    waiting, total = len(queue), len(queue) + len(running)
    jobs, expected = np.zeros((total, DEMAND + len(available)), np.int64), np.zeros((total, 2), np.int64)
    for job in range(total):
        row = queue[job] if job < waiting else running[job - waiting]
        jobs[job, SUBMIT], jobs[job, WALLTIME] = row[table.SUBMIT], row[table.WALLTIME]
        jobs[job, DEMAND] = row[table.NODES]
        for r in range(1, len(available)):
            jobs[job, DEMAND + r] = row[table.DEMAND + r - 1]
    for i in range(len(running)):
        expected[i, 0], expected[i, 1] = running_end[i], waiting + i
    at = np.zeros(COUNTERS, np.int64)
    at[NOW], at[QUEUED], at[RUNNING] = now, len(order), len(running)
    none = np.empty(0, np.int64)
    return State(jobs, order, np.empty((0, 2), np.int64), expected, none, available.copy(), none, at)


def pass_over(
    window: Window, backfilling: Backfilling, state: State | None = None, depth: int | None = None
) -> Decision:
    """One pass in queue order over a window, or over a state made of it with another queue.

    ``depth``: how many jobs get reservations under conservative backfilling, by default all.
    """
    s = window_state(window, np.arange(len(window.queue))) if state is None else state
    waiting = int(s.at[QUEUED])
    picks, modes = np.empty(waiting, np.int64), np.empty(waiting, np.int64)
    head, begin = -1, -1
    if backfilling == "none":
        count = plain_pass(s.jobs, s.queue, s.expected, s.free, s.at, picks, modes)
    elif backfilling == "easy":
        count, _, head, begin = easy_pass(
            s.jobs, s.queue, s.expected, s.free, s.at, Starts(picks, modes), np.empty(len(s.free), np.int64), True
        )
    else:
        count, _, head, begin = conservative_pass(s, _plan_of(s, depth), picks, modes)
    return decision_of(window, s.queue[picks[:count]], modes[:count], head, begin)


def planned_starts(window: Window, queue: Sequence[int] | IntArray) -> IntArray:
    """When jobs start [s] if each gets the earliest place that delays none before it: the plan of conservative
    backfilling, by the limits of all jobs.

    Parameters
    ----------
    window : what runs, and what waits.
    queue : positions in the window's queue, in the order that they are planned in.

    Returns
    -------
    The start of each job of the window's queue, shape ``(len(window.queue),)``; -1 for those that are not planned.
    """
    s = window_state(window, queue)
    plan, waiting = _plan_of(s), len(queue)
    picks, modes = np.empty(waiting, np.int64), np.empty(waiting, np.int64)
    count, _, _, _ = conservative_pass(s, plan, picks, modes)
    starts: IntArray = plan.begin[: len(window.queue)].copy()
    starts[s.queue[picks[:count]]] = window.now
    return starts


def decision_of(window: Window, started: IntArray, modes: IntArray, head: int, begin: int) -> Decision:
    """What a compiled pass found: jobs by their positions in ``window.queue``; ``head`` -1: nothing is reserved."""
    ids, ahead = window.queue.id[started], modes == BACKFILLED
    return Decision(
        start=tuple(ids[~ahead].tolist()),
        backfill=tuple(ids[ahead].tolist()),
        reserve=(Reservation(int(window.queue.id[head]), int(begin)),) if head >= 0 else (),
    )


def _plan_of(s: State, depth: int | None = None) -> Plan:
    plan = new_plan(s, depth=depth)
    for end, job in s.expected[: s.at[RUNNING]]:
        add(plan.profile, s.jobs, job, end, NEVER, 1)
    return plan
