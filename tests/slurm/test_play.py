"""A trace played through a real Slurm, recorded, and replayed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Ran, transom
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.playing import Played, write_played
from transom.simulation import simulate
from transom.traces import read_swf
from transom.traces.records.hostlist import hosts

__all__ = ["transom"]


def use(slurm: EmulatedSlurm, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SLURM_CONF", "PATH"):
        monkeypatch.setenv(name, slurm.environment[name])


def ended(slurm: EmulatedSlurm, count: int) -> bool:
    return len(slurm.completed()) >= count


def test_a_trace_is_played_recorded_and_replayed(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    slurm = emulated_slurm(nodes=4, leaf=2, speed=20)
    use(slurm, monkeypatch)
    jobs = [Played(0, 3, 80, 120), Played(5, 4, 80, 60), Played(20, 1, 60, 20)]  # limits of minutes of our clock
    write_played(slurm, jobs, tmp_path / "trace.swf")
    played = transom("slurm", "play", tmp_path / "trace.swf", "--clock", "20", "--json", "-q", "--sbatch=--switches=2")
    assert played.status == 0, played.err
    assert len(played.lines[0]["jobs"]) == 3
    slurm.wait(lambda: ended(slurm, 3), "all jobs have ended")
    assert transom("slurm", "record", "-o", tmp_path / "record.parquet", "-q").status == 0
    frame = pl.read_parquet(tmp_path / "record.parquet")
    assert frame["id"].to_list() == [1, 2, 3]
    assert [len(hosts(nodes)) for nodes in frame["node_list"]] == [3, 4, 1]
    assert frame["walltime"].to_list() == [4800, 4800, 3600]
    workload = read_swf(tmp_path / "record.parquet")
    assert workload.cluster.num_nodes == 4
    # Each slept for its runtime; how much longer it took the machine to end it is what Slurm itself recorded.
    ran = sorted(slurm.completed(), key=lambda each: int(each["JobId"]))
    begin, end = (np.array([each[name] for each in ran], "datetime64[s]") for name in ("StartTime", "EndTime"))
    assert workload.runtime.tolist() == (end - begin).astype(int).tolist()
    assert (workload.runtime >= np.array([120, 60, 20]) - 20).all()
    assert simulate(workload, "fcfs-easy").start[0] == workload.jobs.submit[0]


def test_a_refused_job_is_named(
    emulated_slurm: Callable[..., EmulatedSlurm],
    transom: Callable[..., Ran],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    slurm = emulated_slurm(nodes=2, leaf=0)
    use(slurm, monkeypatch)
    write_played(slurm, [Played(0, 2, 4, 1)], tmp_path / "trace.swf")
    ran = transom("slurm", "play", tmp_path / "trace.swf", "-q", "--sbatch=--partition=none")
    assert ran.status == 2
    assert ran.err.startswith("error: job 1: sbatch")
    assert "at once" in transom("slurm", "play", tmp_path / "trace.swf", "--held", "--at-once").err
