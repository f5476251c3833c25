"""Cutting a stretch out of a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job
from transom.traces import TracedJob, Workload, cut, read_swf


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


def test_repairs_are_those_of_the_stretch(tmp_path: Path) -> None:
    """Of six jobs the second and the fourth outrun their walltimes, the fifth requests none, the last has no size."""
    rows = [(1, 10, 5, 20), (2, 20, 9, 5), (3, 30, 5, 20), (4, 40, 9, 5), (5, 50, 9, -1)]
    lines = [f"{id_} {submit} 0 {run} 2 -1 -1 2 {wall} -1 1 1 1 1 1 1 -1 -1" for id_, submit, run, wall in rows]
    lines.append("6 60 0 5 0 -1 -1 0 20 -1 1 1 1 1 1 1 -1 -1")
    path = tmp_path / "some.swf"
    path.write_text("\n".join(["; MaxProcs: 4", *lines, ""]))
    whole = read_swf(path)
    assert dict(whole.repairs) == {
        "left out: size unknown or <= 0": 1,
        "walltime taken from the runtime": 1,
        "runtime above the walltime, cut": 2,
    }
    left_out = {"left out of the whole trace: size unknown or <= 0": 1}
    assert dict(cut(whole, 0, 3).repairs) == {**left_out, "runtime above the walltime, cut": 1}
    assert dict(cut(whole, 4).repairs) == {**left_out, "walltime taken from the runtime": 1}
    assert dict(cut(cut(whole, 1), 0, 2).repairs) == {**left_out, "runtime above the walltime, cut": 1}
    assert cut(whole).repairs == whole.repairs
