"""What a policy that is no priority rule picks in the locked environment: one of the first jobs of the queue."""

from __future__ import annotations

import numpy as np

from transom.errors import PolicyError
from transom.models import JobTable, Window
from transom.models.job import WALLTIME
from transom.simulation.core.decision import Decision, Policy
from transom.simulation.core.site_order import clock_begins, load_rule, site_order
from transom.simulation.locked import process as locked
from transom.traces.workload import Workload

SLOTS = 128
"""How many waiting jobs a policy sees: the first ones by submission."""


def picked(policy: Policy, state: locked.LockedState, table: JobTable, workload: Workload) -> int:
    """The number of the job that a policy picks at this instant.

    A policy with ``pick(window)`` says it. Of others it is the first that they start; else the first that they
    backfill; else the one that they reserve earliest; else the first of their queue.

    Parameters
    ----------
    policy : sees the first 128 waiting jobs by submission, in the order of its rule.
    state, table : the replay, and its jobs in the order of arrival.
    workload : the jobs as a workload, with the machine.

    Raises
    ------
    PolicyError : it names a job that it was not shown, or makes no decision.
    """
    window = _window(policy, state, table, workload)
    pick = getattr(policy, "pick", None)
    job = int(pick(window)) if pick is not None else _first(policy.decide(window), window)
    shown = state.queue[: min(SLOTS, state.at[locked.QUEUED])]
    found = shown[table.id[shown] == job]
    if not len(found):
        raise PolicyError(f"a policy picked job {job}, which is not among the {len(shown)} that it was shown")
    return int(found[0])


def _window(policy: Policy, state: locked.LockedState, table: JobTable, workload: Workload) -> Window:
    """What a policy sees; the queue of the state is then sorted by submission."""
    locked.sort_by_submission(state)
    now = int(state.at[locked.NOW])
    queue = _asked(table.take(state.queue[: min(SLOTS, state.at[locked.QUEUED])]))
    rule = load_rule(getattr(policy, "order", "fcfs"))
    queue = queue.take(site_order(rule, queue, now, clock_begins(rule, workload)))
    running = state.running[: state.at[locked.RUNNING]]
    end = np.maximum(state.jobs[running, locked.START] + state.jobs[running, locked.WALLTIME], now + 1)
    by_end = np.argsort(end, kind="stable")
    table, available = _asked(table.take(running[by_end])), [state.at[locked.FREE]]
    return Window(now, workload.cluster, queue, table, end[by_end], available)


def _asked(jobs: JobTable) -> JobTable:
    """The jobs with a walltime of 1 s where the environment has -1 s."""
    if (jobs.walltime > 0).all():
        return jobs
    data = jobs.data.copy()
    data[:, WALLTIME] = np.maximum(data[:, WALLTIME], 1)
    return JobTable(data)


def _first(decision: Decision, window: Window) -> int:
    if not isinstance(decision, Decision):
        raise PolicyError(f"a policy returns a Decision, got {type(decision).__name__}")
    for jobs in (decision.start, decision.backfill):
        if jobs:
            return jobs[0]
    if decision.reserve:
        return min(decision.reserve, key=lambda each: each.start).job
    return int(window.queue.id[0])
