from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable
from transom.simulation import simulate
from transom.traces import TracedJob, Workload
from transom.traces.origin import Origin


def one(**change: int) -> Workload:
    facts = {"id": 1, "submit": 0, "nodes": 1, "walltime": 10, **change}
    return Workload.of([TracedJob(Job(**facts), 5)], Cluster(10**6))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"submit": -1}, "job 1: submit must be >= 0 s, got -1"),
        ({"submit": 2**62}, "job 1: times or node-seconds are too large"),
        ({"walltime": 2**62}, "job 1: times or node-seconds are too large"),
        ({"walltime": 2**50, "nodes": 10**6}, "job 1: times or node-seconds are too large"),
        ({"nodes": 10**6 + 1}, r"job 1: asks for \[1000001\] of \[1000000\]"),
    ],
)
def test_what_cannot_be_scheduled_is_refused(change: dict[str, int], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        one(**change)


def test_dependencies_must_be_there_and_end_somewhere() -> None:
    def chain(*parents: tuple[int, ...]) -> Workload:
        jobs = [Job(i + 1, 0, 1, 1, depends_on=of) for i, of in enumerate(parents)]
        return Workload.of([TracedJob(job, 1) for job in jobs], Cluster(4))

    assert len(chain((), (1,), (1, 2), (2, 3))) == 4
    with pytest.raises(ModelError, match="depends on job 9, which is not in the workload"):
        chain((9,))
    with pytest.raises(ModelError, match="its dependencies form a cycle"):
        chain((), (3,), (2,))


def test_taking_jobs() -> None:
    jobs = [TracedJob(Job(i, i, 1, 9, depends_on=(1,) if i == 3 else ()), i) for i in range(1, 5)]
    workload = Workload.of(jobs, Cluster(4))
    assert workload.take([2, 0]).jobs.id.tolist() == [1, 3]
    assert workload.take([2]).jobs.depends_on == {}
    assert workload.take(np.array([True, False, False, True])).runtime.tolist() == [1, 4]
    assert len(workload.take([])) == 0
    with pytest.raises(ModelError, match="taken twice"):
        workload.take([0, 0])


def test_nothing_on_a_machine_with_resources() -> None:
    empty = Workload.of([], Cluster(4, ("gpu",), (2,)))
    assert empty.jobs.demand.shape == (0, 1)
    assert len(simulate(empty, "fcfs-conservative")) == 0


def test_jitter_moves_within_bounds_and_is_seeded() -> None:
    rows = [(i, 1000 + 7 * i, 1, 9, -1, -1) for i in range(1, 200)]
    workload = Workload("w", Cluster(4), JobTable(rows), np.full(199, 9))
    moved = workload.jittered(60, np.random.default_rng(1))
    again = workload.jittered(60, np.random.default_rng(1))
    assert moved == again != workload
    before = dict(zip(workload.jobs.id.tolist(), workload.jobs.submit.tolist(), strict=True))
    after = dict(zip(moved.jobs.id.tolist(), moved.jobs.submit.tolist(), strict=True))
    assert all(abs(after[job] - before[job]) <= 60 for job in before)
    assert min(after.values()) >= min(before.values())


def test_origins_are_compared_by_content() -> None:
    origins = [Origin(partition=np.array([1, 2, last]), names={1: "big"}) for last in (2, 2, 3)]
    assert origins[0] == origins[1] != origins[2]
    assert hash(origins[0]) == hash(origins[1])
