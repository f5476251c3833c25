"""A workload: jobs with their real runtimes, and the machine they ran on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from transom._system.wording import counted, html_table
from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable
from transom.models.arrays import BoolArray, Frozen, IntArray, Like, as_array, expected, frozen_ints, model
from transom.traces.origin import Diagnostic, Origin, Partition, diagnostics, facts

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class TracedJob:
    """A job and its real runtime [s], which policies never see."""

    job: Job
    runtime: int


@model
class Workload(Frozen):
    """Jobs by (submission, id) and their real runtimes; the order given does not matter.

    Parameters
    ----------
    name : its name in tables and figures.
    cluster : the machine.
    jobs : the jobs; each fits on the machine.
    runtime : real runtimes [s], > 0, shape ``(jobs,)``; one job after another must end before 2**62 s,
        and their node-seconds add up to less. By default readers cut runtimes to the walltime, so
        a runtime exceeds the walltime only on request.
    repairs : changes and omissions of the reader: rule -> number of jobs. Omissions are those of the whole trace.
    origin : where the jobs come from; neither compared nor part of the digest.
    first_submission : first submission of the whole trace [s], at most that of these jobs; None: that of these jobs.

    Raises
    ------
    ModelError : a runtime is not positive, a job is larger than the machine, or dependencies name
        a job that is not there or form a cycle.
    """

    name: str
    cluster: Cluster
    jobs: JobTable
    runtime: Like[IntArray]
    repairs: Mapping[str, int] = field(default_factory=dict)
    origin: Origin = field(default=Origin(), compare=False)
    first_submission: int | None = None

    def __post_init__(self) -> None:
        expected(self.cluster, Cluster, "workload: cluster", "a Cluster")
        expected(self.jobs, JobTable, "workload: jobs", "a JobTable")
        expected(self.repairs, Mapping, "workload: repairs", "numbers of jobs by rule")
        runtime = frozen_ints(self.runtime, "workload: runtime", (len(self.jobs),))
        expected(self.origin, Origin, "workload: origin", "an Origin")
        self.origin.check(len(runtime))
        resources = len(self.cluster.resources)
        jobs = self.jobs if len(self.jobs) else JobTable(np.empty((0, JobTable([]).data.shape[1] + resources)))
        if not _in_order(jobs):
            order = np.lexsort((jobs.id, jobs.submit))
            jobs, runtime = jobs.take(order), runtime[order]
            runtime.flags.writeable = False
            object.__setattr__(self, "origin", self.origin.take(order))
        bad = np.flatnonzero(runtime <= 0)
        if bad.size:
            raise ModelError(f"job {jobs.id[bad[0]]}: runtime must be > 0 s, got {runtime[bad[0]]}")
        if len(jobs) and jobs.demand.shape[1] != resources:
            raise ModelError(f"workload: jobs state {jobs.demand.shape[1]} resources, the cluster {resources}")
        capacity = np.array([self.cluster.num_nodes, *self.cluster.capacities])
        bad = np.flatnonzero(_above(jobs, capacity))
        if bad.size:
            asked = [int(jobs.nodes[bad[0]]), *jobs.demand[bad[0]].tolist()]
            raise ModelError(f"job {jobs.id[bad[0]]}: asks for {asked} of {capacity.tolist()}")
        _check_times(jobs, runtime)
        _check_dependencies(jobs)
        object.__setattr__(self, "jobs", jobs)
        object.__setattr__(self, "repairs", MappingProxyType(dict(self.repairs)))
        object.__setattr__(self, "runtime", runtime)
        first = int(jobs.submit[0]) if len(jobs) else self.first_submission or 0
        given = first if self.first_submission is None else int(self.first_submission)
        object.__setattr__(self, "first_submission", min(first, given))

    @classmethod
    def of(cls, jobs: Iterable[TracedJob], cluster: Cluster, name: str = "workload") -> Workload:
        """The workload of ``jobs``."""
        listed = list(jobs)
        return cls(name, cluster, JobTable.of(t.job for t in listed), np.array([t.runtime for t in listed], np.int64))

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Warnings that belong beside every figure about this workload."""
        return diagnostics(self.origin, self.jobs.nodes, self.jobs.walltime, self.runtime)

    @property
    def facts(self) -> dict[str, Any]:
        """The same for machines, in JSON's terms: ``estimates``, ``partitions``, of several whether they are the
        ``machine``'s parts (``by partition``) or ``merged``, ``machine_in_doubt`` where it is, and how many jobs are
        ``unfinished`` and left out."""
        return facts(self.origin, self.jobs.nodes, self.jobs.walltime, self.runtime)

    @property
    def partitions(self) -> tuple[Partition, ...]:
        """The partitions of the logged machine, with their shares; none where there is one."""
        return self.origin.partitions(self.jobs.nodes * self.runtime)

    def __len__(self) -> int:
        return len(self.jobs)

    def __getitem__(self, index: int) -> TracedJob:
        return TracedJob(self.jobs[index], int(self.runtime[index]))

    def take(self, index: ArrayLike | slice) -> Workload:
        """The jobs at ``index`` (distinct positions, a mask or a slice); dependencies on jobs left out are dropped.

        Raises
        ------
        ModelError : a job is taken twice, or there is no such job.
        """
        index = np.arange(len(self))[index] if isinstance(index, slice) else as_array(index)
        if index.dtype != bool:
            index = frozen_ints(index, "workload: index", (-1,))
            if len(index) and not -len(self) <= index.min() <= index.max() < len(self):
                raise ModelError(f"workload: not all of these are positions of {len(self)} jobs")
            if len(np.unique(index)) < len(index):
                raise ModelError("workload: a job is taken twice")
        jobs = self.jobs.take(index)
        if jobs.depends_on:
            here = set(jobs.id.tolist())
            kept = {job: tuple(p for p in parents if p in here) for job, parents in jobs.depends_on.items()}
            jobs = JobTable(jobs.data, kept)
        origin, repairs = self.origin.take(index), dict(self.repairs)
        if len(jobs) < len(self):
            repairs |= {what: int(each.sum()) for what, each in origin.repaired.items() if what in repairs}
            repairs = {what: count for what, count in repairs.items() if count}
        return replace(self, jobs=jobs, runtime=self.runtime[index], repairs=repairs, origin=origin)

    def with_repair(self, what: str, jobs: BoolArray) -> Workload:
        """The same with a change of the reader to these jobs, a mask of shape ``(jobs,)``, counted in ``repairs``."""
        if not jobs.any():
            return self
        origin = replace(self.origin, repaired={**self.origin.repaired, what: jobs})
        return replace(self, repairs={**self.repairs, what: int(jobs.sum())}, origin=origin)

    def to_frame(self) -> pl.DataFrame:
        """A polars data frame with a row per job: the columns of :meth:`JobTable.to_frame`, then ``runtime`` [s]."""
        import polars as pl

        return self.jobs.to_frame(self.cluster.resources).with_columns(pl.Series("runtime", self.runtime))

    def _repr_html_(self) -> str:
        rows = self.cluster.rows()
        if len(self):
            jobs, span = self.jobs, int(self.jobs.submit[-1] - self.jobs.submit[0])
            median = f"{np.median(self.runtime) / 3600:,.2f} h of {np.median(jobs.walltime) / 3600:,.2f} h requested"
            rows += [("submitted within", f"{span / 86_400:,.1f} days"), ("runtime, median", median)]
            rows.append(("nodes of a job", f"{np.median(jobs.nodes):,g} (median) to {jobs.nodes.max():,}"))
            rows += [("load", f"{100 * (jobs.nodes @ self.runtime) / span / self.cluster.num_nodes:.0f} %")] * (
                span > 0
            )
        rows += [("partition", str(each)) for each in self.partitions]
        rows += [(what, f"{count:,}") for what, count in self.repairs.items()]
        rows += [("note", each.text) for each in self.diagnostics]
        return html_table(f"Workload of {counted(len(self), 'job')}: {self.name}", rows)

    def jittered(self, seconds: int, rng: np.random.Generator) -> Workload:
        """A copy whose submissions are moved by uniform whole seconds from -seconds to +seconds.

        No job moves before the first submission of the workload.
        """
        data = self.jobs.data.copy()
        moved = data[:, 1] + rng.integers(-seconds, seconds + 1, len(self))
        data[:, 1] = np.maximum(moved, data[:, 1].min() if len(self) else 0)
        return replace(self, jobs=JobTable(data, self.jobs.depends_on))


