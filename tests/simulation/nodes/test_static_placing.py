"""scas-dp in one compiled loop: the same nodes and decisions as the placer gives instant by instant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import COSTS, random_allocation
from tests.simulation.workloads import workloads
from transom import solve
from transom.errors import UnsupportedError
from transom.models import PAPER, Cluster, FatTree, Job
from transom.simulation import Schedule, simulate
from transom.simulation.nodes import static_placing
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.output.verification import check_nodes
from transom.traces import TracedJob, Workload, read_swf

TREES = (FatTree.uniform(8, 2, 4), FatTree([0, 1, 0, 1, 2, 2, 3, 2], [0, 0, 0, 0, 1, 1, 1, 1]))


def on_tree(workload: Workload, tree: FatTree) -> Workload:
    return replace(workload, cluster=replace(workload.cluster, topology=tree))


def one_by_one(run: Callable[[], Schedule]) -> Schedule:
    """A replay whose allocations all go to the placer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(static_placing, "takes", lambda placer: False)
        return run()


def assert_same(a: Schedule, b: Schedule) -> None:
    assert a == b
    assert a.runs == b.runs
    for name, column in a.decisions.items():
        assert column.dtype == b.decisions[name].dtype, name


@settings(max_examples=60, deadline=None)
@given(
    workloads(max_jobs=15, overrun=True),
    st.sampled_from(TREES),
    st.booleans(),
    st.booleans(),
    st.sampled_from(COSTS),
    st.sampled_from(["fcfs-easy", "wfp3", "window:solver=dp", "random"]),
)
def test_nodes_and_decisions_equal_the_placer(
    workload: Workload, tree: FatTree, per_job: bool, wrap: bool, cost: Any, policy: str
) -> None:
    allocator = Allocator("scas-dp", per_job=per_job, wrap=wrap, cost=cost)
    workload = on_tree(workload, tree)
    fast = simulate(workload, policy, allocator=allocator)
    assert_same(untimed(fast), untimed(one_by_one(lambda: simulate(workload, policy, allocator=allocator))))
    assert fast.runs is not None
    assert check_nodes(fast, fast.runs) == []


def untimed(schedule: Schedule) -> Schedule:
    return replace(schedule, decisions={name: of for name, of in schedule.decisions.items() if name != "seconds"})


def crowd(seed: int, nodes: int = 96, jobs: int = 150) -> Workload:
    """Many jobs at few instants, so that allocations hold several of several sizes."""
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(0.08, jobs), nodes)
    rows = ((i + 1, int(rng.integers(5)) * 40, int(sizes[i]), int(rng.integers(1, 90))) for i in range(jobs))
    traced = [TracedJob(Job(i, submit, size, walltime), walltime) for i, submit, size, walltime in rows]
    return Workload.of(traced, Cluster(nodes, topology=FatTree.uniform(nodes, 6, 24)))


@pytest.mark.parametrize("per_job", [False, True])
@pytest.mark.parametrize("work", [1, 300, 3000])
def test_what_is_too_large_to_be_solved_at_once_goes_to_the_placer(
    per_job: bool, work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload, allocator = crowd(1), Allocator("scas-dp", per_job=per_job, seconds=100.0)
    slow = one_by_one(lambda: simulate(workload, "saf-easy", allocator=allocator))
    monkeypatch.setattr(static_placing, "CHUNK", work)
    monkeypatch.setattr(static_placing, "_INSTANTS", 3)
    assert_same(simulate(workload, "saf-easy", allocator=allocator), slow)


def test_runs_get_room_as_they_need_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def small(nodes: int, jobs: int) -> static_placing.Board:
        board = new_board(nodes, jobs)
        return board._replace(first=board.first[:nodes].copy(), last=board.last[:nodes].copy())

    workload, allocator, new_board = crowd(2), Allocator("scas-dp"), static_placing._new_board
    slow = one_by_one(lambda: simulate(workload, "fcfs-easy", allocator=allocator))
    monkeypatch.setattr(static_placing, "_new_board", small)
    assert_same(simulate(workload, "fcfs-easy", allocator=allocator), slow)


def test_tables_beyond_the_memory_are_refused_with_the_instant() -> None:
    nodes = 4000
    rows = (TracedJob(Job(i + 1, 0, 60 + i, 9), 9) for i in range(14))
    workload = Workload.of(rows, Cluster(nodes, topology=FatTree.uniform(nodes, 10, 100)))
    with pytest.raises(UnsupportedError, match=r"at 0 s, 14 jobs start: .* more than memory=1"):
        simulate(workload, "fcfs", allocator=Allocator("scas-dp:memory=1"))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_the_compiled_judge_refuses_what_the_judge_refuses(seed: int, wrong: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_allocation(rng, "static", max_idle=8)
    owner = problem.from_starts(rng.integers(0, len(problem.idle), len(problem)))
    if wrong == 3:
        owner = np.roll(solve(problem, "scas-dp").solution, rng.integers(len(owner)))
        wrong = 0
    for i in rng.integers(0, len(owner), wrong):
        owner[i] = rng.integers(-2, len(problem) + 1)
    terms = static_placing._terms(problem.tree, Allocator("scas-dp", cost=problem.cost, wrap=problem.wrap), 0)
    costs = static_placing._judged(problem.idle.copy(), owner, problem.sizes.copy(), terms)
    assert np.isfinite(costs).all() == (not problem.violations(owner))
    assert not terms.in_leaf.any()
    assert not terms.in_pod.any()
    if not problem.violations(owner):
        assert costs.tolist() == problem.job_costs(owner).tolist()


@pytest.mark.reference
@pytest.mark.parametrize("per_job", [False, True])
@pytest.mark.parametrize(
    ("name", "shape", "jobs"), [("theta_2022", (14, 196), 3000), ("SDSC-SP2-1998-4.2-cln", (8, 32), 3000)]
)
def test_nodes_of_real_traces_equal_the_placer(
    name: str, shape: tuple[int, int], jobs: int, per_job: bool, shared: Path
) -> None:
    workload = read_swf(shared / "traces" / f"{name}.swf.gz").take(np.arange(jobs))
    workload = on_tree(workload, FatTree.uniform(workload.cluster.num_nodes, *shape))
    allocator = Allocator("scas-dp", per_job=per_job, cost=PAPER)
    fast = simulate(workload, "fcfs-easy", allocator=allocator)
    assert_same(fast, one_by_one(lambda: simulate(workload, "fcfs-easy", allocator=allocator)))
