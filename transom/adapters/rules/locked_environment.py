"""Replays in the locked environment of RLScheduler, for cross-checks with what was published with it.

The process is that of :mod:`transom.simulation.locked.process`: the queue is sorted by a priority rule and its first
job picked, or another policy picks one of the first 128 by submission. Jobs arrive in the order of their ids, run for
their real runtime, and are not killed at their walltime.

References
----------
Zhang et al., RLScheduler, SC'20; the MARS paper builds on the same environment.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transom.adapters.rules.locked_picks import picked
from transom.heuristics.priority_rules import LogRule, PriorityRule
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.decision import Policy
from transom.simulation.core.site_order import load_rule
from transom.simulation.event_rules import Outcome, Report
from transom.simulation.locked import process as locked
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.workload import Workload


def replay_locked(
    workload: Workload, policy: Policy, published_sign: bool, unasked: Sequence[int], easy: bool, report: Report
) -> Outcome:
    """Replay a workload of jobs that ask for nodes alone, as one sequence on an empty machine.

    Parameters
    ----------
    workload : the jobs; they arrive by id, none before its submission.
    policy : a priority rule, or any policy, which then picks one of the first jobs of the queue.
    published_sign : whether rules that depend on the waiting time take -1 - submission for it.
    unasked : ids of jobs that ask for -1 s, whatever their walltime is.
    easy : whether jobs are backfilled while the picked one waits.
    report : called with the number of started jobs.
    """
    arrival = np.argsort(workload.jobs.id)
    table = _asking(workload.jobs.take(arrival), unasked)
    state = locked.begin(arrivals(workload, unasked), workload.cluster.num_nodes)
    if isinstance(policy, RulePolicy):
        _run_rule(state, table, load_rule(policy.rule), published_sign, easy, report)
    else:
        while state.at[locked.QUEUED]:
            job = picked(policy, state, table, workload) if state.at[locked.LOCKED] < 0 else -1
            locked.take(state, job, easy)
            report(int(state.at[locked.STARTED]))
    back = np.empty(len(table), np.int64)
    back[arrival] = np.arange(len(table))
    log = state.log[:, : state.at[locked.ROWS]]
    log[5, log[5] >= 0] = table.id[log[5, log[5] >= 0]]
    start, mode, order = (state.jobs[back, column] for column in (locked.START, locked.MODE, locked.ORDER))
    return Outcome(start, mode, order, log)


def arrivals(workload: Workload, unasked: Sequence[int]) -> IntArray:
    """The jobs by id, shape ``(jobs, 7)``, in the columns of
    :attr:`~transom.simulation.locked.process.LockedState.jobs`."""
    arrival = np.argsort(workload.jobs.id)
    table = _asking(workload.jobs.take(arrival), unasked)
    jobs = np.zeros((len(table), 7), np.int64)
    columns = (locked.SUBMIT, locked.WALLTIME, locked.NODES, locked.RUNTIME)
    jobs[:, columns] = np.column_stack((table.submit, table.walltime, table.nodes, workload.runtime[arrival]))
    return jobs


def _run_rule(
    state: locked.LockedState,
    table: JobTable,
    rule: PriorityRule,
    published_sign: bool,
    easy: bool,
    report: Report,
) -> None:
    first = int(table.submit.min()) if len(table) else 0
    # With the wrong sign the waiting time is -1 - submission at every instant, as if it were -1 s.
    scores = _scores(rule, table, -1, first)
    still = (rule.timeless or published_sign) and not np.isnan(scores).any()
    at = state.at
    while queued := int(at[locked.QUEUED]):
        if still:
            locked.run_ranked(state, scores, easy)
        else:
            if at[locked.LOCKED] < 0:
                queue = state.queue[:queued]
                now = -1 if published_sign else int(at[locked.NOW])
                scored = _scores(rule, table.take(queue), now, first).tolist()
                # Where a score is no number (F2 of a request of -1 s), the order is what Python's sort makes of it.
                queue[:] = queue[sorted(range(queued), key=scored.__getitem__)]
            locked.take(state, int(state.queue[0]), easy)
        if still or at[locked.STARTED] % 256 == 0:
            report(int(at[locked.STARTED]))


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
