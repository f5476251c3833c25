"""The jobs of a live run as workloads: as they were submitted, and as the driver saw them, by its audit log.

A replay of the first does what the policy would have done if jobs took no longer than their runtimes. A replay of the
second gets the events that the driver got, at the looks at which it got them; its jobs are expected to end by their
limits after the decision, those of the live run after Slurm's start.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transom.errors import DocumentError
from transom.io.documents import decode
from transom.models import Cluster, JobTable, Window
from transom.models.arrays import IntArray
from transom.models.job import DEMAND, ID, SUBMIT, WALLTIME
from transom.slurm.audit import read_audit
from transom.traces import Workload


def as_submitted(workload: Workload, faster: float, begin: int, cluster: Cluster) -> Workload:
    """A workload as it was played without held jobs' delays: times divided, limits in whole minutes.

    Parameters
    ----------
    workload : what was played.
    faster : by what its times were divided.
    begin : when its first job was submitted [s].
    cluster : the machine it was played on.
    """
    rows = workload.jobs.data[:, :DEMAND].copy()
    rows[:, SUBMIT] = begin + (rows[:, SUBMIT] - rows[0, SUBMIT]) / faster
    rows[:, WALLTIME] = 60 * np.maximum(-(-(rows[:, WALLTIME] / faster).astype(np.int64) // 60), 1)
    runtime = np.maximum(np.rint(workload.runtime / faster), 1).astype(np.int64)
    return Workload(workload.name, cluster, JobTable(rows), runtime)


class _Run(NamedTuple):
    """A start: when it was decided [s], and the nodes that were not seen back yet."""

    begun: int
    away: set[int]


def as_seen(audit: Path, ids: Mapping[int, int]) -> Workload:
    """The jobs that a driver decided on, as it saw them.

    A job is submitted at the first decision whose queue holds it. It runs from the decision that started it to the
    first one that saw all its nodes back, under the walltime that Slurm told; one whose end no decision saw runs for
    its walltime, for nothing was decided afterwards.

    Parameters
    ----------
    audit : the log of the run.
    ids : the ids that the jobs shall have, by their numbers in Slurm.

    Raises
    ------
    DocumentError : the file is no audit log, or holds no decision.
    """
    rows: dict[int, IntArray] = {}
    runs: dict[int, _Run] = {}
    runtime: dict[int, int] = {}
    cluster: Cluster | None = None
    for line in read_audit(audit):
        if line["kind"] != "decision":
            continue
        window = decode(line["window"].encode(), str(audit))
        assert isinstance(window, Window)
        cluster, running, idle = window.cluster, set(window.running.id.tolist()), set(line["idle"])
        for job, run in runs.items():
            run.away.difference_update(idle)
            if job not in runtime and job not in running and not run.away:
                runtime[job] = window.now - run.begun
        for row in window.queue.data[:, :DEMAND]:
            if row[ID] not in rows:
                rows[int(row[ID])] = row.copy()
                rows[int(row[ID])][SUBMIT] = window.now
        for job, nodes in line["starts"]:
            runs[job] = _Run(window.now, set(nodes))
            runtime.pop(job, None)  # the start before it did not come true
    if cluster is None:
        raise DocumentError(f"{audit}: holds no decision")
    table = np.array([rows[job] for job in rows])
    ran = np.array([runtime.get(job, rows[job][WALLTIME]) for job in rows])
    table[:, ID] = [ids[job] for job in rows]
    return Workload("as the driver saw it", Cluster(cluster.num_nodes, topology=cluster.topology), JobTable(table), ran)
