"""The locked environment of RLScheduler, for cross-checks with what was published with it.

- The queue is sorted and its first job picked; a picked job is *locked*: nothing is sorted or picked until it starts.
- While the locked job does not fit, the environment takes one event at a time: the next arrival or the next end by
  real runtimes; an arrival wins a tie.
- With backfilling, each of these steps first starts, in the order of submission, waiting jobs that fit and would end
  strictly before the locked job's shadow time by their walltimes. The shadow time is found once, when the job is
  locked; there are no extra nodes beside it.
- While somebody waits, the next job is picked at the same instant; when nobody waits, ends are taken until one job
  has arrived, and that one is picked, even where others arrive at the same instant.
- Jobs arrive in the order of their ids, run for their real runtime, and are not killed at their walltime.

Lists are sorted in place by a stable sort, so that ties keep the order of an earlier sort.

References
----------
Zhang et al., RLScheduler, SC'20; the MARS paper builds on the same environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.priority_rules import LogRule, PriorityRule
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.core.site_order import load_rule
from transom.simulation.event_rules import Outcome, Report
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.workload import Workload

_CHUNK = 20_000_000  # list places looked at between two looks at the progress bar and Ctrl-C

# Columns of _State.jobs: submission [s], walltime [s], runtime [s], nodes, start [s] (-1 before), how and as which
# the job started.
_SUBMIT, _WALLTIME, _RUNTIME, _NODES, _START, _MODE, _ORDER = range(7)

# Places in _State.at: now, next arrival, lengths of queue and of running, jobs started, idle nodes, rows of the
# log, the locked job (-1 for none), its shadow time, work done.
_NOW, _NEXT, _QUEUED, _RUNNING, _STARTED, _FREE, _ROWS, _LOCKED, _SHADOW, _WORK = range(10)


class _State(NamedTuple):
    """A replay in arrays, ``n`` jobs in the order of arrival; int64 but for ``score``.

    ``jobs`` ``(n, 7)``; ``score`` ``(n,)``; ``queue`` and ``running`` ``(n,)``: jobs in the order that the last sort
    left; ``at`` ``(10,)``: counters; ``log`` ``(7, 3 n)``: a column per step.
    """

    jobs: IntArray
    score: FloatArray
    queue: IntArray
    running: IntArray
    at: IntArray
    log: IntArray


def replay_locked(
    workload: Workload, policy: RulePolicy, published_sign: bool, unasked: Sequence[int], report: Report
) -> Outcome:
    """Replay a workload of jobs that ask for nodes alone, as one sequence on an empty machine.

    Parameters
    ----------
    workload : the jobs; they arrive by id, none before its submission.
    policy : a priority rule; with EASY it backfills as the environment does.
    published_sign : whether rules that depend on the waiting time take -1 - submission for it.
    unasked : ids of jobs that ask for -1 s, whatever their walltime is.
    report : called with the number of started jobs.
    """
    arrival = np.argsort(workload.jobs.id)
    table, rule = _asking(workload.jobs.take(arrival), unasked), load_rule(policy.rule)
    n, easy = len(table), policy.backfilling == "easy"
    state = _new_state(workload, table, arrival)
    first = int(table.submit.min()) if n else 0
    # With the wrong sign the waiting time is -1 - submission at every instant, as if it were -1 s.
    state.score[:] = _scores(rule, table, -1, first)
    still = (rule.timeless or published_sign) and not np.isnan(state.score).any()
    if n:
        _admit(state.queue, state.jobs, state.at)
    while queued := int(state.at[_QUEUED]):
        if not still and state.at[_LOCKED] < 0:
            queue = state.queue[:queued]
            now = -1 if published_sign else int(state.at[_NOW])
            scores = _scores(rule, table.take(queue), now, first).tolist()
            # Where a score is no number (F2 of a request of -1 s), the order is what Python's sort makes of it.
            queue[:] = queue[sorted(range(queued), key=scores.__getitem__)]
        _run(*state, easy, still)
        if still or state.at[_STARTED] % 256 == 0:
            report(int(state.at[_STARTED]))
    back = np.empty(n, np.int64)
    back[arrival] = np.arange(n)
    log = state.log[:, : state.at[_ROWS]]
    log[5, log[5] >= 0] = table.id[log[5, log[5] >= 0]]
    start, mode, order = (state.jobs[back, column] for column in (_START, _MODE, _ORDER))
    return Outcome(start, mode, order, log)


def _asking(jobs: JobTable, unasked: Sequence[int]) -> JobTable:
    """The jobs with a requested time of -1 s where none is known."""
    odd = np.isin(jobs.id, np.array(unasked, np.int64))
    return _with_walltime(jobs, np.where(odd, -1, jobs.walltime)) if odd.any() else jobs


def _scores(rule: PriorityRule, jobs: JobTable, now: int, first: int) -> FloatArray:
    """The rule's scores; ``first`` is the first submission of the sequence [s].

    As published, the trace's clock is that of the log's seconds, and the logarithm of a submission at 0 s that of 0.1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        if isinstance(rule, LogRule):
            since = jobs.submit if rule.clock == "trace" else jobs.submit - first + 1
            return rule.scored(jobs, np.log10(np.maximum(since, 0.1)))
        return np.array(rule(jobs, now, 0), np.float64)


