"""Recorded replays whose jobs, users and partitions have names that would be markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tests.report.rows import EVIL
from transom.cli import run
from transom.generate import generate_lublin
from transom.models import Cluster, JobTable
from transom.simulation import simulate
from transom.simulation.runs import Run, replay
from transom.traces import Workload
from transom.traces.outages import parse_outages
from transom.traces.trace_file import TraceCard, complete, write_trace

POLICIES = ("fcfs-easy", "sjf-easy", "fcfs-conservative")


def made_up(jobs: int = 400) -> Workload:
    """Jobs of nine users; some depend on others, some run past their walltime, some are submitted together."""
    plain = generate_lublin(jobs, 64, np.random.default_rng(4), load=1.1)
    rng = np.random.default_rng(5)
    data = plain.jobs.data.copy()
    data[:, 1] = data[:, 1] // 300 * 300
    data[:, 4] = rng.integers(1, 10, jobs)
    data[:, 3] = np.maximum(1, data[:, 3] * rng.uniform(0.8, 3, jobs))
    ids = data[:, 0].tolist()
    parents = {ids[i]: (ids[i - 7],) for i in range(20, jobs, 29)}
    return replace(plain, jobs=JobTable(data, parents))


def recorded(folder: Path, *more: str) -> Path:
    """The jobs with names, imported, under three policies."""
    workload, trace = made_up(), folder / "trace.parquet"
    jobs = workload.jobs
    frame = complete(
        pl.DataFrame(
            {
                "id": jobs.id,
                "submit": jobs.submit,
                "runtime": workload.runtime,
                "walltime": jobs.walltime,
                "nodes": jobs.nodes,
                "user": jobs.user,
                "user_name": [f"{EVIL}{user}" for user in jobs.user.tolist()],
                "name": [f"job {job} {EVIL}" for job in jobs.id.tolist()],
                "account": [f"</script>{user % 3}" for user in jobs.user.tolist()],
                "partition": [EVIL if nodes > 8 else "small" for nodes in jobs.nodes.tolist()],
                "depends_on": [list(jobs.depends_on.get(job, ())) for job in jobs.id.tolist()],
            }
        )
    )
    partitions = {EVIL: {"nodes": 64}, "small": {"nodes": 64}}
    write_trace(trace, frame, TraceCard(machine={"nodes": 64}, partitions=partitions))
    policies = [word for policy in POLICIES for word in ("--policy", policy)]
    out = folder / "out"
    arguments = [
        "simulate",
        str(trace),
        *policies,
        "--out",
        str(out),
        "--no-figures",
        "--long-runs",
        "keep",
        "-q",
        *more,
    ]
    assert run(arguments) == 0
    return out


DAY = 86_400
BEGIN = 1_719_792_000  # 2024-07-01 00:00:00 UTC


def of_partitions(jobs: int = 300) -> Workload:
    """The jobs on two partitions of their own, some with GPUs, with a clock whose 0 s is :data:`BEGIN`."""
    plain = made_up(jobs)
    kept = plain.take(np.flatnonzero(plain.jobs.nodes <= 40))
    nodes, small = kept.jobs.nodes, kept.jobs.nodes <= 8
    demand = np.column_stack((np.where(small, nodes, 0), np.where(small, 0, nodes), np.where(nodes % 2, nodes, 0)))
    cluster = Cluster(64, ("partition_small", "partition_large", "gpu"), (16, 40, 40))
    table = JobTable(np.column_stack((kept.jobs.data, demand)), kept.jobs.depends_on)
    started = kept.jobs.submit + np.arange(len(kept.jobs)) % 5 * 600  # by the log
    origin = replace(
        kept.origin, epoch=BEGIN, started=started, partition=small.astype(np.int64), names={0: "large", 1: "small"}
    )
    return replace(kept, cluster=cluster, jobs=table, origin=origin)


def recorded_site(folder: Path) -> Path:
    """The jobs of partitions under EASY, with a day of maintenance of 20 nodes and a failure of three."""
    workload, lines = of_partitions(), folder / "outages.csv"
    begin = int(workload.jobs.submit[40])
    lines.write_text(
        "kind,begin,end,nodes,announced\n"
        f"maintenance,{begin},{begin + DAY},10-29,\n"
        f"failure,{begin + 2 * DAY},{begin + 3 * DAY},0-2,\n"
    )
    replay(workload, Run("fcfs-easy", "fcfs-easy", outages=parse_outages([str(lines)], 64)), folder / "out")
    return folder / "out"


def altered(workload: Workload, load: int = 100, size: int = 100, accuracy: int = 0) -> Workload:
    """The workload as the sliders of the page alter it."""
    data, runtime, first = workload.jobs.data.copy(), workload.runtime, int(workload.jobs.submit[0])
    data[:, 1] = first + (data[:, 1] - first) * 100 // load
    over = data[:, 3] - runtime
    data[:, 3] = np.where(over > 0, runtime - (-over * (100 - accuracy) // 100), data[:, 3])
    cluster = workload.cluster
    amounts = [max(1, amount * size // 100) for amount in (cluster.num_nodes, *cluster.capacities)]
    demand = np.column_stack((workload.jobs.nodes, workload.jobs.demand))
    altered_jobs = replace(workload, jobs=JobTable(data, workload.jobs.depends_on))
    kept = altered_jobs.take(np.flatnonzero((demand <= amounts).all(axis=1)))
    return replace(kept, cluster=replace(cluster, num_nodes=amounts[0], capacities=tuple(amounts[1:])))


def simulated(workload: Workload) -> dict[int, int]:
    """Starts by job id under FCFS with EASY."""
    schedule = simulate(workload, "fcfs-easy")
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
