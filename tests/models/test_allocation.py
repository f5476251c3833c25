from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import allocations, every_solution, figure_2, plain_value, random_allocation
from transom import solve
from transom.errors import ModelError
from transom.models import AUTHORS, Allocation, Cluster, FatTree, JobTable, Window

pytestmark = pytest.mark.fast

RULES = ("static", "dynamic", "free")
NO_JOBS = JobTable(np.empty((0, 6), np.int64))


def on_figure_2(rule: Any) -> list[list[int]]:
    """The nodes, numbered as in the figure, that job 2 may have beside job 1 on nodes 5 to 8."""
    problem = figure_2().with_rule(rule)
    rest = [0, 1, 2, 3, 8, 9]
    found = []
    for nodes in itertools.combinations(rest, 4):
        owner = np.full(10, -1)
        owner[4:8] = 0
        owner[list(nodes)] = 1
        if not problem.violations(owner):
            found.append([node + 1 for node in nodes])
    return found


def test_figure_2_has_three_static_starts() -> None:
    assert on_figure_2("static") == [[1, 2, 3, 4], [1, 2, 3, 10], [1, 2, 9, 10]]


def test_figure_2_has_six_dynamic_starts() -> None:
    further = [[1, 4, 9, 10], [2, 3, 4, 9], [3, 4, 9, 10]]
    assert sorted(on_figure_2("dynamic")) == sorted(on_figure_2("static") + further)


@pytest.mark.parametrize("rule", RULES)
@given(st.data())
@settings(max_examples=40)
def test_violations_and_values_are_those_of_the_words(rule: str, data: st.DataObject) -> None:
    problem = data.draw(allocations(rule, max_idle=8))
    allowed = every_solution(problem)
    n, jobs = len(problem.idle), len(problem)
    for owner in itertools.islice(allowed, 200):
        assert problem.violations(np.array(owner)) == []
        assert problem.value(np.array(owner)) == pytest.approx(plain_value(problem, owner), rel=1e-12)
    rng = np.random.default_rng(0)
    labels = np.repeat([*range(jobs), -1], [*problem.sizes, n - problem.sizes.sum()])
    for _ in range(200):
        owner = tuple(rng.permutation(labels).tolist())
        assert (not problem.violations(np.array(owner))) == (owner in allowed)


def crossing_free(problem: Allocation, owner: tuple[int, ...]) -> bool:
    """The criterion in its other form: no two blocks cross, one gap at most holds a node that stays idle."""
    n = len(owner)
    blocks = [[i for i in range(n) if owner[i] == job] for job in range(len(problem))]
    for block in blocks:
        gaps = [list(range(a + 1, b)) for a, b in itertools.pairwise(block)]
        outer = [*range(block[-1] + 1, n), *range(block[0])]
        open_gaps = sum(any(owner[i] < 0 for i in gap) for gap in gaps)
        if problem.wrap:
            open_gaps += any(owner[i] < 0 for i in outer)
            if open_gaps > 1:
                return False
        elif open_gaps:
            return False
    for a, b in itertools.combinations(blocks, 2):
        word = "".join(x for i in range(n) for x, block in (("a", a), ("b", b)) if i in block)
        turns = sum(x != y for x, y in itertools.pairwise(word)) + (word[0] != word[-1])
        if turns > 2:
            return False
    return True


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_both_forms_of_the_dynamic_criterion_agree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_allocation(rng, "dynamic", max_idle=9, max_jobs=4)
    n = len(problem.idle)
    labels = np.repeat([*range(len(problem)), -1], [*problem.sizes, n - problem.sizes.sum()])
    for _ in range(100):
        owner = tuple(rng.permutation(labels).tolist())
        assert (not problem.violations(np.array(owner))) == crossing_free(problem, owner)
    for owner in itertools.islice(every_solution(problem), 100):
        assert crossing_free(problem, owner)


