"""The replay of a priority rule: pass after pass inside one compiled loop."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.decision import Backfilling
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.events import State, advance, launch
from transom.simulation.core.noted_promises import COUNT, ENOUGH, ROW
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.core.queue_order import QueueOrder, reorder
from transom.simulation.core.replay import Progress, Replay
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.passes.conservative_backfill import conservative_pass
from transom.simulation.passes.conservative_plan import Plan, new_plan
from transom.simulation.passes.easy_backfill import Starts, easy_pass, plain_pass

_WORK = 50_000_000  # waiting jobs x steps of the plan between two looks at the progress bar and Ctrl-C


class Tables(NamedTuple):
    """What the loop reads and writes beside the state, for ``n`` jobs and ``R`` further resources.

    ``runtime`` [s] and ``ids`` ``(n,)``; ``log``: a column per pass; ``picks`` and ``modes`` ``(n,)``: the jobs that a
    pass starts, and how; ``extra`` ``(1 + R,)``: what EASY leaves beside the reservation.
    """

    runtime: IntArray
    ids: IntArray
    log: IntArray
    picks: IntArray
    modes: IntArray
    extra: IntArray


def run_rule(
    replay: Replay,
    backfilling: Backfilling,
    report: Progress,
    promises: PromiseLog | None = None,
    depth: int | None = None,
) -> dict[str, NDArray[Any]]:
    """Replay a rule to the end of the trace.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    backfilling : how jobs start ahead of one that does not fit.
    report : called now and then with the number of started jobs.
    promises : takes down the reservations of conservative backfilling.
    depth : how many jobs may hold one, by default all.

    Returns
    -------
    The decisions, by column of :data:`~transom.simulation.core.schedule.COLUMNS`.
    """
    state, order, n = replay.state, replay.order, len(replay.jobs)
    easy, extra = backfilling == "easy", np.empty(len(replay.state.free), np.int64)
    service = None if replay.service is None else True
    plan = new_plan(state, promises is not None, depth) if backfilling == "conservative" else None
    t = Tables(replay.runtime, replay.ids, new_log(), np.empty(n, np.int64), np.empty(n, np.int64), extra)

    def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        if plan is None:
            return run_plain_or_easy(state, easy, service, order, t, row, until, arrived)
        row, more = run_conservative(state, plan, order, t, row, until, arrived)
        if promises is not None and plan.noted.at[COUNT] >= ENOUGH:
            promises.take(plan.noted, replay.ids)
        return row, more

    leaps = replay.rule.timeless or order is not None  # else Python alone knows the order: only passes are compiled
    decisions = drive(replay, step, dict(zip(COLUMNS, t.log, strict=True)), report, leaps)
    if promises is not None and plan is not None:
        promises.take(plan.noted, replay.ids)
    return decisions


# The state is taken apart once, outside the loop: every array that is taken out of the bundle inside
# it counts references, which costs as much as the pass itself.


@compiled
def run_plain_or_easy(
    s: State,
    easy: bool,
    service: bool | None,
    order: QueueOrder | None,
    t: Tables,
    row: int,
    until: int,
    arrived: bool,
) -> tuple[int, bool]:
    """Pass after pass until ``row`` reaches ``until`` or :func:`advance` ends; (row, whether there is more).

    ``order``, if it is not None, orders the queue before each pass. ``arrived`` says that the events of the first pass
    have been taken in, and its queue is in order. ``service`` is None where no node goes out of service.
    """
    jobs, queue, ends, expected, ended, free, children, at = s
    runtime, ids, log, picks, modes, extra = t
    starts = Starts(picks, modes)
    while row < until:
        if not arrived:
            if not advance(jobs, queue, ends, expected, ended, free, children, at):
                return row, False
            # Without a reservation the order of jobs that cannot start does not matter, but when they are due does.
            if order is not None and (easy or free[0] >= at[events.SMALLEST] or len(order.due.due) > 0):
                reorder(order, jobs, queue, expected, ended, free, at)
        arrived = False
        before(log, row, at, free)
        count, backfilled, head, begin = 0, 0, -1, -1
        if easy:
            count, backfilled, head, begin = easy_pass(jobs, queue, expected, free, at, starts, extra, service)
        else:
            count = plain_pass(jobs, queue, expected, free, at, picks, modes)
        launch(jobs, queue, ends, at, runtime, picks, modes, count)
        after(log, row, count, backfilled, head, begin, ids)
        row += 1
    return row, True


@compiled
def run_conservative(
    s: State, p: Plan, order: QueueOrder | None, t: Tables, row: int, until: int, arrived: bool
) -> tuple[int, bool]:
    """The same with conservative backfilling; it also returns when much work was done or much was noted.

    A pass may look at every step of the plan for every waiting job.
    """
    work = 0
    while row < until and work < _WORK and p.noted.at[COUNT] < ENOUGH:
        if not arrived:
            if not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, s.at):
                return row, False
            if order is not None:
                reorder(order, s.jobs, s.queue, s.expected, s.ended, s.free, s.at)
        arrived = False
        before(t.log, row, s.at, s.free)
        count, backfilled, head, begin = conservative_pass(s, p, t.picks, t.modes)
        p.noted.at[ROW] += 1
        launch(s.jobs, s.queue, s.ends, s.at, t.runtime, t.picks, t.modes, count)
        after(t.log, row, count, backfilled, head, begin, t.ids)
        work += s.at[events.QUEUED]
        row += 1
    return row, True


@compiled
def before(log: IntArray, row: int, at: IntArray, free: IntArray) -> None:
    """Write what a pass finds to column ``row`` of the log."""
    log[0, row] = at[events.NOW]
    log[1, row] = at[events.QUEUED]
    log[2, row] = free[0]


@compiled
def after(log: IntArray, row: int, count: int, backfilled: int, head: int, begin: int, ids: IntArray) -> None:
    """Write what a pass did to column ``row`` of the log."""
    log[3, row] = count
    log[4, row] = backfilled
    log[5, row] = ids[head] if head >= 0 else -1
    log[6, row] = begin
