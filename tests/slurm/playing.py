"""Jobs played through an emulated Slurm, and its record of them as a workload."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from tests.slurm.cluster import EmulatedSlurm

PLAYED = 600.0
"""Longest wait [s] for the end of all jobs."""


class Played(NamedTuple):
    """A job: when it becomes eligible after the first submission, its nodes, its limit [min] and its runtime [s]."""

    eligible: int
    nodes: int
    limit: int
    runtime: int


def play(slurm: EmulatedSlurm, jobs: Sequence[Played]) -> list[int]:
    """Submit jobs in this order, and wait until all have ended; their numbers.

    Slurm itself makes a job eligible at its time; it runs for its runtime on Slurm's clock.
    """
    numbers = [
        slurm.submit(
            f"sleep {job.runtime / slurm.speed}",
            *("-N", str(job.nodes), "-t", str(job.limit), *([f"--begin=now+{job.eligible}"] if job.eligible else [])),
        )
        for job in jobs
    ]
    slurm.wait(lambda: len(slurm.completed()) >= len(numbers), "all jobs have ended", PLAYED)
    return numbers


def write_record(slurm: EmulatedSlurm, path: Path) -> None:
    """Write what Slurm recorded in the Standard Workload Format: a job is submitted when it becomes eligible."""
    lines = []
    for each in slurm.completed():
        eligible, start, end = (_seconds(each[name]) for name in ("EligibleTime", "StartTime", "EndTime"))
        size, limit = each["NodeCnt"], 60 * int(each["TimeLimit"])
        lines.append(
            f"{each['JobId']} {eligible} {start - eligible} {max(end - start, 1)} {size} -1 -1 {size} {limit} "
            "-1 1 -1 -1 -1 -1 -1 -1 -1"
        )
    path.write_text(f"; MaxProcs: {slurm.nodes}\n" + "\n".join(lines) + "\n")


def _seconds(told: str) -> int:
    return int(datetime.fromisoformat(f"{told}+00:00").timestamp())
