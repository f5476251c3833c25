"""What a replay produced: one row per job and one per decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom._system.wording import html_table
from transom.errors import ModelError
from transom.models import Cluster, JobTable
from transom.models.arrays import FloatArray, Frozen, IntArray, Like, frozen_floats, frozen_ints, model
from transom.models.problem import found
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.outage_log import OutageLog
from transom.traces.origin import Diagnostic

if TYPE_CHECKING:
    import polars as pl

MODES = ("ready", "reserved", "backfilled")
"""How a job came to start; ``mode`` holds positions in this tuple.

``backfilled``: it started ahead of a job that holds a reservation; ``reserved``: it held a
reservation from an earlier instant on; ``ready``: neither (Fan et al. 2021, section III-B).
"""

READY, RESERVED, BACKFILLED = range(3)

COLUMNS = ("time", "queued", "free", "started", "backfilled", "reserved_job", "reserved_start")
"""The columns that the decisions of every replay have."""

PROMISED = ("promised_jobs", "promised_starts")
"""Columns of lists that recorded decisions have beside them."""

SPREAD = ("hop_cost", "leaves", "pods")
"""The fields of :class:`Spread`."""


@model
class Spread(Frozen):
    """How far the nodes of each job lie apart on the tree.

    Parameters
    ----------
    hop_cost : communication-hop cost, 0 for a job of one node, shape ``(jobs,)``.
    leaves, pods : leaf switches and pods that the nodes hang on, shape ``(jobs,)``.
    """

    hop_cost: Like[FloatArray]
    leaves: Like[IntArray]
    pods: Like[IntArray]

    def __post_init__(self) -> None:
        object.__setattr__(self, "hop_cost", frozen_floats(self.hop_cost, "spread: hop_cost", (-1,)))
        for name in ("leaves", "pods"):
            array = frozen_ints(getattr(self, name), f"spread: {name}", (len(self.hop_cost),))
            object.__setattr__(self, name, array)


@model
class Schedule(Frozen):
    """Start and end of every job of a workload under one policy.

    Parameters
    ----------
    policy : the specification of the policy.
    workload : name of the workload.
    cluster : the machine.
    jobs : the jobs by (submission, id).
    start, end : times [s] on the trace's clock, shape ``(jobs,)``.
    mode : position in :data:`MODES`, shape ``(jobs,)``.
    order : 0 for the job that started first, 1 for the next ..., shape ``(jobs,)``.
    decisions : columns of one row per pass over a queue that was not empty, all of one length:
        ``time`` [s], ``queued`` (jobs waiting before it), ``free`` (idle nodes before it),
        ``started``, ``backfilled`` (of those), ``reserved_job`` (id, -1 for none) and
        ``reserved_start`` [s] (-1 for none); a policy may add columns of its own.
    rules : the event rules of the replay; figures under different rules never share a table.
    spread : hop cost, leaf switches and pods of each job on a cluster with a topology; otherwise None.
    runs : the nodes of each job, if the replay assigned them; neither compared nor part of the digest.
    diagnostics : warnings about the workload, such as perfect estimates; likewise.
    logged : when each job started by the log that it comes from [s], -1 where unknown, shape ``(jobs,)``; None where
        the log says so of no job; likewise.
    epoch : the Unix time of 0 s on the trace's clock, None where that is not known; likewise.
    outages : outages and interrupted attempts; None in replays without outages; likewise. Starts, ends and
        modes are those of each job's last attempt.
    """

    policy: str
    workload: str
    cluster: Cluster
    jobs: JobTable
    start: Like[IntArray]
    end: Like[IntArray]
    mode: Like[IntArray]
    order: Like[IntArray]
    decisions: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    rules: str = "textbook"
    spread: Spread | None = None
    runs: NodeRuns | None = field(default=None, compare=False)
    diagnostics: tuple[Diagnostic, ...] = field(default=(), compare=False)
    logged: IntArray | None = field(default=None, compare=False)
    epoch: int | None = field(default=None, compare=False)
    outages: OutageLog | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        for name in ("start", "end", "mode", "order"):
            array = frozen_ints(getattr(self, name), f"schedule: {name}", (len(self.jobs),))
            object.__setattr__(self, name, array)
        if self.logged is not None:
            logged = frozen_ints(self.logged, "schedule: logged", (len(self.jobs),))
            object.__setattr__(self, "logged", logged)
        columns = {name: np.array(column) for name, column in self.decisions.items()}
        if len({len(column) for column in columns.values()}) > 1:
            raise ModelError("schedule: the columns of decisions differ in length")
        for column in columns.values():
            column.flags.writeable = False
        object.__setattr__(self, "decisions", MappingProxyType(columns))
        if self.spread is not None and len(self.spread.hop_cost) != len(self.jobs):
            raise ModelError(f"schedule: the spread of {len(self.spread.hop_cost)} jobs, it has {len(self.jobs)}")

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def wait(self) -> IntArray:
        """Start minus submission [s], shape ``(jobs,)``."""
        return self.start - self.jobs.submit

    @property
    def runtime(self) -> IntArray:
        """End minus start [s], shape ``(jobs,)``."""
        return self.end - self.start

    def summary(self, **options: Any) -> dict[str, float]:
        """The figures of :func:`transom.simulation.output.metrics.summary`, by name, under its options."""
        figures: dict[str, float] = found("transom.simulation.output.metrics:summary")(self, **options)
        return figures

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with a row per job, the columns of ``jobs.parquet`` without the ids of nodes."""
        import polars as pl

        jobs = self.jobs.to_frame(self.cluster.resources)
        more = {"start": self.start, "end": self.end, "mode": pl.Series(MODES).gather(self.mode), "order": self.order}
        more |= {} if self.logged is None else {"logged_start": self.logged}
        spread = {} if self.spread is None else {name: getattr(self.spread, name) for name in SPREAD}
        first = ("job_id", "submit", "start", "end", "nodes", "walltime", "mode", "user", "priority", "order", *spread)
        frame = jobs.with_columns(pl.Series(name, column) for name, column in {**more, **spread}.items())
        return frame.select(*first, pl.exclude(first))

    def _repr_html_(self) -> str:
        figures = self.summary()
        times = ("mean_wait", "median_wait", "max_wait", "makespan")
        rows = [
            ("jobs", f"{len(self):,}"),
            *((name.replace("_", " "), f"{figures[name] / 3600:,.2f} h") for name in times),
            ("mean bounded slowdown", f"{figures['mean_bounded_slowdown']:,.2f}"),
            ("utilisation", f"{100 * figures['utilisation']:.1f} %"),
            *(("note", each.short) for each in self.diagnostics),
        ]
        return html_table(f"{self.policy} on {self.workload}", rows)
