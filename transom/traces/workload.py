"""A workload: jobs with their real runtimes, and the machine they ran on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable
from transom.models._arrays import Frozen, IntArray, expected, frozen_ints


@dataclass(frozen=True, slots=True)
class TracedJob:
    """A job and its real runtime [s], which no policy ever sees."""

    job: Job
    runtime: int


@dataclass(frozen=True, eq=False, slots=True)
class Workload(Frozen):
    """Jobs by (submission, id) and their real runtimes; the order given does not matter.

    Parameters
    ----------
    name : what to call it in tables and figures.
    cluster : the machine.
    jobs : the jobs; each fits on the machine.
    runtime : real runtimes [s], > 0, shape ``(jobs,)``; one job after another must end before 2**62 s,
        and their node-seconds add up to less. A job is killed at its walltime unless the
        reader was told to keep longer runs, so a runtime may exceed the walltime only on request.
    repairs : what the reader changed or left out: rule -> number of jobs.

    Raises
    ------
    ModelError : a runtime is not positive, a job is larger than the machine, or dependencies name
        a job that is not there or form a cycle.
    """

    name: str
    cluster: Cluster
    jobs: JobTable
    runtime: IntArray
    repairs: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        expected(self.cluster, Cluster, "workload: cluster", "a Cluster")
        expected(self.jobs, JobTable, "workload: jobs", "a JobTable")
        expected(self.repairs, Mapping, "workload: repairs", "numbers of jobs by rule")
        runtime = frozen_ints(self.runtime, "workload: runtime", (len(self.jobs),))
        resources = len(self.cluster.resources)
        jobs = self.jobs if len(self.jobs) else JobTable(np.empty((0, JobTable([]).data.shape[1] + resources)))
        order = np.lexsort((jobs.id, jobs.submit))
        if (np.diff(order) != 1).any():
            jobs, runtime = jobs.take(order), runtime[order]
            runtime.flags.writeable = False
        bad = np.flatnonzero(runtime <= 0)
        if bad.size:
            raise ModelError(f"job {jobs.id[bad[0]]}: runtime must be > 0 s, got {runtime[bad[0]]}")
        if len(jobs) and jobs.demand.shape[1] != resources:
            raise ModelError(f"workload: jobs state {jobs.demand.shape[1]} resources, the cluster {resources}")
        capacity = np.array([self.cluster.num_nodes, *self.cluster.capacities])
        asked = np.column_stack((jobs.nodes, jobs.demand))
        bad = np.flatnonzero((asked > capacity).any(axis=1)) if len(jobs) else np.empty(0, np.int64)
        if bad.size:
            raise ModelError(f"job {jobs.id[bad[0]]}: asks for {asked[bad[0]].tolist()} of {capacity.tolist()}")
        _check_times(jobs, runtime)
        _check_dependencies(jobs)
        object.__setattr__(self, "jobs", jobs)
        object.__setattr__(self, "repairs", MappingProxyType(dict(self.repairs)))
        object.__setattr__(self, "runtime", runtime)

    @classmethod
    def of(cls, jobs: Iterable[TracedJob], cluster: Cluster, name: str = "workload") -> Workload:
        """The workload of ``jobs``."""
        listed = list(jobs)
        return cls(name, cluster, JobTable.of(t.job for t in listed), np.array([t.runtime for t in listed], np.int64))

    def __len__(self) -> int:
        return len(self.jobs)

    def __getitem__(self, index: int) -> TracedJob:
        return TracedJob(self.jobs[index], int(self.runtime[index]))

    def take(self, index: ArrayLike) -> Workload:
        """The jobs at ``index`` (distinct positions or a mask); dependencies on jobs left out are dropped."""
        index = np.asarray(index)
        if index.dtype != bool:
            index = index.astype(np.int64)
            if len(np.unique(index)) < len(index):
                raise ModelError("workload: a job is taken twice")
        jobs = self.jobs.take(index)
        if jobs.depends_on:
            here = set(jobs.id.tolist())
            kept = {job: tuple(p for p in parents if p in here) for job, parents in jobs.depends_on.items()}
            jobs = JobTable(jobs.data, kept)
        return replace(self, jobs=jobs, runtime=self.runtime[index])

    def jittered(self, seconds: int, rng: np.random.Generator) -> Workload:
        """A copy whose submissions are moved by uniform whole seconds from -seconds to +seconds.

        No job moves before the first submission of the workload.
        """
        data = self.jobs.data.copy()
        moved = data[:, 1] + rng.integers(-seconds, seconds + 1, len(self))
        data[:, 1] = np.maximum(moved, data[:, 1].min() if len(self) else 0)
        return replace(self, jobs=JobTable(data, self.jobs.depends_on))


def _check_times(jobs: JobTable, runtime: IntArray) -> None:
    """Refuse what would wrap around 63 bits in a replay or in the sums over it."""
    if not len(jobs):
        return
    if jobs.submit[0] < 0:
        raise ModelError(f"job {jobs.id[0]}: submit must be >= 0 s, got {jobs.submit[0]}")
    length = np.maximum(jobs.walltime, runtime).astype(np.float64)
    amounts = np.column_stack((np.ones(len(jobs)), jobs.nodes, jobs.demand))
    if float(jobs.submit[-1]) + (length @ amounts).max() >= 2.0**62:
        at = int(length.argmax())
        raise ModelError(f"job {jobs.id[at]}: times or node-seconds are too large to schedule within 62 bits")


def _check_dependencies(jobs: JobTable) -> None:
    if not jobs.depends_on:
        return
    known = set(jobs.id.tolist())
    missing = {job: [p for p in parents if p not in known] for job, parents in jobs.depends_on.items()}
    for job, absent in missing.items():
        if absent:
            raise ModelError(f"job {job}: depends on job {absent[0]}, which is not in the workload")
    state: dict[int, int] = {}  # 1 while its ancestors are visited, 2 afterwards
    for root in jobs.depends_on:
        stack = [root]
        while stack:
            job = stack[-1]
            if state.get(job) is None:
                state[job] = 1
                for parent in jobs.depends_on.get(job, ()):
                    if state.get(parent) == 1:
                        raise ModelError(f"job {job}: its dependencies form a cycle through job {parent}")
                    if state.get(parent) is None:
                        stack.append(parent)
            else:
                state[job] = 2
                stack.pop()
