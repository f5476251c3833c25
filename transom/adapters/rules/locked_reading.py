"""Traces as RLScheduler reads them, for cross-checks with what was published with it.

The size is the larger of allocated and requested; a runtime below 0 counts as 10 s; a requested time of -1 is the
runtime as logged; jobs of runtime 0 are left out; a runtime above the request stays; nobody waits for another job.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from transom.errors import ModelError
from transom.traces.estimates import TAKEN
from transom.traces.rules import ReadingRules, repaired
from transom.traces.swf import read_log, trace_name
from transom.traces.workload import Workload

_UNKNOWN_RUN = 10  # what a runtime below 0 counts for [s]


class LockedTrace(NamedTuple):
    """A workload, and the ids of jobs that ask for no time at all.

    ``unasked`` have neither a requested time nor a runtime in the log: their request stays at -1 s in the environment,
    and only their runtime becomes 10 s. A workload has no such walltimes: it holds 10 s.
    """

    workload: Workload
    unasked: tuple[int, ...]


def read_locked(path: str | os.PathLike[str], nodes: int | None = None) -> LockedTrace:
    """Read a trace in Standard Workload Format by the job rules of RLScheduler.

    Parameters
    ----------
    path : the file, plain or gzip.
    nodes : size of the machine; None takes that of the header, else that of the largest job.

    Raises
    ------
    ModelError, TraceError : as in :func:`~transom.traces.read_swf`.
    """
    where = os.fspath(path)
    if nodes is not None and nodes <= 0:
        raise ModelError(f"{where}: the machine must have > 0 nodes, got {nodes}")
    log, header = read_log(where)
    size = nodes or header.machine()
    unknown, unasked = log.runtime < 0, log.walltime <= 0
    runtime = np.where(unknown, _UNKNOWN_RUN, log.runtime)
    nobody = np.zeros_like(log.parent)
    read = replace(
        log,
        runtime=runtime,
        walltime=np.where(unasked, runtime, log.walltime),
        parent=nobody,
        partial=np.zeros_like(log.partial),
    )
    workload = repaired(
        read, ReadingRules(nodes="max", long_runs="keep", merge_partitions=True), size, trace_name(where), where
    )
    kept = np.isin(log.id, workload.jobs.id)
    counts = {
        f"runtime below 0, taken for {_UNKNOWN_RUN} s": unknown,
        TAKEN: unasked & ~unknown,
        "neither requested time nor runtime": unasked & unknown,
        "dependency dropped: rlscheduler knows none": log.parent > 0,
    }
    for what, jobs in counts.items():
        workload = workload.with_repair(what, np.isin(workload.jobs.id, log.id[jobs]))
    odd = tuple(sorted(log.id[kept & unasked & unknown].tolist()))
    modelled = np.isin(workload.jobs.id, log.id[unasked]) if unasked.any() else None
    return LockedTrace(replace(workload, origin=replace(workload.origin, modelled=modelled)), odd)
