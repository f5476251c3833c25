"""The replay of a priority rule: pass after pass inside one compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.simulation import events
from transom.simulation.conservative_backfill import conservative_pass, new_plan
from transom.simulation.easy_backfill import easy_pass, plain_pass
from transom.simulation.events import advance, launch
from transom.simulation.noted_promises import COUNT, ENOUGH, ROW
from transom.simulation.policies import RulePolicy
from transom.simulation.schedule import COLUMNS

if TYPE_CHECKING:
    from transom.simulation.engine import Progress, Replay
    from transom.simulation.promise_log import PromiseLog

_CHUNK = 8192  # decisions between two looks at the progress bar and Ctrl-C
_WORK = 50_000_000  # the same in waiting jobs x steps of the plan


def run_rule(
    replay: Replay, policy: RulePolicy, report: Progress, promises: PromiseLog | None = None
) -> dict[str, NDArray[Any]]:
    """Replay a rule to the end of the trace.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    policy : the rule and how it backfills.
    report : called now and then with the number of started jobs.
    promises : takes down the reservations of conservative backfilling.

    Returns
    -------
    The decisions, by column of :data:`~transom.simulation.schedule.COLUMNS`.
    """
    state, runtime, ids = replay.state, replay.runtime, replay.ids
    picks, modes = np.empty(len(state.jobs), np.int64), np.empty(len(state.jobs), np.int64)
    extra, easy = np.empty(len(state.free), np.int64), policy.backfilling == "easy"
    plan = new_plan(state, promises is not None) if policy.backfilling == "conservative" else None

    def run(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        if plan is not None:
            if promises is not None and plan.noted.at[COUNT] >= ENOUGH:
                promises.take(plan.noted, ids)
            return run_conservative(state, plan, runtime, ids, log, row, until, arrived, picks, modes)  # type: ignore[no-any-return]
        return run_plain_or_easy(state, easy, runtime, ids, log, row, until, arrived, picks, modes, extra)  # type: ignore[no-any-return]

    log = np.empty((len(COLUMNS), 2 * len(state.jobs) + _CHUNK), np.int64)
    rows, more = 0, True
    while more:
        if log.shape[1] - rows < _CHUNK:
            log = np.concatenate((log, np.empty_like(log)), axis=1)
        until = rows + _CHUNK
        if replay.rule.timeless:
            rows, more = run(rows, until, False)
        else:
            # The order changes as time goes by: every pass needs a new one, so only passes are compiled.
            while rows < until and (more := replay.advance()):
                rows, _ = run(rows, rows + 1, True)
        report(int(state.at[events.STARTED]))
    if promises is not None and plan is not None:
        promises.take(plan.noted, ids)
    return dict(zip(COLUMNS, log[:, :rows], strict=True))


# The state is taken apart once, outside the loop: every array that is taken out of the bundle inside
# it counts references, which costs as much as the pass itself.


@compiled
def run_plain_or_easy(s, easy, runtime, ids, log, row, until, arrived, picks, modes, extra):  # type: ignore[no-untyped-def]
    """Pass after pass until ``row`` reaches ``until`` or the trace ends; (row, whether there is more).

    ``arrived`` says that the events of the first pass have been taken in.
    """
    jobs, queue, ends, expected, ended, free, children, at = s
    while row < until:
        if not arrived and not advance(jobs, queue, ends, expected, ended, free, children, at):
            return row, False
        arrived = False
        before(log, row, at, free)
        count, backfilled, head, begin = 0, 0, -1, -1
        if easy:
            count, backfilled, head, begin = easy_pass(jobs, queue, expected, free, at, picks, modes, extra)
        else:
            count = plain_pass(jobs, queue, expected, free, at, picks, modes)
        launch(jobs, queue, ends, at, runtime, picks, modes, count)
        after(log, row, count, backfilled, head, begin, ids)
        row += 1
    return row, True


@compiled
def run_conservative(s, p, runtime, ids, log, row, until, arrived, picks, modes):  # type: ignore[no-untyped-def]
    """The same with conservative backfilling; it also returns when much work was done or much was noted.

    A pass may look at every step of the plan for every waiting job.
    """
    work, reordered = 0, arrived
    while row < until and work < _WORK and p.noted.at[COUNT] < ENOUGH:
        if not arrived and not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, s.at):
            return row, False
        arrived = False
        before(log, row, s.at, s.free)
        p.noted.at[ROW] = row
        count, backfilled, head, begin = conservative_pass(s, p, picks, modes, reordered)
        launch(s.jobs, s.queue, s.ends, s.at, runtime, picks, modes, count)
        after(log, row, count, backfilled, head, begin, ids)
        work += s.at[events.QUEUED]
        row += 1
    return row, True


@compiled
def before(log, row, at, free):  # type: ignore[no-untyped-def]
    """Write what a pass finds to column ``row`` of the log."""
    log[0, row] = at[events.NOW]
    log[1, row] = at[events.QUEUED]
    log[2, row] = free[0]


@compiled
def after(log, row, count, backfilled, head, begin, ids):  # type: ignore[no-untyped-def]
    """Write what a pass did to column ``row`` of the log."""
    log[3, row] = count
    log[4, row] = backfilled
    log[5, row] = ids[head] if head >= 0 else -1
    log[6, row] = begin