def _in_order(jobs: JobTable) -> bool:
    """Whether jobs stand by (submission, id)."""
    later = np.diff(jobs.submit)
    return bool((later >= 0).all() and (np.diff(jobs.id)[later == 0] > 0).all())


def _above(jobs: JobTable, capacity: IntArray) -> BoolArray:
    """Which jobs ask for more of something than there is."""
    above: BoolArray = jobs.nodes > capacity[0]
    return above | (jobs.demand > capacity[1:]).any(axis=1) if jobs.demand.size else above


def _check_times(jobs: JobTable, runtime: IntArray) -> None:
    """Refuse what would wrap around 63 bits in a replay or in the sums over it."""
    if not len(jobs):
        return
    if jobs.submit[0] < 0:
        raise ModelError(f"job {jobs.id[0]}: submit must be >= 0 s, got {jobs.submit[0]}")
    length = np.maximum(jobs.walltime, runtime).astype(np.float64)
    largest = max((length @ amount for amount in (jobs.nodes, *jobs.demand.T)), default=0.0)
    if float(jobs.submit[-1]) + max(length.sum(), largest) >= 2.0**62:
        at = int(length.argmax())
        raise ModelError(f"job {jobs.id[at]}: times or node-seconds are too large to schedule within 62 bits")


def _check_dependencies(jobs: JobTable) -> None:
    parents = jobs.depends_on
    if not parents:
        return
    order = np.argsort(jobs.id, kind="stable")
    known = jobs.id[order]
    number = np.fromiter(map(len, parents.values()), np.int64, len(parents))
    child = np.repeat(np.fromiter(parents, np.int64, len(parents)), number)
    parent = np.fromiter(chain.from_iterable(parents.values()), np.int64, int(number.sum()))
    at = np.minimum(np.searchsorted(known, parent), len(known) - 1)
    absent = np.flatnonzero(known[at] != parent)
    if absent.size:
        job, missing = child[absent[0]], parent[absent[0]]
        raise ModelError(f"job {job}: depends on job {missing}, which is not in the workload")
    # Jobs stand by submission. A cycle has to come back at some place.
    back = order[at] >= order[np.minimum(np.searchsorted(known, child), len(known) - 1)]
    _check_cycles(parents, child[back].tolist())


def _check_cycles(parents: Mapping[int, tuple[int, ...]], roots: Iterable[int]) -> None:
    state: dict[int, int] = {}  # 1 while its ancestors are visited, 2 afterwards
    for root in roots:
        stack = [root]
        while stack:
            job = stack[-1]
            if state.get(job) is None:
                state[job] = 1
                for parent in parents.get(job, ()):
                    if state.get(parent) == 1:
                        raise ModelError(f"job {job}: its dependencies form a cycle through job {parent}")
                    if state.get(parent) is None:
                        stack.append(parent)
            else:
                state[job] = 2
                stack.pop()
