"""Cutting a stretch out of a workload."""

from __future__ import annotations

import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job
from transom.traces import TracedJob, Workload, cut


@pytest.fixture
def ten() -> Workload:
    jobs = [Job(i + 1, 10 * i, 1, 5, depends_on=(i,) if i else ()) for i in range(10)]
    return Workload.of([TracedJob(job, 5) for job in jobs], Cluster(4), "ten")


def test_a_stretch_keeps_times_and_inner_dependencies(ten: Workload) -> None:
    part = cut(ten, 3, 2)
    assert part.jobs.id.tolist() == [4, 5]
    assert part.jobs.submit.tolist() == [30, 40]
    assert dict(part.jobs.depends_on) == {5: (4,)}
    assert cut(ten, 8).jobs.id.tolist() == [9, 10]
    assert cut(ten) == ten


@pytest.mark.parametrize(
    ("start", "jobs", "message"),
    [
        (10, None, "ten: start must be from 0 to 9, got 10"),
        (-1, 2, "ten: start must be from 0 to 9, got -1"),
        (8, 3, "ten: jobs must be from 1 to 2 from start 8 on, got 3"),
        (0, 0, "ten: jobs must be from 1 to 10 from start 0 on, got 0"),
    ],
)
def test_outside_is_an_error(ten: Workload, start: int, jobs: int | None, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        cut(ten, start, jobs)
