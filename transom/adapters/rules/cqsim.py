"""The event rules of CQSim, for cross-checks with results that were made with it.

They differ from the textbook's in three ways. Every event has a pass of its own: at one instant job ends
come before submissions, those of a kind in the order in which they were announced (an end when its job
starts, a submission by its place in the trace). Running jobs are expected to end at start + walltime, but
the head's reservation and the candidates for backfilling are tested with their *real* runtimes, which a
scheduler does not know. And a job that ends at this very instant counts as free then, even where its end
is still to come, so that the head's shadow time may be the instant itself.

References
----------
The DRAS paper, section IV, whose published baselines were made with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.core.site_order import clock_begins, load_rule, site_order
from transom.simulation.event_rules import Outcome, Report
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.workload import Workload

_CHUNK = 20_000_000  # queue places looked at between two looks at the progress bar and Ctrl-C

# Columns of _State.jobs: submission [s], walltime [s], runtime [s], nodes, place in the site's order, start [s]
# (-1 before), how and as which the job started, whether it has held a reservation.
_SUBMIT, _WALLTIME, _RUNTIME, _NODES, _RANK, _START, _MODE, _ORDER, _HELD = range(9)

# Places in _State.at: now, next submission, lengths of queue and of running, jobs started, idle nodes, rows
# of the log, work done.
_NOW, _NEXT, _QUEUED, _RUNNING, _STARTED, _FREE, _ROWS, _WORK = range(8)

_NEVER = np.int64(2**62)


class _State(NamedTuple):
    """A replay in arrays of int64, ``n`` jobs.

    ``jobs`` ``(n, 9)``; ``queue`` ``(n,)``: the waiting jobs in the site's order; ``ends`` ``(n, 2)``: (real end,
    job) of the running jobs, by end, then by start; ``expected`` ``(n, 2)``: (start + walltime, job) likewise;
    ``at`` ``(8,)``: counters; ``log`` ``(7, 2 n)``: a column per pass.
    """

    jobs: IntArray
    queue: IntArray
    ends: IntArray
    expected: IntArray
    at: IntArray
    log: IntArray


@dataclass(frozen=True, slots=True)
class CqSim:
    """One pass per event, and backfilling by real runtimes."""

    name: ClassVar[str] = "cqsim"
    stated: ClassVar[str] = name
    replayed: ClassVar[str] = name

    def replay(self, workload: Workload, policy: RulePolicy, report: Report) -> Outcome:
        """Replay a workload of jobs that ask for nodes alone."""
        return replay_cqsim(workload, policy, report)


def replay_cqsim(workload: Workload, policy: RulePolicy, report: Report) -> Outcome:
    """Replay a workload of jobs that ask for nodes alone, under a priority rule without or with EASY backfilling."""
    table, easy, rule = workload.jobs, policy.backfilling == "easy", load_rule(policy.rule)
    n, origin = len(table), clock_begins(rule, workload)
    state = _new_state(workload)
    if rule.timeless:
        state.jobs[site_order(rule, table, origin, origin), _RANK] = np.arange(n)
        while _run(*state, easy):
            report(int(state.at[_STARTED]))
    else:
        # The order changes as time goes by: every pass needs a new one.
        while _next_event(*state[:5]):
            queued = int(state.at[_QUEUED])
            if queued:
                queue = np.sort(state.queue[:queued])
                order = site_order(rule, table.take(queue), int(state.at[_NOW]), origin)
                state.queue[:queued] = queue[order]
                _pass(*state, easy)
                if state.at[_ROWS] % 256 == 0:
                    report(int(state.at[_STARTED]))
    log = state.log[:, : state.at[_ROWS]]
    log[5, log[5] >= 0] = table.id[log[5, log[5] >= 0]]
    start, mode, order_ = (state.jobs[:, column] for column in (_START, _MODE, _ORDER))
    return Outcome(start, mode, order_, log)


def _new_state(workload: Workload) -> _State:
    table, n = workload.jobs, len(workload)
    jobs = np.zeros((n, 9), np.int64)
    jobs[:, _SUBMIT], jobs[:, _WALLTIME], jobs[:, _NODES] = table.submit, table.walltime, table.nodes
    jobs[:, _RUNTIME], jobs[:, _RANK] = workload.runtime, np.arange(n)
    jobs[:, [_START, _ORDER]] = -1
    at = np.zeros(8, np.int64)
    at[_FREE] = workload.cluster.num_nodes
    ends, expected = np.empty((2, n, 2), np.int64)
    return _State(jobs, np.empty(n, np.int64), ends, expected, at, np.empty((7, 2 * n), np.int64))


@compiled
def _run(
    jobs: IntArray, queue: IntArray, ends: IntArray, expected: IntArray, at: IntArray, log: IntArray, easy: bool
) -> bool:
    """Event after event, with a pass where somebody waits; False at the end of the trace."""
    at[_WORK] = 0
    while at[_WORK] < _CHUNK:
        if not _next_event(jobs, queue, ends, expected, at):
            return False
        at[_WORK] += 100 + at[_QUEUED] + at[_RUNNING]
        if at[_QUEUED]:
            _pass(jobs, queue, ends, expected, at, log, easy)
    return True


@compiled
def _next_event(jobs: IntArray, queue: IntArray, ends: IntArray, expected: IntArray, at: IntArray) -> bool:
    """Take in one end or one submission; False if there is none."""
    n, end = len(jobs), _NEVER
    if at[_RUNNING]:
        end = ends[0, 0]
    if at[_NEXT] < n and jobs[at[_NEXT], _SUBMIT] < end:
        job = at[_NEXT]
        at[_NEXT] += 1
        at[_NOW] = jobs[job, _SUBMIT]
        i = at[_QUEUED]
        while i > 0 and jobs[queue[i - 1], _RANK] > jobs[job, _RANK]:
            queue[i] = queue[i - 1]
            i -= 1
        queue[i] = job
        at[_QUEUED] += 1
        return True
    if end == _NEVER:
        return False
    at[_NOW] = end
    job = ends[0, 1]
    at[_FREE] += jobs[job, _NODES]
    _remove(ends, at[_RUNNING], job)
    _remove(expected, at[_RUNNING], job)
    at[_RUNNING] -= 1
    return True


@compiled
def _pass(
    jobs: IntArray, queue: IntArray, ends: IntArray, expected: IntArray, at: IntArray, log: IntArray, easy: bool
) -> None:
    """Start the queue's head while it fits; then backfill around its reservation, by real runtimes."""
    now, count, backfilled, head, shadow = at[_NOW], 0, 0, -1, -1
    row = at[_ROWS]
    log[0, row], log[1, row], log[2, row] = now, at[_QUEUED], at[_FREE]
    while count < at[_QUEUED] and jobs[queue[count], _NODES] <= at[_FREE]:
        job = queue[count]
        _start(jobs, ends, expected, at, job, RESERVED if jobs[job, _HELD] else READY)
        count += 1
    kept = at[_QUEUED] - count
    for i in range(kept):
        queue[i] = queue[count + i]
    at[_QUEUED] = kept
    if easy and kept:
        head = queue[0]
        jobs[head, _HELD] = 1
        extra, i = at[_FREE], 0
        shadow = now
        while extra < jobs[head, _NODES]:
            # All jobs that are expected to end at one instant count before the extra is taken.
            shadow = max(expected[i, 0], now)
            while i < at[_RUNNING] and max(expected[i, 0], now) == shadow:
                extra += jobs[expected[i, 1], _NODES]
                i += 1
        extra -= jobs[head, _NODES]
        kept = 1
        for i in range(1, at[_QUEUED]):
            job = queue[i]
            nodes = jobs[job, _NODES]
            late = now + jobs[job, _RUNTIME] > shadow
            if nodes > at[_FREE] or (late and nodes > extra):
                queue[kept] = job
                kept += 1
                continue
            if late:
                extra -= nodes
            _start(jobs, ends, expected, at, job, BACKFILLED)
            backfilled += 1
        at[_QUEUED] = kept
    log[3, row], log[4, row], log[5, row], log[6, row] = count + backfilled, backfilled, head, shadow
    at[_ROWS] += 1


