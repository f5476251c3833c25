"""Jobs played through an emulated Slurm, and its record of them as a trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

from tests.slurm.cluster import EmulatedSlurm
from transom.slurm import playing
from transom.traces import read_swf
from transom.traces.trace_file import write_trace

PLAYED = 600.0
"""Longest wait [s] for the end of all jobs."""


class Played(NamedTuple):
    """A job: when it becomes eligible after the first submission, its nodes, its limit [min] and its runtime [s]."""

    eligible: int
    nodes: int
    limit: int
    runtime: int


def sixty_jobs(seed: int) -> list[Played]:
    """Sixty jobs of 1 to 16 nodes and 2 to 11 minutes that keep 32 nodes busy."""
    rng = np.random.default_rng(seed)
    jobs, eligible = [], 0
    for _ in range(60):
        limit = int(rng.integers(2, 12))
        runtime = int(limit * 60 * rng.uniform(0.2, 0.98))
        jobs.append(Played(eligible, int(rng.choice([1, 2, 4, 8, 12, 16])), limit, runtime))
        eligible += int(rng.exponential(45))
    return jobs


def write_played(slurm: EmulatedSlurm, jobs: Sequence[Played], path: Path) -> None:
    """Write jobs as a trace, with ids from 1."""
    lines = [
        f"{i} {job.eligible} -1 {job.runtime} {job.nodes} -1 -1 {job.nodes} {60 * job.limit} -1 1 -1 -1 -1 -1 -1 -1 -1"
        for i, job in enumerate(jobs, 1)
    ]
    path.write_text(f"; MaxProcs: {slurm.nodes}\n" + "\n".join(lines) + "\n")


def play(slurm: EmulatedSlurm, jobs: Sequence[Played]) -> None:
    """Submit jobs in this order, and wait until all have ended.

    Slurm itself makes a job eligible at its time; it runs for its runtime on Slurm's clock.
    """
    path = slurm.folder / "played.swf"
    write_played(slurm, jobs, path)
    with patch.dict(os.environ, slurm.environment):
        numbers = list(playing.play(read_swf(path), playing.Manner(at_once=True, clock=slurm.speed)))
    slurm.wait(lambda: len(slurm.completed()) >= len(numbers), "all jobs have ended", PLAYED)


def write_record(slurm: EmulatedSlurm, path: Path) -> None:
    """Write what Slurm recorded as a trace: a job is submitted when it becomes eligible."""
    with patch.dict(os.environ, slurm.environment):
        trace = playing.record(eligible=True)
    write_trace(path, trace.jobs, trace.card)