def _with_walltime(jobs: JobTable, walltime: IntArray | int) -> JobTable:
    data = jobs.data.copy()
    data[:, 3] = walltime
    return JobTable._trusted(data, {})


def _new_state(workload: Workload, table: JobTable, arrival: IntArray) -> _State:
    n = len(table)
    jobs = np.zeros((n, 7), np.int64)
    jobs[:, _SUBMIT], jobs[:, _WALLTIME], jobs[:, _NODES] = table.submit, table.walltime, table.nodes
    jobs[:, _RUNTIME] = workload.runtime[arrival]
    jobs[:, [_START, _ORDER]] = -1
    at = np.zeros(10, np.int64)
    at[_FREE], at[_LOCKED] = workload.cluster.num_nodes, -1
    queue, running = np.empty((2, n), np.int64)
    return _State(jobs, np.zeros(n), queue, running, at, np.empty((7, 3 * n), np.int64))


@compiled
def _run(
    jobs: IntArray,
    score: FloatArray,
    queue: IntArray,
    running: IntArray,
    at: IntArray,
    log: IntArray,
    easy: bool,
    still: bool,
) -> None:
    """Pick job after job until the queue is empty for good; one job, the first, where scores do not stand ``still``.

    It returns early, perhaps with a job locked, when much work was done.
    """
    at[_WORK] = 0
    while at[_QUEUED]:
        if at[_LOCKED] < 0:
            if still:
                _sort(queue, at[_QUEUED], score[queue[: at[_QUEUED]]], at)
            job = queue[0]
            if jobs[job, _NODES] <= at[_FREE]:
                _note(log, at, -1, -1)
                _start(jobs, queue, running, at, job, READY)
                log[3, at[_ROWS] - 1] = 1
            else:
                at[_LOCKED] = job
                at[_SHADOW] = _shadow(jobs, running, at, job) if easy else -1
        job = at[_LOCKED]
        while job >= 0:
            if jobs[job, _NODES] <= at[_FREE]:
                _note(log, at, -1, -1)
                _start(jobs, queue, running, at, job, RESERVED if easy else READY)
                log[3, at[_ROWS] - 1] = 1
                at[_LOCKED] = job = -1
                break
            if at[_WORK] > _CHUNK:
                return
            _note(log, at, job, at[_SHADOW])
            if easy:
                _backfill(jobs, queue, running, at, log)
            _step(jobs, queue, running, at)
        while at[_QUEUED] == 0 and at[_NEXT] < len(jobs):
            _step(jobs, queue, running, at)
        if not still or at[_WORK] > _CHUNK:
            return


