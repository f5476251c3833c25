from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import optimum, random_allocation
from transom import registry
from transom.errors import PolicyError, SpecError, TransomError, UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, Cluster, FatTree, Job
from transom.simulation import simulate
from transom.simulation.nodes.allocator import Allocator, Placed, Placer, load_allocator
from transom.simulation.nodes.topology import parse_tree
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast

TREE = FatTree.k_ary(4)


def owner_of(problem: Allocation, placed: Placed, jobs: list[int]) -> np.ndarray:
    return problem.owners([placed.nodes[job].tolist() for job in jobs])


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, 3))
def test_jobs_of_an_instant_are_one_allocation_and_single_nodes_come_last(seed: int, singles: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_allocation(rng, "static", max_idle=8)
    singles = min(singles, len(problem.idle) - int(problem.sizes.sum()))
    sizes = rng.permutation(np.concatenate((problem.sizes, np.ones(singles, np.int64))))
    many = np.flatnonzero(sizes > 1).tolist()
    problem = Allocation(problem.tree, problem.idle, sizes[many], "static", problem.wrap, problem.cost)
    placer = Placer(problem.tree, Allocator("scas-dp", cost=problem.cost, wrap=problem.wrap))
    placed = placer.place(problem.idle, sizes)
    owner = owner_of(problem, placed, many)
    assert problem.violations(owner) == []
    best = optimum(problem)
    assert best is not None
    assert problem.value(owner) == pytest.approx(best)
    assert (placed.jobs, placed.proved) == (len(many), True)
    assert placed.cost == pytest.approx(best)
    left = problem.idle[owner < 0].tolist()
    assert [int(placed.nodes[job][0]) for job in np.flatnonzero(sizes == 1)] == left[:singles]


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1))
def test_job_by_job_each_takes_what_is_best_for_it_alone(seed: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), "static", max_idle=8)
    placed = Placer(problem.tree, Allocator("scas-dp", per_job=True, cost=problem.cost, wrap=problem.wrap)).place(
        problem.idle, problem.sizes
    )
    idle = problem.idle
    for job, nodes in enumerate(placed.nodes):
        alone = Allocation(problem.tree, idle, problem.sizes[job : job + 1], "static", problem.wrap, problem.cost)
        owner = alone.owners([nodes.tolist()])
        assert alone.violations(owner) == []
        assert alone.value(owner) == pytest.approx(optimum(alone))
        idle = np.setdiff1d(idle, nodes)


def test_without_a_solver_jobs_get_the_lowest_idle_ids() -> None:
    placed = Placer(TREE, Allocator()).place(np.array([1, 4, 5, 9, 11]), [2, 1, 2])
    assert [nodes.tolist() for nodes in placed.nodes] == [[1, 4], [5], [9, 11]]
    assert placed[1:] == (0, 0.0, True)
    assert Placer(TREE, Allocator()).place(np.array([1]), []).nodes == []


@pytest.mark.parametrize(
    ("spec", "rule"),
    [("scas-dp", "static"), ("dcas-exact", "dynamic"), ("free-exact", "free"), ("sa:steps=5", "dynamic")],
)
def test_the_rule_follows_from_the_solver(spec: str, rule: str) -> None:
    assert load_allocator(Allocator(spec), TREE)[1] == rule


def test_a_rule_may_be_stated() -> None:
    assert load_allocator(Allocator("sequential", "static"), TREE)[1] == "static"
    with pytest.raises(SpecError, match="'scas-dp' does not take allocations under the free rule"):
        load_allocator(Allocator("scas-dp", "free"), TREE)


@pytest.mark.parametrize(
    ("allocator", "says"),
    [
        (Allocator("csp-dp"), "solves ConstrainedPath problems"),
        (Allocator("nothing"), "unknown solver 'nothing'"),
        (Allocator("sa:step=3"), "has no parameter 'step'"),
        (Allocator("scas-dp", seconds=0), "seconds must be > 0"),
        (Allocator("scas-dp", seconds=float("nan")), "seconds must be > 0"),
    ],
)
def test_bad_allocators(allocator: Allocator, says: str) -> None:
    with pytest.raises(SpecError) as raised:
        load_allocator(allocator, TREE)
    assert says in str(raised.value)
    with pytest.raises(SpecError, match="rule must be one of static, dynamic, free"):
        Allocator("scas-dp", "contiguous")


class Broken:
    """Finds nothing, or fails."""

    name = "broken"
    solves = Allocation

    def __init__(self, error: Exception | None) -> None:
        self.error = error

    def supports(self, problem: Allocation) -> str | None:
        return None

    def __call__(self, problem: Allocation, budget: Any, rng: Any, /, start: Any = None) -> None:
        if self.error:
            raise self.error


def test_a_solver_that_finds_nothing_in_its_time_leaves_consecutive_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make", lambda *_: Broken(None))
    idle, tree = np.arange(1, 9), FatTree.uniform(10, 2, 4)
    placed = Placer(tree, Allocator("broken", "static", cost=AUTHORS)).place(idle, [3, 1, 2])
    assert [nodes.tolist() for nodes in placed.nodes] == [[1, 2, 3], [6], [4, 5]]
    assert not placed.proved
    problem = Allocation(tree, idle, np.array([3, 2]), "static", True, AUTHORS)
    assert placed.cost == problem.value(problem.from_starts([0, 3]))


def test_a_solver_that_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "make", lambda *_: Broken(RuntimeError("out of luck")))
    placer = Placer(TREE, Allocator("broken", cost=PAPER))
    with pytest.raises(PolicyError, match="solver 'broken' failed: RuntimeError: out of luck"):
        placer.place(np.arange(5), [2, 2])


def test_trees_from_specifications() -> None:
    assert parse_tree("fat-tree:k=20", 1000) == FatTree.uniform(1000, 10, 100)
    assert parse_tree("fat-tree:k=20,nodes=1000", 1000) == FatTree.k_ary(20, 1000)
    assert parse_tree("fat-tree:leaf=10,pod=40,nodes=1000", 1000) == FatTree.uniform(1000, 10, 40)


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("fat-tree:k=20,nodes=999", "has 999 nodes, the machine 1000"),
        ("fat-tree:k=8", "8-ary tree has up to 128 nodes"),
        ("fat-tree:k=7", "k must be even"),
        ("fat-tree", "needs k=K, or leaf=L and pod=P"),
        ("fat-tree:leaf=10", "needs k=K, or leaf=L and pod=P"),
        ("fat-tree:leaf=10,pod=35", "multiple"),
        ("fat-tree:k=20,leaf=10", "has no parameter 'leaf'"),
        ("fat-tree:k=many", "expected int"),
        ("torus:k=3", "unknown cluster 'torus'"),
        ("topology:", "expected topology:FILE"),
        ("topology:FILE,nodes=3", "expected topology:FILE"),
        ("topology:FILE,order=size", "expected topology:FILE"),
        ("topology:none.conf", "none.conf: cannot be read"),
    ],
)
def test_bad_trees(spec: str, says: str) -> None:
    with pytest.raises(TransomError) as raised:
        parse_tree(spec, 1000)
    assert says in str(raised.value)


def test_tables_beyond_the_memory_are_refused_with_the_instant() -> None:
    nodes = 4000
    rows = (TracedJob(Job(i + 1, 0, 60 + i, 9), 9) for i in range(14))
    workload = Workload.of(rows, Cluster(nodes, topology=FatTree.uniform(nodes, 10, 100)))
    with pytest.raises(UnsupportedError, match=r"at 0 s, 14 jobs start: .* more than memory=1"):
        simulate(workload, "fcfs", allocator=Allocator("scas-dp:memory=1"))
