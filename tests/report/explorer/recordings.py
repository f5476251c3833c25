"""Recorded replays whose jobs, users and partitions have names that would be markup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from tests.report.rows import EVIL
from transom.cli import run
from transom.generate import generate_lublin
from transom.models import JobTable
from transom.traces import Workload, write_swf
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


def altered(workload: Workload, load: int = 100, size: int = 100, accuracy: int = 0) -> Workload:
    """The workload as the sliders of the page alter it."""
    data, runtime, first = workload.jobs.data.copy(), workload.runtime, int(workload.jobs.submit[0])
    data[:, 1] = first + (data[:, 1] - first) * 100 // load
    over = data[:, 3] - runtime
    data[:, 3] = np.where(over > 0, runtime - (-over * (100 - accuracy) // 100), data[:, 3])
    nodes = max(1, workload.cluster.num_nodes * size // 100)
    fits = data[:, 2] <= nodes
    kept = replace(workload, jobs=JobTable(data, workload.jobs.depends_on)).take(np.flatnonzero(fits))
    return replace(kept, cluster=replace(workload.cluster, num_nodes=nodes))


def simulated(workload: Workload, folder: Path) -> dict[int, int]:
    """Starts by job id, of ``transom simulate`` under FCFS with EASY."""
    trace, out = folder / "altered.swf", folder / "altered"
    write_swf(workload, trace)
    arguments = [
        "simulate",
        str(trace),
        "--policy",
        "fcfs-easy",
        "--out",
        str(out),
        "--no-figures",
        "--long-runs",
        "keep",
    ]
    assert run([*arguments, "-q", "--force"]) == 0
    rows = pl.read_parquet(out / "fcfs-easy" / "jobs.parquet")
    return dict(zip(rows["job_id"].to_list(), rows["start"].to_list(), strict=True))
