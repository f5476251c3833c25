"""Cycles of Slurm's backfill beside a slow replay that goes through every one of them, second by second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.amounts import numbers
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.traces import TracedJob, Workload

HORIZON = 6000


@dataclass(frozen=True)
class Settings:
    """Of cycles and of the main scheduler, as in the policy's specification."""

    depth: int
    queue: int
    interval: int
    resolution: int
    window: int
    user_jobs: int


def drawn(rng: np.random.Generator) -> tuple[Workload, Settings]:
    """Jobs that come in bursts, end early, in time or late, and settings that cut plans off in every way."""
    jobs, submit = [], 0
    for i in range(1, int(rng.integers(6, 40))):
        submit += int(rng.choice([0, 0, 1, 20, 200]))
        walltime = int(rng.choice([30, 60, 90, int(rng.integers(1, 300))]))
        runtime = int(rng.choice([walltime, walltime + 40, int(rng.integers(1, walltime + 1))], p=[0.3, 0.1, 0.6]))
        jobs.append(TracedJob(Job(i, submit, int(rng.integers(1, 11)), walltime, user=int(rng.integers(3))), runtime))
    settings = Settings(
        depth=int(rng.choice([1, 2, 4, 100])),
        queue=int(rng.choice([1, 3, 100])),
        interval=int(rng.choice([1, 7, 30])),
        resolution=int(rng.choice([1, 10, 60])),
        window=int(rng.choice([50, 200, 100000])),
        user_jobs=int(rng.choice([1, 2, 100])),
    )
    return Workload.of(jobs, Cluster(10)), settings


def plain_cycles(workload: Workload, of: Settings, key: Callable[[TracedJob, int], float]) -> dict[int, int]:
    """When each job starts [s], by id."""
    start: dict[int, int] = {}
    jobs = {job.job.id: job for job in workload}
    now, wake = -1, -1
    while len(start) < len(jobs):
        ends = [start[i] + jobs[i].runtime for i in start]
        now = min(time for time in (*ends, *(each.job.submit for each in jobs.values()), wake) if time > now)
        running = [i for i in start if start[i] + jobs[i].runtime > now]
        queue = [i for i in jobs if i not in start and jobs[i].job.submit <= now]
        queue.sort(key=lambda i: (key(jobs[i], now), jobs[i].job.submit, i))
        free = np.full(HORIZON, 10)
        for i in running:
            free[now : max(start[i] + jobs[i].job.walltime, now + 1)] -= jobs[i].job.nodes

        def lets(i: int, running: list[int] = running) -> bool:
            return sum(jobs[other].job.user == jobs[i].job.user for other in running) < of.user_jobs

        def launch(i: int, now: int = now, running: list[int] = running, free: NDArray[np.int64] = free) -> None:
            start[i] = now
            running.append(i)
            free[now : now + jobs[i].job.walltime] -= jobs[i].job.nodes

        for i in queue[: of.queue]:
            if lets(i):
                if free[now] < jobs[i].job.nodes:
                    break
                launch(i)
        queue = [i for i in queue if i not in start]
        for i in queue[: of.depth] if now % of.interval == 0 else ():
            if not lets(i):
                continue
            nodes, walltime = jobs[i].job.nodes, jobs[i].job.walltime
            begin = next(t for t in range(now, HORIZON) if (free[t : t + walltime] >= nodes).all())
            if begin >= now + of.window and begin > now:
                continue
            if begin == now:
                start[i] = now
                running.append(i)
            rounded = max(begin // of.resolution * of.resolution, now)
            held = max(nodes - max(int(free[begin] - free[rounded]), 0), 0)
            end = max((begin + walltime) // of.resolution * of.resolution, begin + of.resolution)
            free[rounded:begin] -= held
            free[begin:end] -= nodes
        wake = -1
        if any(i not in start for i in queue) and (running or now % of.interval):
            wake = (now // of.interval + 1) * of.interval
    return start


@numbers(20, 400)
@pytest.mark.parametrize("order", ["fcfs", "saf", "wfp3"])
def test_starts_equal_a_slow_replay_of_all_cycles(order: str, numbers: range) -> None:
    keys: dict[str, Callable[[TracedJob, int], float]] = {
        "fcfs": lambda t, now: 0.0,
        "saf": lambda t, now: t.job.walltime * t.job.nodes,
        "wfp3": lambda t, now: -(((now - t.job.submit) / t.job.walltime) ** 3) * t.job.nodes,
    }
    for seed in numbers:
        workload, of = drawn(np.random.default_rng(seed))
        settings = ",".join(f"{name}={getattr(of, name)}" for name in Settings.__annotations__)
        schedule = simulate(workload, f"slurm-backfill:order={order},{settings}")
        found = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
        assert found == plain_cycles(workload, of, keys[order]), (seed, of)


def test_every_cycle_at_which_jobs_wait_is_a_decision() -> None:
    # Job 2 waits from 1 s to 600 s: cycles that repeat the one before are listed like others.
    jobs = [TracedJob(Job(1, 0, 8, 600), 600), TracedJob(Job(2, 1, 5, 600), 600)]
    decisions = simulate(Workload.of(jobs, Cluster(10)), "slurm-backfill").decisions
    assert decisions["time"].tolist() == [0, 1, *range(30, 601, 30)]
    assert decisions["reserved_job"].tolist() == [-1, -1, *[2] * 19, -1]
    assert set(decisions["reserved_start"][2:-1].tolist()) == {600}
