"""A policy live in a real Slurm beside its replays: ``python -m benchmarks.live TRACE [--jobs 200] [--faster X]``.

An emulated Slurm on a clock of twenty times the speed gets the first jobs of a trace, held and when they arrive, and
``transom slurm run --mode drive`` starts them. What Slurm did is compared with three replays under the same policy:

- of the trace, whose jobs end after their runtimes and give all nodes back at once;
- of Slurm's record, whose jobs end when Slurm says so, before their nodes are idle again;
- of the jobs as the driver saw them: submitted at the first look that showed them, and running from the look that
  started them to the one that showed all their nodes idle again. This replay has the events of the live run.

Prints for each how many pairs of jobs started in another order, how many jobs ran on other nodes, and the median and
the largest difference of starts in seconds of Slurm's clock; and how many jobs ran on other nodes than Slurm was asked
for. Needs what the tests of an emulated Slurm need: root, slurmctld, slurmd and faketime.
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

from benchmarks.live_jobs import as_seen, as_submitted
from tests.slurm.cluster import EmulatedSlurm, missing
from tests.slurm.driving import Drive, asked_nodes
from tests.slurm.release import Release
from transom import read_swf, simulate
from transom.models import Cluster, FatTree
from transom.simulation.core.node_runs import NodeRuns
from transom.slurm import playing
from transom.traces import Workload
from transom.traces.cut import cut
from transom.traces.records.hostlist import hosts
from transom.traces.trace_file import write_trace

_LONGEST = 3600.0  # until all jobs have ended [s]


class Compared(NamedTuple):
    """Live beside a replay: jobs, pairs that started in another order, jobs on other nodes, the median and the largest
    difference of starts [s of Slurm's clock]."""

    jobs: int
    order: int
    other_nodes: int
    median: float
    largest: int


class Live(NamedTuple):
    """What happened beside the replays of the trace, of Slurm's record and of what the driver saw; how many jobs ran
    elsewhere than Slurm was asked."""

    trace: Compared
    record: Compared
    seen: Compared
    elsewhere: int


def run_live(slurm: EmulatedSlurm, workload: Workload, faster: float, policy: str) -> Live:
    """Play a workload while a policy drives, and compare what happened with its replays."""
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
    cluster = Cluster(slurm.nodes, topology=FatTree.uniform(slurm.nodes, slurm.leaf, slurm.nodes))
    ids = {int(label): job for label, job in trace.jobs.select("label", "id").iter_rows()}
    recorded = read_swf(path)
    replays = (
        as_submitted(workload, faster, int(trace.jobs["submit"].min() or 0), cluster),
        replace(recorded, cluster=replace(recorded.cluster, topology=cluster.topology)),
        as_seen(drive.audit, ids),
    )
    ran = {each["JobId"]: set(hosts(each["NodeList"])) for each in slurm.completed()}
    elsewhere = sum(ran[job] != set(hosts(nodes)) for job, nodes in asked_nodes(drive.audit).items())
    return Live(*(compare(slurm, trace.jobs, each, policy) for each in replays), elsewhere)


def compare(slurm: EmulatedSlurm, record: pl.DataFrame, workload: Workload, policy: str) -> Compared:
    """What Slurm recorded beside the replay of a workload with the same ids."""
    schedule = simulate(workload, policy)
    assert schedule.runs is not None
    listed = {job: (start, nodes) for job, start, nodes in record.select("id", "start", "node_list").iter_rows()}
    jobs = schedule.jobs.id.tolist()
    started = np.array([listed[job][0] for job in jobs])
    order = np.sign(started[:, None] - started) * np.sign(schedule.start[:, None] - schedule.start) < 0
    there = _names(schedule.runs, slurm.names)
    other = sum(set(hosts(listed[job][1])) != names for job, names in zip(jobs, there, strict=True))
    apart = np.abs(schedule.start - started)
    return Compared(len(jobs), int(np.triu(order).sum()), other, float(np.median(apart)), int(apart.max()))


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
    parser.add_argument("--root", type=Path, help="of another release of Debian, whose Slurm runs")
    options = parser.parse_args()
    release = Release(options.root and options.root.resolve())
    if (why := missing(options.speed, release=release)) is not None:
        raise SystemExit(why)
    with tempfile.TemporaryDirectory(prefix="slurm") as folder:
        Path(folder).chmod(0o755)
        with EmulatedSlurm(Path(folder), options.nodes, speed=options.speed, release=release) as slurm:
            workload = cut(read_swf(options.trace), jobs=options.jobs)
            found = run_live(slurm, workload, options.faster, options.policy)
    print(f"{found.trace.jobs} jobs under {options.policy}, live at {options.speed} times the speed beside replays;")
    print("differences of starts in seconds of Slurm's clock")
    for what, each in (("the trace", found.trace), ("Slurm's record", found.record), ("what was seen", found.seen)):
        pairs = each.jobs * (each.jobs - 1) // 2
        print(
            f"{what + ':':16}{each.order} of {pairs} pairs in another order, {each.other_nodes} of {each.jobs} jobs on "
            f"other nodes, median {each.median:g}, largest {each.largest}"
        )
    print(f"jobs elsewhere than Slurm was asked: {found.elsewhere}")


if __name__ == "__main__":
    main()
