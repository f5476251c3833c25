"""A policy live in a real Slurm beside its replay: ``python -m benchmarks.live TRACE [--jobs 200] [--faster X]``.

An emulated Slurm on a clock of twenty times the speed gets the first jobs of a trace, held and when they arrive, and
``transom slurm run --mode drive`` starts them. What Slurm recorded is then replayed under the same policy. Prints how
many pairs of jobs started in another order than in the replay, how many jobs ran on other nodes than there, the median
and the largest difference of starts in seconds of Slurm's clock, and how many jobs ran on other nodes than Slurm was
asked for. The differences are those between two looks and those that follow from them: a busy machine has larger ones.
Needs what the tests of an emulated Slurm need: root, slurmctld, slurmd and faketime.
"""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl

from tests.slurm.cluster import EmulatedSlurm, missing
from tests.slurm.driving import Drive, asked_nodes
from transom import read_swf, simulate
from transom.models import FatTree
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.slurm import playing
from transom.traces import Workload
from transom.traces.cut import cut
from transom.traces.records.hostlist import hosts
from transom.traces.trace_file import write_trace

_LONGEST = 3600.0  # until all jobs have ended [s]


class Compared(NamedTuple):
    """Live beside simulated: jobs, pairs that started in another order, jobs on other nodes, the median and the largest
    difference of starts [s of Slurm's clock], and jobs that ran elsewhere than Slurm was asked."""

    jobs: int
    order: int
    other_nodes: int
    median: float
    largest: int
    elsewhere: int


def run_live(slurm: EmulatedSlurm, workload: Workload, faster: float, policy: str) -> tuple[Path, dict[str, str]]:
    """Play a workload while a policy drives; the record, and the nodes that were asked for by Slurm's numbers."""
    manner = playing.Manner(faster=faster, held=True, clock=slurm.speed)
    with (
        patch.dict(os.environ, slurm.environment),
        Drive(slurm, "--policy", policy, "--select", "all", "--lease", "3600") as drive,
    ):
        numbers = list(playing.play(workload, manner))
        slurm.wait(lambda: len(slurm.completed()) >= len(numbers), "all jobs have ended", _LONGEST)
        trace = playing.record()
    path = slurm.folder / "record.parquet"
    write_trace(path, trace.jobs, trace.card)
    return path, asked_nodes(drive.audit)


def compare(slurm: EmulatedSlurm, record: Path, asked: dict[str, str], policy: str) -> Compared:
    """What happened beside the replay of its record."""
    workload = read_swf(record)
    tree = FatTree.uniform(slurm.nodes, slurm.leaf, slurm.nodes)
    workload = replace(workload, cluster=replace(workload.cluster, topology=tree))
    started, schedule = workload.origin.started, simulate(workload, policy)
    assert started is not None
    assert schedule.runs is not None
    pairs = np.triu(np.sign(started[:, None] - started) * np.sign(schedule.start[:, None] - schedule.start) < 0)
    apart: IntArray = np.abs(schedule.start - started)
    listed = dict(pl.read_parquet(record).select("id", "node_list").iter_rows())
    there = _names(schedule.runs, slurm.names)
    other = sum(set(hosts(listed[job])) != names for job, names in zip(schedule.jobs.id.tolist(), there, strict=True))
    ran = {each["JobId"]: set(hosts(each["NodeList"])) for each in slurm.completed()}
    elsewhere = sum(ran[job] != set(hosts(nodes)) for job, nodes in asked.items())
    return Compared(len(started), int(pairs.sum()), other, float(np.median(apart)), int(apart.max()), elsewhere)


def _names(runs: NodeRuns, names: list[str]) -> list[set[str]]:
    """The nodes of each job of a replay."""
    found = []
    for begin, end in itertools.pairwise(runs.offsets.tolist()):
        ids = (range(runs.first[i], runs.last[i] + 1) for i in range(begin, end))
        found.append({names[node] for each in ids for node in each})
    return found


def main() -> None:
    """Play, drive, record, replay, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=32)
    parser.add_argument("--speed", type=int, default=20)
    parser.add_argument("--faster", type=float, default=1.0, help="divides all times of the trace")
    parser.add_argument("--policy", default="fcfs-easy")
    options = parser.parse_args()
    if (why := missing(options.speed)) is not None:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        Path(folder).chmod(0o755)
        with EmulatedSlurm(Path(folder), nodes=options.nodes, speed=options.speed) as slurm:
            workload = cut(read_swf(options.trace), jobs=options.jobs)
            record, asked = run_live(slurm, workload, options.faster, options.policy)
            found = compare(slurm, record, asked, options.policy)
    pairs = found.jobs * (found.jobs - 1) // 2
    print(f"{found.jobs} jobs under {options.policy}, live beside simulated, at {options.speed} times the speed")
    print(f"pairs of jobs in another order: {found.order} of {pairs}")
    print(f"jobs on other nodes: {found.other_nodes}; elsewhere than Slurm was asked: {found.elsewhere}")
    print(f"difference of starts [s of Slurm's clock]: median {found.median:g}, largest {found.largest}")


if __name__ == "__main__":
    main()
