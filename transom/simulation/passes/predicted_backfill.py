"""EASY backfilling by predicted runtimes, which are corrected where a job outruns them; compiled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.events import (
    CHANGES,
    DEMAND,
    END,
    HELD,
    NOW,
    QUEUED,
    SMALLEST,
    START,
    WALLTIME,
    State,
    advance,
    launch,
    occupy,
)
from transom.simulation.core.predictions import Predictions, concerned, learn_ended, predict
from transom.simulation.core.queue_order import QueueOrder, reorder
from transom.simulation.core.replay import Progress, Replay
from transom.simulation.core.schedule import BACKFILLED, COLUMNS
from transom.simulation.core.timed_jobs import place_of
from transom.simulation.passes.easy_backfill import fits, plain_pass, shadow_time
from transom.simulation.passes.rule_replay import Tables, after, before

CORRECTIONS = (60, 300, 900, 1800, 3600, 7200, 18_000, 36_000, 72_000, 180_000, 360_000)
"""What is added to a prediction each time that the job outruns it [s]; the last one again and again.

The steps are those of the simulator pyss, which adds each of them to the first prediction, not to the one before.
"""

_NEW = -1  # in Foreseen.corrected: not predicted yet


class Foreseen(NamedTuple):
    """Predictions as backfilling uses them, for ``n`` jobs.

    ``reserve``: whether reservations go by them, too. ``corrected`` ``(n,)``: how often that of a running job has been
    corrected. ``due`` ``(n, 2)``: (predicted end, job) of the running jobs, ascending, ``listed`` ``(1,)`` of them;
    ``fitting`` ``(n,)``: places in the queue of jobs that fit, the shortest first. ``steps``: :data:`CORRECTIONS`.
    """

    predictions: Predictions
    reserve: bool
    corrected: IntArray
    due: IntArray
    listed: IntArray
    fitting: IntArray
    steps: IntArray


def run_predicted(replay: Replay, predictions: Predictions, reserve: bool, report: Progress) -> dict[str, NDArray[Any]]:
    """Replay a rule with backfilling by predictions to the end of the trace.

    Parameters
    ----------
    replay : before its first event; its state is changed.
    predictions : before any job has ended.
    reserve : whether reservations go by them, otherwise by walltimes.
    report : called now and then with the number of started jobs.

    Returns
    -------
    The decisions, by column of :data:`~transom.simulation.core.schedule.COLUMNS`. They promise no start.
    """
    state, order, n = replay.state, replay.order, len(replay.jobs)
    service = None if replay.service is None else True
    empty, extra = np.empty(n, np.int64), np.empty(len(state.free), np.int64)
    t = Tables(replay.runtime, replay.ids, new_log(), empty, empty.copy(), extra)
    corrected, due = np.full(n, _NEW), np.empty((n, 2), np.int64)
    b = Foreseen(
        predictions, reserve, corrected, due, np.zeros(1, np.int64), empty.copy(), np.array(CORRECTIONS, np.int64)
    )

    def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        return run_foreseen(state, b, service, order, t, row, until, arrived)

    leaps = not replay.stepwise and (replay.rule.timeless or order is not None)
    return drive(replay, step, dict(zip(COLUMNS, t.log, strict=True)), report, leaps)


@compiled
def run_foreseen(
    s: State,
    b: Foreseen,
    service: bool | None,
    order: QueueOrder | None,
    t: Tables,
    row: int,
    until: int,
    arrived: bool,
) -> tuple[int, bool]:
    """Pass after pass; arguments and result as of :func:`~transom.simulation.passes.rule_replay.run_plain_or_easy`."""
    jobs, queue, ends, expected, ended, free, children, at = s
    runtime, ids, log, picks, modes, extra = t
    while row < until:
        if not arrived:
            if not advance(jobs, queue, ends, expected, ended, free, children, at):
                return row, False
            if order is not None:
                reorder(order, jobs, queue, expected, ended, free, at)
        arrived = False
        before(log, row, at, free)
        # What nobody needs now is made up for later, but jobs that wait again after an outage are looked at at once.
        if service is not None or free[0] >= at[SMALLEST]:
            _predict_waiting(b, jobs, queue, ended, at)
            if b.reserve:
                _correct(b, jobs, at)
        count = plain_pass(jobs, queue, expected, free, at, picks, modes)
        ready, head = count, -1
        if ready < at[QUEUED]:
            head = queue[ready]
            jobs[head, HELD] = 1
        found = _sort_fitting(b, jobs, queue, free, at, ready + 1)
        if b.reserve:
            for k in range(ready):
                _insert(b, at[NOW] + b.predictions.seconds[queue[picks[k]]], queue[picks[k]])
        if found > 0:
            if b.reserve and at[CHANGES] == 0:
                shadow = shadow_time(jobs, b.due, free, at, head, extra, None)
            else:
                shadow = shadow_time(jobs, expected, free, at, head, extra, service)
            count = _backfill(b, s, t, ready, found, shadow)
            if b.reserve:
                for k in range(ready, count):
                    _insert(b, at[NOW] + b.predictions.seconds[queue[picks[k]]], queue[picks[k]])
        launch(jobs, queue, ends, at, runtime, picks, modes, count)
        after(log, row, count, count - ready, head, -1, ids)
        row += 1
    return row, True


@no_refcount
def _predict_waiting(b: Foreseen, jobs: IntArray, queue: IntArray, ended: IntArray, at: IntArray) -> None:
    learnt = learn_ended(b.predictions, jobs, ended, at)
    for i in range(at[QUEUED]):
        job = queue[i]
        # A job that waits again after an outage is predicted as if it had never run.
        if b.corrected[job] != 0 or (learnt > 0 and concerned(b.predictions, job, ended, at, learnt)):
            predict(b.predictions, jobs, job)
            b.corrected[job] = 0


@no_refcount
def _correct(b: Foreseen, jobs: IntArray, at: IntArray) -> None:
    """Forget the jobs that run no more, and predict later ends for those that have outrun theirs."""
    now, seconds, kept = at[NOW], b.predictions.seconds, 0
    for i in range(b.listed[0]):
        end, job = b.due[i, 0], b.due[i, 1]
        if jobs[job, START] >= 0 and jobs[job, END] < 0:
            b.due[kept, 0], b.due[kept, 1] = end, job
            kept += 1
    b.listed[0], i = kept, 0
    while i < kept and b.due[i, 0] <= now:
        end, job = b.due[i, 0], b.due[i, 1]
        start, walltime = end - seconds[job], jobs[job, WALLTIME]
        if seconds[job] == walltime:
            i += 1
            continue
        while start + seconds[job] <= now and seconds[job] < walltime:
            step = b.steps[min(b.corrected[job], len(b.steps) - 1)]
            seconds[job] = min(seconds[job] + step, walltime)
            b.corrected[job] += 1
        for k in range(i, kept - 1):
            b.due[k, 0], b.due[k, 1] = b.due[k + 1, 0], b.due[k + 1, 1]
        b.listed[0] = kept - 1
        place = _insert(b, start + seconds[job], job)
        if place == i:
            i += 1


@no_refcount
def _insert(b: Foreseen, end: int, job: int) -> int:
    """List a running job by its predicted end; its place."""
    count = b.listed[0]
    place = place_of(b.due, count, end, job)
    for k in range(count, place, -1):
        b.due[k, 0], b.due[k, 1] = b.due[k - 1, 0], b.due[k - 1, 1]
    b.due[place, 0], b.due[place, 1] = end, job
    b.listed[0] = count + 1
    return place


@no_refcount
def _sort_fitting(b: Foreseen, jobs: IntArray, queue: IntArray, free: IntArray, at: IntArray, first: int) -> int:
    """List the jobs from a place in the queue on that fit now, the shortest predicted first; how many there are."""
    found, seconds = 0, b.predictions.seconds
    if free[0] < at[SMALLEST]:
        return 0
    for i in range(first, at[QUEUED]):
        if not fits(jobs, queue[i], free):
            continue
        low, high = 0, found
        while low < high:
            middle = (low + high) // 2
            if seconds[queue[b.fitting[middle]]] <= seconds[queue[i]]:
                low = middle + 1
            else:
                high = middle
        for k in range(found, low, -1):
            b.fitting[k] = b.fitting[k - 1]
        b.fitting[low] = i
        found += 1
    return found


@no_refcount
def _backfill(b: Foreseen, s: State, t: Tables, ready: int, found: int, shadow: int) -> int:
    """Start jobs behind the head if they fit and do not delay it; how many start now, ``ready`` ones included."""
    jobs, queue, free, at, seconds, extra = s.jobs, s.queue, s.free, s.at, b.predictions.seconds, t.extra
    count = ready
    for k in range(found):
        job = queue[b.fitting[k]]
        if not fits(jobs, job, free):
            continue
        if at[NOW] + seconds[job] > shadow:
            if not fits(jobs, job, extra):
                continue
            for r in range(len(extra)):
                extra[r] -= jobs[job, DEMAND + r]
        occupy(jobs, s.expected, free, at, job)
        t.picks[count] = b.fitting[k]
        t.modes[count] = BACKFILLED
        count += 1
    return count
