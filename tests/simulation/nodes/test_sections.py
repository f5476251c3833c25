"""Replays of partitions side by side on a network: every job on nodes of its own partition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from transom.errors import PolicyError, SpecError
from transom.models import Cluster, FatTree, Job, Window
from transom.simulation import simulate
from transom.simulation.core.decision import Decision
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.traces import TracedJob, Workload

TREE = FatTree.uniform(24, 4, 12)
NAMES, SIZES = ("partition_a", "partition_b"), (10, 14)
BOUNDS = {0: (0, 10), 1: (10, 24)}


def partitions(seed: int, jobs: int = 60, names: Sequence[str] = NAMES) -> Workload:
    rng = np.random.default_rng(seed)
    made = []
    for i in range(jobs):
        of, runtime = int(rng.integers(2)), int(rng.integers(1, 60))
        nodes = int(rng.integers(1, SIZES[of] + 1))
        demand = (nodes, 0) if of == 0 else (0, nodes)
        made.append(TracedJob(Job(i + 1, int(rng.integers(0, 400)), nodes, runtime, demand=demand), runtime))
    return Workload.of(made, Cluster(24, tuple(names), SIZES, TREE))


def held(runs: NodeRuns, job: int) -> set[int]:
    low, high = runs.offsets[job : job + 2].tolist()
    return {node for i in range(low, high) for node in range(runs.first[i], runs.last[i] + 1)}


ALLOCATORS = [
    None,
    Allocator("scas-dp"),
    Allocator("dcas-exact"),
    Allocator("best-fit"),
    Allocator("free-cpsat", per_job=True),
]


@pytest.mark.parametrize("allocator", ALLOCATORS, ids=lambda each: "lowest" if each is None else each.solver)
def test_jobs_stay_on_nodes_of_their_partition(allocator: Allocator | None) -> None:
    workload = partitions(3, 30)
    schedule = simulate(workload, "fcfs-easy", allocator=allocator)
    assert schedule.runs is not None
    assert check_schedule(workload, schedule) + check_nodes(schedule, schedule.runs) == []
    for job in range(len(workload)):
        first, end = BOUNDS[int(workload.jobs.demand[job, 1] > 0)]
        assert held(schedule.runs, job) <= set(range(first, end))
    # The same jobs on one machine without partitions go across the border.
    anywhere = simulate(partitions(3, 30, ("one", "other")), "fcfs-easy", allocator=allocator)
    assert anywhere.runs is not None
    assert anywhere.start.tolist() == schedule.start.tolist()
    assert any(min(held(anywhere.runs, job)) < 10 <= max(held(anywhere.runs, job)) for job in range(len(workload)))
    bad = replace(schedule, runs=anywhere.runs)
    assert "holds nodes of another partition" in check_nodes(bad, anywhere.runs)[0]


class Stating:
    """Starts whatever fits, on nodes of its own choice."""

    name, order, reservations = "stating", "fcfs", False

    def __init__(self, first: int) -> None:
        self._first = first

    def decide(self, window: Window) -> Decision:
        job = window.queue[0]
        nodes: Mapping[int, Sequence[int]] = {job.id: range(self._first, self._first + job.nodes)}
        return Decision((job.id,), nodes=nodes)


def test_a_policy_states_nodes_of_the_partition_alone() -> None:
    job = TracedJob(Job(1, 0, 4, 10, demand=(0, 4)), 10)
    workload = Workload.of([job], Cluster(24, NAMES, SIZES, TREE))
    schedule = simulate(workload, Stating(12))
    assert schedule.runs is not None
    assert held(schedule.runs, 0) == {12, 13, 14, 15}
    with pytest.raises(PolicyError, match="job 1 gets node 8, and its partition has 10 to 23"):
        simulate(workload, Stating(8))


def test_it_is_refused_where_nobody_says_which_nodes_are_whose() -> None:
    def replayed(cluster: Cluster, demand: tuple[int, ...]) -> None:
        simulate(Workload.of([TracedJob(Job(7, 0, 2, 10, demand=demand), 10)], cluster), "fcfs", allocator=None)

    with pytest.raises(SpecError, match="these share nodes"):
        replayed(Cluster(24, NAMES, (20, 14), TREE), (2, 0))
    with pytest.raises(SpecError, match="these share nodes"):
        replayed(Cluster(24, NAMES, SIZES, TREE), (2, 2))
    with pytest.raises(SpecError, match="that of job 7 has no size"):
        replayed(Cluster(24, NAMES, SIZES, TREE), (0, 0))
    replayed(Cluster(24, NAMES, (20, 14)), (2, 0))  # without a network nodes have no places
