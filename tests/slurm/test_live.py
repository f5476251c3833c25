"""Two hundred jobs under a policy, live in a real Slurm and simulated: the same starts, but for what Slurm takes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.live import Live, run_live
from benchmarks.live_jobs import as_seen, as_submitted
from tests.slurm.cluster import EmulatedSlurm
from tests.slurm.playing import Played, write_played
from transom import simulate
from transom.errors import DocumentError
from transom.io import encode
from transom.models import Cluster, FatTree, JobTable, Window
from transom.slurm.audit import Audit
from transom.traces import Workload, read_swf

CLUSTER = Cluster(4, topology=FatTree.uniform(4, 2, 4))


def live(start: Callable[..., EmulatedSlurm], path: Path, count: int, seed: int) -> Live:
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
    return run_live(slurm, read_swf(path), 1.0, "fcfs-easy")


@pytest.mark.long
def test_two_hundred_jobs_start_in_the_order_of_the_replays(
    emulated_slurm: Callable[..., EmulatedSlurm], tmp_path: Path
) -> None:
    found = live(emulated_slurm, tmp_path / "trace.swf", 200, 5)
    assert found.trace.jobs == found.seen.jobs == 200
    assert found.record.jobs == 200
    assert found.elsewhere == 0
    assert found.record.order <= 0.05 * 200 * 199 / 2
    assert found.seen.order == found.seen.other_nodes == 0
    # Seconds of a clock that is twenty times ours, on a machine that may be busy.
    assert found.seen.median <= 30
    assert found.seen.largest <= 120


class Log:
    """An audit log, decision by decision."""

    def __init__(self, path: Path) -> None:
        self.path, self.audit = path, Audit(path)

    def decide(
        self, now: int, queue: list[int], running: list[int], idle: list[int], starts: dict[int, list[int]]
    ) -> None:
        """Jobs of their number in minutes on two nodes."""
        tables = [JobTable([(job, 90 + job, 2, 60 * job, 1, 1) for job in jobs]) for jobs in (queue, running)]
        ends = np.arange(len(running)) + now + 60
        window = Window(now, CLUSTER, tables[0], tables[1], ends, np.array([len(idle)]), np.array(idle))
        self.audit.write(
            "decision", window=encode(window).decode(), idle=idle, starts=[[*each] for each in starts.items()]
        )


def test_jobs_are_counted_as_the_driver_saw_them(tmp_path: Path) -> None:
    log = Log(tmp_path / "audit.jsonl")
    log.decide(100, [1, 2], [], [0, 1, 2, 3], {1: [0, 1]})
    log.decide(110, [2, 3], [1], [2, 3], {2: [2, 3]})
    log.decide(120, [3], [1], [2, 3], {})  # the start of job 2 did not come true
    log.decide(130, [2, 3], [1], [2, 3], {2: [2, 3]})
    log.decide(140, [3], [2], [0], {})  # job 1 has ended, and one of its nodes is not back
    log.decide(150, [3], [2], [0, 1], {3: [0, 1]})
    workload = as_seen(log.path, {1: 11, 2: 12, 3: 13})
    assert workload.jobs.id.tolist() == [11, 12, 13]
    assert workload.jobs.submit.tolist() == [100, 100, 110]
    assert workload.runtime.tolist() == [50, 120, 180]
    assert workload.jobs.walltime.tolist() == [60, 120, 180]
    # Without the delay of the second job the replay of the same events decides the same, and on the same nodes.
    assert simulate(workload, "fcfs-easy").start.tolist() == [100, 100, 150]
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(DocumentError, match=r"empty\.jsonl: holds no decision"):
        as_seen(tmp_path / "empty.jsonl", {})


def test_a_trace_is_replayed_as_it_was_submitted() -> None:
    jobs = JobTable([(1, 1000, 2, 3600, 1, 1), (2, 1090, 4, 1300, 1, 1)])
    played = as_submitted(Workload("w", CLUSTER, jobs, np.array([1200, 5])), 20, 50, CLUSTER)
    assert played.jobs.submit.tolist() == [50, 54]
    assert played.jobs.walltime.tolist() == [180, 120]
    assert played.runtime.tolist() == [60, 1]
