"""The process of the locked environment, compiled: pick a job, and go on until it has started and another waits.

- A picked job is *locked*: nobody else is picked until it starts.
- While the locked job does not fit, events are taken one at a time: the next arrival or the next end by real runtimes;
  an arrival wins a tie.
- With backfilling, each of these steps first starts, in the order of submission, waiting jobs that fit and would end
  strictly before the locked job's shadow time by their walltimes. The shadow time is found once, when the job is
  locked; there are no extra nodes beside it.
- While somebody waits, the next job is picked at the same instant; when nobody waits, ends are taken until one job
  has arrived, even where others arrive at the same instant.

Lists are sorted in place by a stable sort, so that ties keep the order of an earlier sort.

References
----------
Zhang et al., RLScheduler, SC'20.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED

_CHUNK = 20_000_000  # list places looked at between two looks at the progress bar and Ctrl-C

SUBMIT, WALLTIME, RUNTIME, NODES, START, MODE, ORDER = range(7)
"""Columns of :attr:`LockedState.jobs`: submission [s], walltime [s], runtime [s], nodes, start [s] (-1 before), how and
as which the job started."""

NOW, NEXT, QUEUED, RUNNING, STARTED, FREE, ROWS, LOCKED, SHADOW, WORK, TOTAL = range(11)
"""Places in :attr:`LockedState.at`: now, next arrival, lengths of queue and of running, jobs started, idle nodes, rows
of the log, the locked job (-1 for none), its shadow time, work done, nodes of the machine."""


class LockedState(NamedTuple):
    """A replay in arrays, ``n`` jobs in the order of arrival; int64.

    ``jobs`` ``(n, 7)``; ``queue`` and ``running`` ``(n,)``: jobs in the order that the last sort left; ``at``
    ``(11,)``: counters; ``log`` ``(7, 3 n)``: a column per step.
    """

    jobs: IntArray
    queue: IntArray
    running: IntArray
    at: IntArray
    log: IntArray


@compiled
def begin(jobs: IntArray, nodes: int) -> LockedState:
    """The state at the first arrival, on an empty machine; starts are written into ``jobs``."""
    n = len(jobs)
    at = np.zeros(11, np.int64)
    at[FREE], at[TOTAL], at[LOCKED] = nodes, nodes, -1
    for job in range(n):
        jobs[job, START], jobs[job, MODE], jobs[job, ORDER] = -1, 0, -1
    state = LockedState(jobs, np.empty(n, np.int64), np.empty(n, np.int64), at, np.empty((7, 3 * n), np.int64))
    if n:
        _admit(state.queue, jobs, at)
    return state


@compiled
def run_ranked(state: LockedState, score: FloatArray, easy: bool) -> None:
    """Pick the job of the lowest score again and again until nobody comes any more; it may return early, to be called
    again, when much work was done."""
    at, queue = state.at, state.queue
    at[WORK] = 0
    while at[QUEUED]:
        if at[LOCKED] < 0:
            _sort(queue, at[QUEUED], score[queue[: at[QUEUED]]], at)
        if not take(state, queue[0], easy) or at[WORK] > _CHUNK:
            return


@compiled
def take(state: LockedState, job: int, easy: bool) -> bool:
    """Pick a job, unless one is locked, and go on until it has started and another waits or nobody comes any more.

    It returns False early, to be called again, when much work was done.
    """
    jobs, queue, running, at, log = state
    if at[LOCKED] < 0 and jobs[job, NODES] <= at[FREE]:
        _note(log, at, -1, -1)
        _start(jobs, queue, running, at, job, READY)
        log[3, at[ROWS] - 1] = 1
    elif at[LOCKED] < 0:
        at[LOCKED] = job
        at[SHADOW] = _shadow(jobs, running, at, job) if easy else -1
    job = at[LOCKED]
    while job >= 0:
        if jobs[job, NODES] <= at[FREE]:
            _note(log, at, -1, -1)
            _start(jobs, queue, running, at, job, RESERVED if easy else READY)
            log[3, at[ROWS] - 1] = 1
            at[LOCKED] = job = -1
            break
        if at[WORK] > _CHUNK:
            at[WORK] = 0
            return False
        _note(log, at, job, at[SHADOW])
        if easy:
            _backfill(jobs, queue, running, at, log)
        _step(jobs, queue, running, at)
    while at[QUEUED] == 0 and at[NEXT] < len(jobs):
        _step(jobs, queue, running, at)
    return True


@compiled
def sort_by_submission(state: LockedState) -> None:
    """Sort the queue by submission, as a policy sees it; jobs of one instant stay as they stand."""
    queued = state.at[QUEUED]
    _sort(state.queue, queued, state.jobs[state.queue[:queued], SUBMIT], state.at)


@compiled
def _note(log: IntArray, at: IntArray, head: int, shadow: int) -> None:
    row = at[ROWS]
    log[0, row], log[1, row], log[2, row] = at[NOW], at[QUEUED], at[FREE]
    log[3, row], log[4, row], log[5, row], log[6, row] = 0, 0, head, shadow
    at[ROWS] += 1


@compiled
def _shadow(jobs: IntArray, running: IntArray, at: IntArray, job: int) -> int:
    """When the job fits by the walltimes of the running ones; the ends of an instant count one after another."""
    count, free = at[RUNNING], at[FREE]
    key = np.empty(count, np.int64)
    for i in range(count):
        key[i] = jobs[running[i], START] + jobs[running[i], WALLTIME]
    _sort(running, count, key, at)
    shadow = at[NOW]
    for i in range(count):
        free += jobs[running[i], NODES]
        shadow = jobs[running[i], START] + jobs[running[i], WALLTIME]
        if free >= jobs[job, NODES]:
            break
    return int(shadow)


@compiled
def _backfill(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray, log: IntArray) -> None:
    """Start jobs by submission that fit and end strictly before the shadow time."""
    queued = at[QUEUED]
    _sort(queue, queued, jobs[queue[:queued], SUBMIT], at)
    i = 0
    while i < at[QUEUED]:
        job = queue[i]
        if at[NOW] + jobs[job, WALLTIME] < at[SHADOW] and jobs[job, NODES] <= at[FREE]:
            _start(jobs, queue, running, at, job, BACKFILLED)
            log[3, at[ROWS] - 1] += 1
            log[4, at[ROWS] - 1] += 1
        else:
            i += 1


@compiled
def _step(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray) -> None:
    """Take in the next arrival or end, an arrival if both are at one instant."""
    count, end = at[RUNNING], 2**62
    if count:
        key = np.empty(count, np.int64)
        for i in range(count):
            key[i] = jobs[running[i], START] + jobs[running[i], RUNTIME]
        _sort(running, count, key, at)
        end = jobs[running[0], START] + jobs[running[0], RUNTIME]
    if at[NEXT] < len(jobs) and jobs[at[NEXT], SUBMIT] <= end:
        _admit(queue, jobs, at)
        return
    at[NOW] = max(at[NOW], end)
    at[FREE] += jobs[running[0], NODES]
    for i in range(count - 1):
        running[i] = running[i + 1]
    at[RUNNING] -= 1


@compiled
def _admit(queue: IntArray, jobs: IntArray, at: IntArray) -> None:
    at[NOW] = max(at[NOW], jobs[at[NEXT], SUBMIT])
    queue[at[QUEUED]] = at[NEXT]
    at[QUEUED] += 1
    at[NEXT] += 1


@compiled
def _start(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray, job: int, mode: int) -> None:
    jobs[job, START] = at[NOW]
    jobs[job, MODE] = mode
    jobs[job, ORDER] = at[STARTED]
    at[STARTED] += 1
    at[FREE] -= jobs[job, NODES]
    running[at[RUNNING]] = job
    at[RUNNING] += 1
    i = 0
    while queue[i] != job:
        i += 1
    at[QUEUED] -= 1
    for k in range(i, at[QUEUED]):
        queue[k] = queue[k + 1]


@compiled
def _sort(items: IntArray, length: int, key: FloatArray | IntArray, at: IntArray) -> None:
    """Sort ``items[:length]`` and their keys by merging; equal ones stay in order."""
    at[WORK] += length
    width = length
    for i in range(1, length):
        if key[i] < key[i - 1]:
            width = 1
            break
    while width < length:
        at[WORK] += length
        from_items, from_key = items[:length].copy(), key.copy()
        for low in range(0, length, 2 * width):
            middle, high = min(low + width, length), min(low + 2 * width, length)
            left, right = low, middle
            for k in range(low, high):
                if left < middle and (right == high or from_key[left] <= from_key[right]):
                    items[k], key[k] = from_items[left], from_key[left]
                    left += 1
                else:
                    items[k], key[k] = from_items[right], from_key[right]
                    right += 1
        width *= 2