def test_both_forms_agree_on_all_small_cases() -> None:
    tree = FatTree.uniform(8, 2, 4)
    for n, sizes, wrap in itertools.product(
        range(2, 8), [(2,), (2, 2), (3, 2), (2, 3), (2, 2, 2), (3, 3)], (True, False)
    ):
        if sum(sizes) > n:
            continue
        problem = Allocation(tree, np.arange(n), sizes, "dynamic", wrap)
        allowed = every_solution(problem)
        labels = np.repeat([*range(len(sizes)), -1], [*sizes, n - sum(sizes)]).tolist()
        for owner in set(itertools.permutations(labels)):
            assert (owner in allowed) == crossing_free(problem, owner) == (not problem.violations(np.array(owner)))


@given(st.sampled_from(RULES).flatmap(lambda rule: allocations(rule, max_idle=9)))
@settings(max_examples=60)
def test_an_order_reaches_each_solution(problem: Allocation) -> None:
    for owner in itertools.islice(every_solution(problem), 30):
        order = problem.order(np.array(owner))
        assert sorted(order) == list(range(len(problem)))
        if problem.rule == "free":
            continue
        q = list(range(len(owner)))
        for job in order:
            mine = [owner[i] == job for i in q]
            runs = sum(mine[k] and not (k and mine[k - 1]) for k in range(len(q)))
            runs -= problem.wrap and runs > 1 and mine[0] and mine[-1]
            assert runs == 1
            q = [i for i in q if owner[i] != job]


def test_static_solutions_are_dynamic_ones_and_dynamic_ones_are_free() -> None:
    for seed in range(20):
        problem = random_allocation(np.random.default_rng(seed), "static", max_idle=7)
        static, dynamic, free = (every_solution(problem.with_rule(rule)) for rule in RULES)
        assert static <= dynamic <= free


