"""Who gets which nodes: policies that choose them, allocators that place what starts, and the judge of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import nodes_cost
from tests.simulation.workloads import workloads
from transom.errors import PolicyError
from transom.models import AUTHORS, PAPER, Allocation, Cluster, FatTree, Job, Window
from transom.simulation import Decision, Schedule, simulate
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.simulation.snapshots import snapshots, window_at
from transom.traces import TracedJob, Workload

TREES = (FatTree.uniform(8, 2, 4), FatTree([0, 1, 0, 1, 2, 2, 3, 2], [0, 0, 0, 0, 1, 1, 1, 1]))


def on_tree(workload: Workload, tree: FatTree = TREES[0]) -> Workload:
    return replace(workload, cluster=replace(workload.cluster, topology=tree))


def nodes_of(schedule: Schedule) -> list[list[int]]:
    runs = schedule.runs
    assert runs is not None
    return [
        [n for i in range(runs.offsets[j], runs.offsets[j + 1]) for n in range(runs.first[i], runs.last[i] + 1)]
        for j in range(len(schedule))
    ]


class HighestNodes:
    """Starts the head while it fits, on the highest idle nodes; keeps the windows that it saw."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def decide(self, window: Window, /) -> Decision:
        assert window.idle is not None
        self.windows.append(window)
        idle, nodes = window.idle.tolist(), {}
        for job in window.queue:
            if job.nodes > len(idle):
                break
            nodes[job.id] = idle[len(idle) - job.nodes :]
            del idle[len(idle) - job.nodes :]
        return Decision(start=tuple(nodes), nodes=nodes)


class Stating:
    """Starts the head on the nodes that it is told, at its first decision."""

    def __init__(self, nodes: Any, job: int = 1) -> None:
        self.nodes = {job: nodes}

    def decide(self, window: Window, /) -> Decision:
        return Decision(start=(window.queue[0].id,), nodes=self.nodes)


def judge(workload: Workload, schedule: Schedule) -> None:
    assert check_schedule(workload, schedule) == []
    assert schedule.runs is not None
    assert schedule.spread is not None
    assert check_nodes(schedule, schedule.runs) == []


@settings(max_examples=100)
@given(workloads(max_jobs=20), st.sampled_from(TREES))
def test_a_policy_sees_the_idle_nodes_and_gets_those_it_chooses(workload: Workload, tree: FatTree) -> None:
    policy = HighestNodes()
    schedule = simulate(on_tree(workload, tree), policy)
    judge(workload, schedule)
    assert np.array_equal(schedule.start, simulate(workload, "fcfs").start)
    held = nodes_of(schedule)
    for window in policy.windows:
        Window(*(getattr(window, name) for name in Window.__dataclass_fields__))  # which checks it
        running = [j for j in range(len(schedule)) if schedule.start[j] < window.now < schedule.end[j]]
        busy = {node for job in running for node in held[job]}
        assert window.idle is not None
        assert window.idle.tolist() == sorted(set(range(8)) - busy)
        started = sorted((schedule.order[j], j) for j in range(len(schedule)) if schedule.start[j] == window.now)
        given = [node for _, job in reversed(started) for node in held[job]]
        assert given == window.idle.tolist()[len(window.idle) - len(given) :]


HAND = Workload.of([TracedJob(Job(1, 0, 3, 10), 10), TracedJob(Job(2, 5, 2, 10), 10)], Cluster(6))


@pytest.mark.parametrize(
    ("nodes", "says"),
    [
        ([0, 1], "at 0 s: job 1 gets 2 nodes, it asks for 3"),
        ([0, 1, 6], "at 0 s: job 1 gets node 6, the machine has 0 to 5"),
        ([-1, 1, 2], "at 0 s: job 1 gets node -1, the machine has"),
        ([2, 1, 2], "at 0 s: job 1 gets node 2 twice"),
        ([0.5, 1, 2], "expected a sequence of whole numbers"),
        ("abc", "expected a sequence of whole numbers"),
    ],
)
def test_stated_nodes_are_checked(nodes: Sequence[int], says: str) -> None:
    with pytest.raises(PolicyError) as raised:
        simulate(on_tree(HAND, FatTree.k_ary(4, 6)), Stating(nodes))
    assert says in str(raised.value)


def test_stated_nodes_must_be_idle() -> None:
    policy = Stating([5, 3, 1])
    policy.nodes[2] = [0, 3]

    def decide(window: Window) -> Decision:
        job = window.queue[0].id
        return Decision(start=(job,), nodes={job: policy.nodes[job]})

    policy.decide = decide
    workload = on_tree(HAND, FatTree.k_ary(4, 6))
    with pytest.raises(PolicyError, match="at 5 s: job 2 gets node 3, which is not idle"):
        simulate(workload, policy)
    policy.nodes[2] = [4, 0]
    assert nodes_of(simulate(workload, policy)) == [[1, 3, 5], [0, 4]]


