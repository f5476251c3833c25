"""The compiled passes over a single window, for policies that decide outside a rule's own replay."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transom.models import Window
from transom.models._arrays import IntArray
from transom.simulation import events
from transom.simulation.conservative_backfill import Plan, conservative_pass, new_plan
from transom.simulation.decision import Backfilling, Decision, Reservation
from transom.simulation.easy_backfill import easy_pass, plain_pass
from transom.simulation.events import State
from transom.simulation.free_profile import add
from transom.simulation.schedule import BACKFILLED


def window_state(window: Window, queue: Sequence[int] | IntArray) -> State:
    """The state of a replay that stands at ``window``; ``queue`` holds queue positions, in order.

    Queued jobs are numbered by their position in ``window.queue``, running ones after them.
    """
    waiting, running = len(window.queue), len(window.running)
    jobs = np.zeros((waiting + running, events.DEMAND + len(window.available)), np.int64)
    for table, rows in ((window.queue, jobs[:waiting]), (window.running, jobs[waiting:])):
        rows[:, events.WALLTIME] = table.walltime
        rows[:, events.DEMAND] = table.nodes
        if len(table) and len(window.available) > 1:
            rows[:, events.DEMAND + 1 :] = table.demand
    expected = np.zeros((waiting + running, 2), np.int64)
    expected[:running, 0] = window.running_end
    expected[:running, 1] = np.arange(waiting, waiting + running)
    none = np.empty(0, np.int64)
    state = State(
        jobs=jobs,
        queue=np.array(queue, np.int64),
        ends=np.empty((0, 2), np.int64),
        expected=expected,
        ended=none,
        free=window.available.copy(),
        children=none,
        at=np.zeros(events.COUNTERS, np.int64),
    )
    state.at[events.NOW], state.at[events.QUEUED], state.at[events.RUNNING] = window.now, len(queue), running
    return state


def pass_over(window: Window, backfilling: Backfilling, state: State | None = None) -> Decision:
    """One pass in queue order over a window, or over a state made of it with another queue."""
    s = window_state(window, np.arange(len(window.queue))) if state is None else state
    waiting = int(s.at[events.QUEUED])
    picks, modes = np.empty(waiting, np.int64), np.empty(waiting, np.int64)
    head, begin = -1, -1
    if backfilling == "none":
        count = plain_pass(s.jobs, s.queue, s.expected, s.free, s.at, picks, modes)
    elif backfilling == "easy":
        count, _, head, begin = easy_pass(
            s.jobs, s.queue, s.expected, s.free, s.at, picks, modes, np.empty(len(s.free), np.int64)
        )
    else:
        count, _, head, begin = conservative_pass(s, _plan_of(s), picks, modes)
    ids = window.queue.id[s.queue[picks[:count]]]
    ahead = modes[:count] == BACKFILLED
    return Decision(
        start=tuple(ids[~ahead].tolist()),
        backfill=tuple(ids[ahead].tolist()),
        reserve=(Reservation(int(window.queue.id[head]), int(begin)),) if head >= 0 else (),
    )


def _plan_of(s: State) -> Plan:
    plan = new_plan(s)
    for end, job in s.expected[: s.at[events.RUNNING]]:
        add(plan.times, plan.levels, plan.size, end, events.NEVER, s.jobs[job, events.DEMAND :], 1)
    return plan
