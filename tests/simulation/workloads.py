"""Workloads for the tests of the replay."""

from __future__ import annotations

from hypothesis import strategies as st

from transom.models import Cluster, Job
from transom.traces import TracedJob, Workload


@st.composite
def workloads(
    draw: st.DrawFn,
    max_jobs: int = 12,
    exact: bool = False,
    resources: int = 0,
    dependencies: bool = False,
    overrun: bool = False,
) -> Workload:
    """Small workloads on 8 nodes, with many ties in every column; with ``overrun`` jobs may outrun their walltime."""
    count = draw(st.integers(1, max_jobs))
    capacities = tuple(draw(st.integers(1, 5)) for _ in range(resources))
    jobs = []
    for i in range(count):
        walltime = draw(st.integers(1, 12))
        parents = ()
        if dependencies and i:
            parents = tuple(draw(st.lists(st.integers(1, i), max_size=2, unique=True)))
        job = Job(
            id=i + 1,
            submit=draw(st.integers(0, 20)) if i else 0,
            nodes=draw(st.integers(1, 8)),
            walltime=walltime,
            demand=tuple(draw(st.integers(0, c)) for c in capacities),
            depends_on=parents,
        )
        longest = 2 * walltime if overrun else walltime
        jobs.append(TracedJob(job, walltime if exact else draw(st.integers(1, longest))))
    cluster = Cluster(8, tuple(f"r{i}" for i in range(resources)), capacities)
    return Workload.of(jobs, cluster, "random")
