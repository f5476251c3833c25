"""Recorded replays whose jobs, users and partitions have names that would be markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np
import polars as pl

from tests.report.rows import EVIL
from transom.cli import run
from transom.generate import generate_lublin
from transom.models import Cluster, JobTable
from transom.simulation import simulate
from transom.simulation.runs import Run, replay
from transom.traces import Workload
from transom.traces.outages import OnFailure, Outage, Outages
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
    replay(of_partitions(), Run("fcfs-easy", "fcfs-easy", outages=site_outages()), folder / "out")
    return folder / "out"


def site_outages() -> Outages:
    """The outages of :func:`recorded_site`."""
    begin = int(of_partitions().jobs.submit[40])
    maintenance = Outage("maintenance", begin, begin + DAY, 20, ((10, 29),))
    return Outages((maintenance, Outage("failure", begin + 2 * DAY, begin + 3 * DAY, 3, ((0, 2),))))


def with_every_outage(workload: Workload, on_failure: str) -> Outages:
    """Maintenance by number and by ids, at once, announced late or from the start, and failures."""
    begin = workload.jobs.submit[:: len(workload) // 12].tolist()
    long, late = DAY // 4, 7_200
    rows = (
        Outage("maintenance", begin[2], begin[2] + long, 64),
        Outage("maintenance", begin[3], begin[3] + long, 20, ((10, 29),)),
        Outage("maintenance", begin[3] + late, begin[3] + long, 16),
        Outage("failure", begin[4], begin[4] + long, 22, ((0, 11), (40, 49))),
        Outage("maintenance", begin[5], begin[5] + long, 30, ((20, 49),), begin[5] - late),
        Outage("failure", begin[6], begin[6] + DAY, 15),
        Outage("maintenance", begin[7], begin[7] + long, 60, (), begin[7]),
        Outage("failure", begin[7] + late, begin[7] + DAY, 30),
        Outage("maintenance", begin[8], begin[8] + long, 56, ((0, 55),), begin[8] - late),
        Outage("failure", begin[9], begin[9] + DAY, 60, ((0, 59),)),
        Outage("maintenance", begin[10] + DAY, begin[10] + 2 * DAY, 64),
    )
    return Outages(rows, on_failure=cast("OnFailure", on_failure))


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


def altered_outages(outages: Outages, size: int = 100, nodes: int = 64) -> Outages:
    """Outages as the slider for the size of the machine alters them."""
    rows = []
    for row in outages.stated(nodes, 0):
        ids = [(low * size // 100, (high + 1) * size // 100 - 1) for low, high in row.ranges]
        ranges = tuple((low, high) for low, high in ids if low <= high)
        number = sum(high - low + 1 for low, high in ranges) or max(1, row.number * size // 100)
        if ranges or not row.ranges:
            rows.append(row._replace(number=number, ranges=ranges))
    return replace(outages, rows=tuple(rows))


def simulated(workload: Workload, outages: Outages | None = None) -> dict[int, int]:
    """Starts by job id under FCFS with EASY."""
    schedule = simulate(workload, "fcfs-easy", outages=outages)
    return dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
