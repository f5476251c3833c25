"""Answers follow from the past alone, and the walltime plan is what the engine makes of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from transom.cli import run
from transom.forecast.questions import ask
from transom.models import JobTable
from transom.models.job import NODES, WALLTIME
from transom.simulation import simulate
from transom.traces import Workload, read_swf
from transom.traces.further_fields import read_applications
from transom.traces.trace_file import TraceCard, complete, write_trace


@pytest.mark.parametrize("policy", ["fcfs-easy", "sjf-easy", "bounded-easy:backlogs=0.2", "fcfs-conservative"])
def test_later_lines_and_runtimes_change_nothing(workload: Workload, policy: str) -> None:
    start = simulate(workload, policy).start
    place = int(np.flatnonzero(start[300:] - workload.jobs.submit[300:] > 600)[0]) + 300
    now, job = workload.jobs.submit[place], int(workload.jobs.id[place])
    told = ask(workload, policy, [job])
    data, runtime = workload.jobs.data.copy(), workload.runtime.copy()
    data[place + 1 :, NODES], data[place + 1 :, WALLTIME] = 1, 77
    runtime[place + 1 :] = 5
    going = start + workload.runtime > now
    runtime[: place + 1][going[: place + 1]] = workload.jobs.walltime[: place + 1][going[: place + 1]]
    altered = Workload("made", workload.cluster, JobTable(data), runtime)
    assert ask(altered, policy, [job]) == told
    assert told[0].p10 <= told[0].p50 <= told[0].p90
    # In the altered trace jobs run to their limits: without what is submitted later its replay is the plan.
    assert simulate(altered.take(np.arange(place + 1)), policy).start[place] == told[0].plan


def test_an_imported_trace_answers_as_the_same_jobs_in_swf(tmp_path: Path) -> None:
    swf = Path("examples/slurm_60.swf")
    read = read_swf(swf)
    told = ask(read, "fcfs-easy", [40, 50], name=read_applications(swf, read.jobs.id))
    assert any(each.plan > each.now for each in told)
    assert run(["import", "swf", str(swf), "-o", str(tmp_path / "t.parquet")]) == 0
    imported = read_swf(tmp_path / "t.parquet")
    assert (
        ask(imported, "fcfs-easy", [40, 50], name=read_applications(tmp_path / "t.parquet", imported.jobs.id)) == told
    )


def test_applications_are_names_without_digits(tmp_path: Path) -> None:
    frame = complete(pl.DataFrame({"id": [3, 1, 2, 4], "name": ["run_1", "", "run_22", "other"]}))
    write_trace(tmp_path / "t.parquet", frame, TraceCard())
    found = read_applications(tmp_path / "t.parquet", np.array([1, 2, 3, 4])).tolist()
    assert found[0] == -1
    assert found[1] == found[2] != found[3]