def test_nodes_are_stated_for_jobs_that_start_on_a_tree() -> None:
    with pytest.raises(PolicyError, match="nodes are stated for jobs, but the cluster has no topology"):
        simulate(HAND, Stating([0, 1, 2]))
    with pytest.raises(PolicyError, match="nodes are stated for job 2, which is not started"):
        simulate(on_tree(HAND, FatTree.k_ary(4, 6)), Stating([0, 1], job=2))


def test_jobs_without_stated_nodes_get_the_lowest_that_are_left() -> None:
    jobs = [TracedJob(Job(i, 0, 2, 10), 10) for i in (1, 2, 3)]

    class Middle:
        def decide(self, window: Window, /) -> Decision:
            return Decision(start=(1, 2, 3), nodes={2: np.array([1, 4])})

    schedule = simulate(on_tree(Workload.of(jobs, Cluster(6)), FatTree.k_ary(4, 6)), Middle())
    assert nodes_of(schedule) == [[0, 2], [1, 4], [3, 5]]


def test_without_a_topology_windows_state_no_idle_nodes() -> None:
    class Curious:
        def decide(self, window: Window, /) -> Decision:
            assert window.idle is None
            return Decision(start=(window.queue[0].id,))

    schedule = simulate(HAND, Curious())
    assert (schedule.runs, schedule.spread) == (None, None)


SOLVERS = ("sequential", "scas-dp", "sa:steps=20", "best-fit", "dcas-exact", "free-exact")


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=15)
@given(workloads(max_jobs=15), st.sampled_from(TREES), st.sampled_from(["nwp:period=5", "fcfs-easy"]), st.booleans())
def test_nodes_are_conserved_under_every_allocator(
    solver: str, workload: Workload, tree: FatTree, policy: str, per_job: bool
) -> None:
    # The exact dynamic solver wants nodes numbered switch by switch; the others do not.
    workload = on_tree(workload, TREES[0] if solver == "dcas-exact" else tree)
    allocator = Allocator(solver, cost=AUTHORS, per_job=per_job)
    schedule = simulate(workload, policy, allocator=allocator, seed=3)
    judge(workload, schedule)
    plain = simulate(replace(workload, cluster=Cluster(8)), policy)
    assert np.array_equal(plain.start, schedule.start), "when jobs run does not depend on where"
    again = simulate(workload, policy, allocator=allocator, seed=3)
    assert again == schedule
    assert again.runs == schedule.runs
    decisions, spread = schedule.decisions, schedule.spread
    assert spread is not None
    assert decisions["allocated"].sum() == (workload.jobs.nodes > 1).sum()
    assert decisions["allocation_cost"].sum() == spread.hop_cost.sum()
    assert decisions["allocation_proved"][decisions["allocated"] == 0].all()


@settings(max_examples=50)
@given(workloads(max_jobs=15), st.sampled_from(TREES), st.sampled_from([None, "scas-dp", "sequential"]))
def test_placing_afterwards_equals_placing_on_the_way(workload: Workload, tree: FatTree, solver: str | None) -> None:
    class ByWindow:
        def decide(self, window: Window, /) -> Decision:
            started, free = [], window.free_nodes
            for job in window.queue:
                if job.nodes > free:
                    break
                free -= job.nodes
                started.append(job.id)
            return Decision(start=tuple(started))

    workload = on_tree(workload, tree)
    fused = simulate(workload, "fcfs", allocator=Allocator(solver))
    single = simulate(workload, ByWindow(), allocator=Allocator(solver))
    assert fused.runs == single.runs
    assert fused.spread == single.spread
    assert all(np.array_equal(fused.decisions[name], single.decisions[name]) for name in fused.decisions)


@settings(max_examples=50)
@given(workloads(max_jobs=15), st.sampled_from(TREES), st.sampled_from([PAPER, AUTHORS]))
def test_what_nodes_cost(workload: Workload, tree: FatTree, cost: Any) -> None:
    schedule = simulate(on_tree(workload, tree), "sjf-easy", allocator=Allocator(cost=cost))
    spread = schedule.spread
    assert spread is not None
    for job, nodes in enumerate(nodes_of(schedule)):
        assert spread.hop_cost[job] == pytest.approx(nodes_cost(tree.leaf[nodes], tree.pod[nodes], cost))
        assert (spread.leaves[job], spread.pods[job]) == tree.spread(nodes)


@settings(max_examples=40)
@given(workloads(max_jobs=12))
def test_windows_cut_out_of_a_replay_state_the_idle_nodes(workload: Workload) -> None:
    policy = HighestNodes()
    schedule = simulate(on_tree(workload), policy)
    for seen in policy.windows:
        cut = window_at(schedule, seen.now)
        assert np.array_equal(cut.idle, seen.idle)
    for window in snapshots(schedule, 1, "sjf"):
        assert window.idle is not None
        Allocation.from_window(window)