def test_renaming_nodes_inside_a_leaf_never_changes_a_cost() -> None:
    rng = np.random.default_rng(1)
    tree = FatTree.uniform(24, 4, 8)
    for _ in range(20):
        idle = np.sort(rng.choice(24, 12, replace=False))
        # Other nodes of the same leaf switches, as many of each.
        other = np.sort(
            np.concatenate(
                [leaf * 4 + rng.choice(4, k, replace=False) for leaf, k in enumerate(np.bincount(idle // 4))]
            )
        )
        owner = rng.permutation([0] * 5 + [1] * 4 + [-1] * 3)
        one, two = (Allocation(tree, each, [5, 4], "free", cost=AUTHORS) for each in (idle, other))
        assert one.value(owner) == two.value(owner)


def test_nodes_owners_and_starts_are_inverse() -> None:
    problem = Allocation(FatTree.uniform(20, 2, 4), [1, 3, 4, 8, 9, 12, 15], [3, 2])
    owner = problem.from_starts([5, 2])
    assert owner.tolist() == [0, -1, 1, 1, -1, 0, 0]
    assert problem.starts(owner).tolist() == [5, 2]
    assert problem.nodes(owner) == [[1, 12, 15], [4, 8]]
    assert problem.owners(problem.nodes(owner)).tolist() == owner.tolist()
    with pytest.raises(ModelError, match="job 1 gets node 2, which is not idle"):
        problem.owners([[1, 3, 4], [2, 8]])
    with pytest.raises(ModelError, match="node 4 is given to jobs 0 and 1"):
        problem.owners([[1, 3, 4], [4, 8]])
    with pytest.raises(ModelError, match="nodes for 3 jobs"):
        problem.owners([[1], [3], [4]])


def test_a_job_as_large_as_the_system() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(16), [16])
    for rule in RULES:
        whole = problem.with_rule(rule)
        assert whole.violations(np.zeros(16, int)) == []
        assert whole.starts(np.zeros(16, int)).tolist() == [0]


def test_broken_solutions_are_reported() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(6), [2, 3], wrap=False)
    assert problem.violations([0, 0, 1, 1]) == ["a solution has shape (6,), one owner for each idle node, got (4,)"]
    assert problem.violations([0.0] * 6) == ["a solution holds positions of jobs or -1, got float64"]
    assert problem.violations([0, 0, 1, 1, 2, -1]) == ["owner 2 is neither -1 nor a job, 0 to 1"]
    assert problem.violations([0, -1, 1, 1, -1, -1]) == [
        "job 0 asks for 2 nodes and gets 1",
        "job 1 asks for 3 nodes and gets 2",
    ]
    assert problem.violations([0, 1, 1, 1, 0, -1]) == ["the nodes of job 0 are not consecutive in Q"]
    assert problem.with_rule("dynamic").violations([0, 1, 1, 1, 0, -1]) == []
    assert "whatever order" in problem.with_rule("dynamic").violations([0, 1, 1, -1, 1, 0])[0]
    with pytest.raises(ModelError, match="not consecutive"):
        problem.order([0, 1, 1, 1, 0, -1])


@pytest.mark.parametrize(
    ("idle", "sizes", "message"),
    [
        ([0, 16], [2], "idle node 16 is outside the tree of 16 nodes, 0 to 15"),
        ([-1, 2], [2], "idle node -1 is outside"),
        ([3, 3, 4], [2], "node 3 is named twice"),
        ([5, 3, 4], [2], "node 5 stands before 3"),
        ([3, 4], [1], "job 0 asks for 1 node, less than 2"),
        ([3, 4], [2, 0], "job 1 asks for 0 nodes"),
        ([3, 4], [2**50], "more than any system has"),
        ([3.5], [2], "expected integers"),
    ],
)
def test_what_is_no_allocation_is_refused(idle: Any, sizes: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        Allocation(FatTree.k_ary(4), idle, sizes)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ModelError, match="rule must be one of static, dynamic, free"):
        Allocation(FatTree.k_ary(4), [1, 2], [2], "contiguous")


@pytest.mark.parametrize("rule", RULES)
def test_trivial_problems_need_no_solver(rule: Any) -> None:
    empty = solve(Allocation(FatTree.k_ary(4), [1, 2, 3], [], rule), "sequential")
    assert (empty.status, empty.value, empty.bound, empty.reason) == ("optimal", 0, 0, "proof")
    assert empty.problem == {"static": "scas", "dynamic": "dcas", "free": "free"}[rule]
    full = solve(Allocation(FatTree.k_ary(4), [1, 2, 3], [2, 2], rule), "sequential")
    assert (full.status, full.value, full.reason) == ("infeasible", None, "proof")


def window(nodes: list[int], idle: list[int]) -> Window:
    jobs = JobTable(np.array([[i + 1, 0, n, 60, -1, -1] for i, n in enumerate(nodes)]))
    return Window(0, Cluster(16, topology=FatTree.k_ary(4)), jobs, NO_JOBS, np.array([]), np.array([len(idle)]), idle)


def test_the_allocation_of_a_window() -> None:
    given_ = window([3, 1, 4, 1, 2], [0, 1, 2, 5, 6, 7, 8, 9, 11])
    problem = Allocation.from_window(given_)
    assert problem.sizes.tolist() == [3, 4]  # the prefix that fits, without its one-node jobs
    assert problem.idle.tolist() == [0, 1, 2, 5, 6, 7, 8, 9, 11]
    chosen = Allocation.from_window(given_, "free", cost=AUTHORS, jobs=[4, 2])
    assert chosen.sizes.tolist() == [2, 4]
    assert (chosen.rule, chosen.cost) == ("free", AUTHORS)


def test_idle_nodes_and_topology_go_together() -> None:
    with pytest.raises(ModelError, match="ids of the idle nodes must be stated"):
        Window(0, Cluster(16, topology=FatTree.k_ary(4)), NO_JOBS, NO_JOBS, np.array([]), np.array([3]))
    with pytest.raises(ModelError, match="ascending and distinct"):
        window([2], [4, 4])
    with pytest.raises(ModelError, match="0 to 15"):
        window([2], [4, 16])
    plain = Window(0, Cluster(16), NO_JOBS, NO_JOBS, np.array([]), np.array([3]))
    with pytest.raises(ModelError, match="no topology"):
        Allocation.from_window(plain)
