"""Rules of repair: each option changes what it says and counts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.test_swf import line, write
from transom.errors import SpecError
from transom.traces import ReadingRules, read_swf


def test_size_rules(tmp_path: Path) -> None:
    text = line(f1=1, f5=4, f8=3) + line(f1=2, f5=5, f8=-1) + line(f1=3, f5=0, f8=2)
    path = write(tmp_path, "; MaxProcs: 10\n" + text)
    requested = read_swf(path)
    assert requested.jobs.nodes.tolist() == [3, 5, 2]
    assert requested.repairs == {"size taken from the allocated one": 1}
    allocated = read_swf(path, ReadingRules(nodes="allocated"))
    assert allocated.jobs.nodes.tolist() == [4, 5, 2]
    assert allocated.repairs == {"size taken from the requested one": 1}
    largest = read_swf(path, ReadingRules(nodes="max"))
    assert largest.jobs.nodes.tolist() == [4, 5, 2]
    assert largest.repairs == {}


def test_walltime_rules(tmp_path: Path) -> None:
    path = write(tmp_path, "; MaxProcs: 2\n" + line(f1=1, f9=-1) + line(f1=2) + line(f1=3, f9=0, f4=-1))
    default = read_swf(path)
    assert default.jobs.walltime.tolist() == [10, 20]
    assert default.repairs == {"left out: runtime unknown or <= 0": 1, "walltime taken from the runtime": 1}
    strict = read_swf(path, ReadingRules(walltime="requested"))
    assert strict.jobs.id.tolist() == [2]
    assert strict.repairs == {"left out: runtime unknown or <= 0": 1, "left out: no requested time": 1}


def test_long_runs(tmp_path: Path) -> None:
    path = write(tmp_path, "; MaxProcs: 2\n" + line(f1=1, f4=30) + line(f1=2))
    assert read_swf(path).runtime.tolist() == [20, 10]
    assert read_swf(path).repairs == {"runtime above the walltime, cut": 1}
    kept = read_swf(path, ReadingRules(long_runs="keep"))
    assert kept.runtime.tolist() == [30, 10]
    assert kept.repairs == {"runtime above the walltime, kept": 1}
    dropped = read_swf(path, ReadingRules(long_runs="drop"))
    assert dropped.jobs.id.tolist() == [2]
    assert dropped.repairs == {"left out: runtime above the walltime": 1}


def test_a_job_is_counted_for_its_first_fault_only(tmp_path: Path) -> None:
    bad = line(f1=-1, f2=-1, f4=-1) + line(f1=2, f2=-1, f4=-1) + line(f1=3, f4=-1, f5=-1, f8=-1) + line(f1=4, f4=-1)
    workload = read_swf(write(tmp_path, "; MaxProcs: 2\n" + line() + bad + line(f1=5, f8=3)))
    assert workload.jobs.id.tolist() == [1]
    assert workload.repairs == {
        "left out: id <= 0": 1,
        "left out: submission before 0 s": 1,
        "left out: size unknown or <= 0": 1,
        "left out: runtime unknown or <= 0": 1,
        "left out: larger than the machine": 1,
    }


def test_dependencies_on_jobs_that_are_not_there_are_dropped(tmp_path: Path) -> None:
    text = line(f1=1) + line(f1=2, f17=1, f18=60) + line(f1=3, f17=9) + line(f1=4, f4=-1) + line(f1=5, f17=4)
    workload = read_swf(write(tmp_path, "; MaxProcs: 2\n" + text + line(f1=6, f17=0)))
    assert dict(workload.jobs.depends_on) == {2: (1,)}
    assert workload.repairs["dependency dropped: the other job is not there"] == 2


def test_executions_of_an_interrupted_job_are_not_jobs(tmp_path: Path) -> None:
    text = line(f1=1, f4=9, f11=1) + line(f1=1, f4=4, f11=2) + line(f1=1, f4=5, f11=3) + line(f1=2, f4=7, f11=4)
    workload = read_swf(write(tmp_path, "; MaxProcs: 2\n" + text))
    assert workload.runtime.tolist() == [9, 7]  # job 2 has no other line
    assert workload.repairs == {"left out: part of a job that has a line of its own": 2}


def test_unknown_values_of_rules_are_refused() -> None:
    with pytest.raises(SpecError, match="reading rule long_runs: expected cut or keep or drop, got 'kill'"):
        ReadingRules(long_runs="kill")
