"""Slurm's backfill with reservations of single nodes, beside a slow replay and records of a Slurm."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simulation.plain_slurm_nodes import PlainJob, plain_slurm_nodes
from transom.errors import SpecError
from transom.models import Cluster, Job, Window
from transom.simulation import make_policy, simulate
from transom.simulation.output.calibration import ALL, calibration
from transom.traces import TracedJob, Workload, read_swf
from transom.traces.outages import Outages

RECORD = Path(__file__).parents[3] / "examples" / "slurm_60.swf"


def workload(jobs: list[PlainJob], nodes: int) -> Workload:
    return Workload.of(
        [TracedJob(Job(i, each.submit, each.nodes, each.walltime), each.runtime) for i, each in enumerate(jobs, 1)],
        Cluster(nodes),
    )


@pytest.mark.parametrize("seed", range(16))
def test_starts_equal_a_slow_replay_over_nodes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, leaf = int(rng.integers(4, 14)), int(rng.integers(1, 6))
    if seed % 4 == 3:
        nodes, leaf = int(rng.integers(60, 200)), int(rng.integers(1, 80))
    interval, resolution = int(rng.choice([1, 7, 30])), int(rng.choice([1, 10, 60]))
    completing = seed % 3 * 5
    submit = np.sort(rng.integers(0, 700, 40))
    jobs = []
    for at in submit.tolist():
        walltime = int(rng.integers(1, 400))
        jobs.append(PlainJob(at, int(rng.integers(1, nodes + 1)), walltime, int(rng.integers(1, walltime + 1))))
    leaves = [list(range(i, min(i + leaf, nodes))) for i in range(0, nodes, leaf)]
    spec = f"slurm-backfill:leaf={leaf},interval={interval},resolution={resolution},window=300"
    told = simulate(workload(jobs, nodes), f"{spec},completing={completing}")
    starts, _ = plain_slurm_nodes(jobs, leaves, interval, resolution, 300, completing)
    assert told.start.tolist() == starts


def test_a_job_waits_for_its_reserved_nodes_where_there_is_room_by_numbers() -> None:
    # The second job is planned for all of the first leaf. By numbers the third would fit beside it, but it asks for
    # more than the second leaf has, so that it would delay the second.
    jobs = [PlainJob(0, 2, 600, 600), PlainJob(1, 5, 600, 60), PlainJob(2, 3, 2000, 60)]
    assert simulate(workload(jobs, 6), "slurm-backfill:interval=1").start.tolist() == [0, 600, 660]
    leaves = simulate(workload(jobs, 6), "slurm-backfill:interval=1,leaf=3")
    assert leaves.start.tolist() == plain_slurm_nodes(jobs, [[0, 1, 2], [3, 4, 5]], 1, 60, 86_400)[0]


def test_the_record_of_a_slurm_is_followed_more_closely() -> None:
    trace = read_swf(RECORD)
    counted, single = (
        calibration(trace, simulate(trace, f"slurm-backfill:interval=1{more}"))[ALL] for more in ("", ",leaf=8")
    )
    assert single.error_median <= 2
    assert (single.error_p90, counted.error_p90 > 100) == (6, True)
    assert single.order_agreement >= 0.99
    assert single.order_agreement_queued >= 0.95 > counted.order_agreement_queued


def test_what_does_not_go_with_single_nodes_is_refused() -> None:
    one = workload([PlainJob(0, 1, 10, 10)], 4)
    for spec, words in [
        ("leaf=-1", "leaf must be from 0 to"),
        ("leaf=2,node_cores=4", "neither with node_cores"),
        ("leaf=2,reservations=r.txt", "nor reservations"),
    ]:
        with pytest.raises(SpecError, match=words):
            simulate(one, f"slurm-backfill:{spec}")
    with pytest.raises(SpecError, match="leaf does not go with --outages"):
        simulate(one, "slurm-backfill:leaf=2", outages=Outages())
    apart = Workload.of([TracedJob(Job(1, 0, 1, 10, demand=(1,)), 10)], Cluster(8, ("partition_a",), (4,)))
    with pytest.raises(SpecError, match="nor with --partition-nodes"):
        simulate(apart, "slurm-backfill:leaf=2")
    with pytest.raises(SpecError, match="need"):
        make_policy("slurm-backfill:leaf=2").decide(Window(0, one.cluster, one.jobs, one.jobs.take([]), [], [4]))