@compiled
def _note(log: IntArray, at: IntArray, head: int, shadow: int) -> None:
    row = at[_ROWS]
    log[0, row], log[1, row], log[2, row] = at[_NOW], at[_QUEUED], at[_FREE]
    log[3, row], log[4, row], log[5, row], log[6, row] = 0, 0, head, shadow
    at[_ROWS] += 1


@compiled
def _shadow(jobs: IntArray, running: IntArray, at: IntArray, job: int) -> int:
    """When the job fits by the walltimes of the running ones; the ends of an instant count one after another."""
    count, free = at[_RUNNING], at[_FREE]
    key = np.empty(count, np.int64)
    for i in range(count):
        key[i] = jobs[running[i], _START] + jobs[running[i], _WALLTIME]
    _sort(running, count, key, at)
    shadow = at[_NOW]
    for i in range(count):
        free += jobs[running[i], _NODES]
        shadow = jobs[running[i], _START] + jobs[running[i], _WALLTIME]
        if free >= jobs[job, _NODES]:
            break
    return int(shadow)


@compiled
def _backfill(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray, log: IntArray) -> None:
    """Start jobs by submission that fit and end strictly before the shadow time."""
    queued = at[_QUEUED]
    _sort(queue, queued, jobs[queue[:queued], _SUBMIT], at)
    i = 0
    while i < at[_QUEUED]:
        job = queue[i]
        if at[_NOW] + jobs[job, _WALLTIME] < at[_SHADOW] and jobs[job, _NODES] <= at[_FREE]:
            _start(jobs, queue, running, at, job, BACKFILLED)
            log[3, at[_ROWS] - 1] += 1
            log[4, at[_ROWS] - 1] += 1
        else:
            i += 1


@compiled
def _step(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray) -> None:
    """Take in the next arrival or end, an arrival if both are at one instant."""
    count, end = at[_RUNNING], 2**62
    if count:
        key = np.empty(count, np.int64)
        for i in range(count):
            key[i] = jobs[running[i], _START] + jobs[running[i], _RUNTIME]
        _sort(running, count, key, at)
        end = jobs[running[0], _START] + jobs[running[0], _RUNTIME]
    if at[_NEXT] < len(jobs) and jobs[at[_NEXT], _SUBMIT] <= end:
        _admit(queue, jobs, at)
        return
    at[_NOW] = max(at[_NOW], end)
    at[_FREE] += jobs[running[0], _NODES]
    for i in range(count - 1):
        running[i] = running[i + 1]
    at[_RUNNING] -= 1


@compiled
def _admit(queue: IntArray, jobs: IntArray, at: IntArray) -> None:
    at[_NOW] = max(at[_NOW], jobs[at[_NEXT], _SUBMIT])
    queue[at[_QUEUED]] = at[_NEXT]
    at[_QUEUED] += 1
    at[_NEXT] += 1


@compiled
def _start(jobs: IntArray, queue: IntArray, running: IntArray, at: IntArray, job: int, mode: int) -> None:
    jobs[job, _START] = at[_NOW]
    jobs[job, _MODE] = mode
    jobs[job, _ORDER] = at[_STARTED]
    at[_STARTED] += 1
    at[_FREE] -= jobs[job, _NODES]
    running[at[_RUNNING]] = job
    at[_RUNNING] += 1
    i = 0
    while queue[i] != job:
        i += 1
    at[_QUEUED] -= 1
    for k in range(i, at[_QUEUED]):
        queue[k] = queue[k + 1]


@compiled
def _sort(items: IntArray, length: int, key: FloatArray | IntArray, at: IntArray) -> None:
    """Sort ``items[:length]`` and their keys by merging; equal ones stay in order."""
    at[_WORK] += length
    width = length
    for i in range(1, length):
        if key[i] < key[i - 1]:
            width = 1
            break
    while width < length:
        at[_WORK] += length
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
