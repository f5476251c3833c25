"""Stretches in which a cluster started nothing by its log although jobs waited that fitted: likely maintenance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.traces.partitions import PREFIX
from transom.traces.workload import Workload

_LEAST = 4 * 3600
"""A standstill is at least so long [s]."""

_BEYOND = 10
"""And so many times longer than nine of ten stretches without a start or an end while jobs waited."""

_WAITING = 3
"""So many jobs have waited for so long."""

_IDLE = 0.9
"""At least this share of the nodes was idle: where fewer are, jobs may wait for certain nodes."""


class Standstill(NamedTuple):
    """From ``begin`` to ``end`` [s] no job started or ended; ``nodes`` were idle, on which ``waiting`` jobs fitted."""

    begin: int
    end: int
    nodes: int
    waiting: int


def standstills(workload: Workload, amount: int = 0) -> list[Standstill]:
    """The standstills of the machine that a log shows, or those of a partition, ascending.

    One is a stretch between two logged starts or ends of jobs during which at least nine tenths of the nodes were idle
    and at least three jobs waited that would have fitted there (in their partitions, where jobs keep to them), for at
    least four hours, and ten times longer than nine of ten stretches in which jobs waited. It begins no earlier than
    the first of these jobs was submitted. Jobs that wait for others do not count. Stretches that follow each other are
    one. Of a part of a log, nothing is said of its first time, as long as the longest walltime; nor after the last
    submission.

    Parameters
    ----------
    workload : a trace; nothing is found where it does not say when jobs started.
    amount : which count of nodes matters: 0 is the machine, 1 its first resource and so on.
    """
    started, jobs = workload.origin.started, workload.jobs
    if started is None or not (known := started >= 0).any():
        return []
    start, submit = started[known], jobs.submit[known]
    demand = np.column_stack((jobs.nodes, jobs.demand))[known]
    end = start + workload.runtime[known]
    free = ~np.isin(jobs.id[known], list(jobs.depends_on))
    times = np.unique(np.concatenate((start, end)))
    length = np.diff(times)
    begun, submitted = np.sort(start[free]), np.sort(submit[free])
    # The queue just before each stretch ends, of whom those who came late do not count below.
    queued = np.searchsorted(submitted, times[1:]) - np.searchsorted(begun, times[1:])
    waited = length[queued > 0]
    least = max(_LEAST, _BEYOND * float(np.quantile(waited, 0.9)) if len(waited) else 0)
    capacity = np.array([workload.cluster.num_nodes, *workload.cluster.capacities])
    # Of a part of a log, jobs before it may hold nodes at its beginning, and jobs after it at its end.
    whole = workload.first_submission == int(jobs.submit[0])
    first = 0 if whole else int(jobs.submit[0] + jobs.walltime.max())
    looked_at = (length >= least) & (queued >= _WAITING) & (times[:-1] >= first) & (times[1:] <= jobs.submit[-1])
    found: list[Standstill] = []
    for at in np.flatnonzero(looked_at).tolist():
        begin, until = int(times[at]), int(times[at + 1])
        idle = capacity - demand[(start <= begin) & (end >= until)].sum(axis=0)
        if idle[amount] < _IDLE * capacity[amount]:
            continue
        queue = free & (submit < until) & (start >= until) & (demand <= idle).all(axis=1)
        since = np.sort(submit[queue])
        if len(since) < _WAITING or until - max(begin, int(since[_WAITING - 1])) < least:
            continue
        one = Standstill(max(begin, int(since[0])), until, int(idle[amount]), len(since))
        if found and found[-1].end == one.begin:
            before = found.pop()
            one = Standstill(before.begin, until, min(before.nodes, one.nodes), max(before.waiting, one.waiting))
        found.append(one)
    return found


def of_partitions(workload: Workload) -> dict[str, list[Standstill]]:
    """The standstills of each single partition to whose nodes jobs keep, by its name, where there are some."""
    found = {
        name.removeprefix(PREFIX): standstills(workload.take(workload.jobs.demand[:, r] > 0), 1 + r)
        for r, name in enumerate(workload.cluster.resources)
        if name.startswith(PREFIX) and "+" not in name
    }
    return {name: each for name, each in found.items() if each}
