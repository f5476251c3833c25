"""Writing Standard Workload Format: what is read back is what was written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.errors import TraceError
from transom.models import Cluster, Job, JobTable
from transom.traces import ReadingRules, TracedJob, Workload, read_swf, write_swf


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    nodes = draw(st.integers(1, 100_000))
    ids = draw(st.lists(st.integers(1, 2**40), min_size=1, max_size=20, unique=True))
    jobs = []
    for i, id_ in enumerate(ids):
        job = Job(
            id_,
            draw(st.integers(0, 2**40)),
            draw(st.integers(1, nodes)),
            draw(st.integers(1, 2**30)),
            user=draw(st.integers(-1, 1000)),
            depends_on=(draw(st.sampled_from(ids[:i])),) if i and draw(st.booleans()) else (),
        )
        jobs.append(TracedJob(job, draw(st.integers(1, 2**30))))
    return Workload.of(jobs, Cluster(nodes), "any name")


@settings(max_examples=60)
@given(workload=workloads(), packed=st.booleans())
def test_round_trip(tmp_path: Path, workload: Workload, packed: bool) -> None:
    path = tmp_path / ("any name.swf.gz" if packed else "any name.swf")
    write_swf(workload, path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == packed
    back = read_swf(path, ReadingRules(long_runs="keep", nonpositive="error", oversized="error"))
    assert (back.name, back.cluster, back.jobs) == (workload.name, workload.cluster, workload.jobs)
    assert dict(back.jobs.depends_on) == dict(workload.jobs.depends_on)
    assert np.array_equal(back.runtime, workload.runtime)
    assert set(back.repairs) <= {"runtime above the walltime, kept"}


def one(**changes: Any) -> Workload:
    job = Job(**{"id": 1, "submit": 5, "nodes": 2, "walltime": 9, **changes})
    return Workload.of([TracedJob(job, 3)], Cluster(4), "one")


def test_the_text(tmp_path: Path) -> None:
    write_swf(one(user=7), tmp_path / "x" / "one.swf")
    assert (tmp_path / "x" / "one.swf").read_text() == (
        "; Version: 2.2\n; Computer: one\n; MaxJobs: 1\n; MaxRecords: 1\n; MaxNodes: 4\n; MaxProcs: 4\n"
        "1 5 -1 3 2 -1 -1 2 9 -1 -1 7 -1 -1 -1 -1 -1 -1\n"
    )


def test_what_the_format_cannot_hold(tmp_path: Path) -> None:
    path = tmp_path / "t.swf"
    resources = Workload.of([TracedJob(Job(1, 0, 1, 1, (3,)), 1)], Cluster(4, ("gpu",), (8,)))
    with pytest.raises(TraceError, match=r"no field for the further resources \(gpu\)"):
        write_swf(resources, path)
    jobs = [Job(1, 0, 1, 1), Job(2, 0, 1, 1), Job(3, 0, 1, 1, depends_on=(1, 2))]
    with pytest.raises(TraceError, match="job 3: the format holds one preceding job, got 2"):
        write_swf(Workload.of([TracedJob(job, 1) for job in jobs], Cluster(4)), path)
    with pytest.raises(TraceError, match=r"t\.swf: a workload without jobs cannot be written"):
        write_swf(Workload("none", Cluster(4), JobTable([]), np.empty(0)), path)
    assert not list(tmp_path.iterdir())


def test_an_interrupt_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "one.swf.gz"
    write_swf(one(), path)
    before = path.read_bytes()
    written = gzip.GzipFile.write

    def interrupted(self: gzip.GzipFile, data: Any) -> int:
        written(self, data)
        raise KeyboardInterrupt

    monkeypatch.setattr(gzip.GzipFile, "write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_swf(one(nodes=3), path)
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["one.swf.gz"]
    assert isinstance(read_swf(path), Workload)


def test_same_workload_same_bytes(tmp_path: Path) -> None:
    write_swf(one(), tmp_path / "a.swf.gz")
    write_swf(one(), tmp_path / "b.swf.gz")
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()


def started(read: Workload) -> list[int]:
    assert read.origin.started is not None
    return cast("list[int]", read.origin.started.tolist())


def test_the_logged_wait_is_read_kept_with_the_job_and_written(tmp_path: Path) -> None:
    # Waits of 5 s and of none; the third job's is unknown, and what is no number of seconds counts as unknown.
    lines = ["1 100 5 10 1", "2 90 0 10 1", "3 80 -1 10 1", "4 70 -7.5 10 1"]
    (tmp_path / "log.swf").write_text("".join(f"{line} -1 -1 1 60 -1 1 -1 -1 -1 -1 -1 -1 -1\n" for line in lines))
    read = read_swf(tmp_path / "log.swf", nodes=4)
    assert read.jobs.id.tolist() == [4, 3, 2, 1]
    assert started(read) == [-1, -1, 90, 105]
    assert started(read.take(np.array([3, 0]))) == [-1, 105]
    write_swf(read, tmp_path / "copy.swf")
    assert started(read_swf(tmp_path / "copy.swf")) == [-1, -1, 90, 105]
    assert one().origin.started is None