@compiled
def _start(jobs: IntArray, ends: IntArray, expected: IntArray, at: IntArray, job: int, mode: int) -> None:
    now = at[_NOW]
    jobs[job, _START] = now
    jobs[job, _MODE] = mode
    jobs[job, _ORDER] = at[_STARTED]
    at[_STARTED] += 1
    at[_FREE] -= jobs[job, _NODES]
    _insert(ends, at[_RUNNING], now + jobs[job, _RUNTIME], job)
    _insert(expected, at[_RUNNING], now + jobs[job, _WALLTIME], job)
    at[_RUNNING] += 1


@compiled
def _insert(pairs: IntArray, length: int, time: int, job: int) -> None:
    # Behind those of the same time: first in, first out.
    i = length
    while i > 0 and pairs[i - 1, 0] > time:
        pairs[i, 0] = pairs[i - 1, 0]
        pairs[i, 1] = pairs[i - 1, 1]
        i -= 1
    pairs[i, 0] = time
    pairs[i, 1] = job


@compiled
def _remove(pairs: IntArray, length: int, job: int) -> None:
    i = 0
    while pairs[i, 1] != job:
        i += 1
    for k in range(i, length - 1):
        pairs[k, 0] = pairs[k + 1, 0]
        pairs[k, 1] = pairs[k + 1, 1]
