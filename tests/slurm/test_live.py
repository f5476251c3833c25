"""Two hundred jobs under a policy, live in a real Slurm and simulated: the same starts, but for what Slurm takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.live import Compared, compare, run_live
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.playing import Played, write_played
from transom.traces import read_swf


def live(start: Callable[..., EmulatedSlurm], path: Path, count: int, seed: int) -> Compared:
    """Jobs of up to 8 nodes and 5 minutes that arrive every 12 seconds on average, on 32 nodes."""
    rng = np.random.default_rng(seed)
    jobs, submit = [], 0
    for _ in range(count):
        limit = int(rng.integers(2, 6))
        runtime = int(limit * 60 * rng.uniform(0.2, 0.98))
        jobs.append(Played(submit, int(rng.choice([1, 2, 4, 8])), limit, runtime))
        submit += int(rng.exponential(12))
    slurm = start(nodes=32, speed=20)
    write_played(slurm, jobs, path)
    record, asked = run_live(slurm, read_swf(path), 1.0, "fcfs-easy")
    return compare(slurm, record, asked, "fcfs-easy")


@pytest.mark.long
def test_two_hundred_jobs_start_in_the_order_of_the_replay(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    found = live(emulated_slurm, tmp_path / "trace.swf", 200, 5)
    assert found.jobs == 200
    assert found.elsewhere == 0
    assert found.order <= 0.05 * 200 * 199 / 2
