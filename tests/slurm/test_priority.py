"""Priorities as the replay computes them beside those of a real Slurm."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.slurm.cluster import EmulatedSlurm
from transom.simulation.passes.slurm_priority import priority_at
from transom.simulation.policies.slurm_priority import slurm_priorities
from transom.traces import read_swf
from transom.traces.job_facts import job_facts
from transom.traces.records.slurm import read_slurm
from transom.traces.records.slurm_text.priority import read_priority_terms
from transom.traces.trace_file import write_trace


@pytest.mark.parametrize("further", [{}, {"PriorityFavorSmall": "YES"}, {"PriorityFlags": "SMALL_RELATIVE_TO_TIME"}])
def test_priorities_are_those_of_a_live_slurm(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path, further: dict[str, str]
) -> None:
    settings = {
        "PriorityType": "priority/multifactor",
        "PriorityWeightJobSize": "100000",
        "PriorityWeightPartition": "1000",
        "PriorityWeightTRES": "CPU=5000,Node=3000",
        **further,
    }
    slurm = emulated_slurm(nodes=4, leaf=0, settings=settings)
    slurm.submit("sleep 600", "--nodes=4", "--time=10")
    slurm.wait(lambda: list(slurm.states().values()) == ["RUNNING"], "the first job runs")
    for nodes, minutes in ((1, 5), (2, 30), (3, 10), (4, 60)):
        slurm.submit("sleep 60", f"--nodes={nodes}", f"--time={minutes}")
    lines = slurm.run("squeue", "-h", "-t", "PENDING", "-o", "%i %Q").splitlines()
    live = {int(job): int(priority) for job, priority in (line.split() for line in lines)}
    (tmp_path / "jobs.txt").write_text(slurm.run("scontrol", "show", "job"))
    read = read_slurm([str(tmp_path / "jobs.txt")])
    ended = read.jobs.with_columns(runtime=pl.lit(60), start="submit", state=pl.lit("COMPLETED"))
    write_trace(tmp_path / "live.parquet", ended, read.card)
    workload = read_swf(tmp_path / "live.parquet")
    jobs, terms = workload.jobs, read_priority_terms(str(slurm.conf))
    ours = slurm_priorities(terms, job_facts(workload), jobs.submit, jobs.walltime, {}, {})
    found = {job: priority_at(ours, i, 0) for i, job in enumerate(jobs.id.tolist())}
    assert len(live) == 4
    assert {job: found[job] for job in live} == live, slurm.run("sprio", "-l")
