"""Node types: jobs that take some nodes alone, by themselves and with limits on leaf switches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest

from tests.allocation_cases import assert_proved, every_solution, plain_value, random_allocation
from tests.amounts import numbers_by_rule
from tests.deep_trees import deep_allocation
from tests.test_leaf_limits import within
from transom import Stop, check, registry, solve
from transom.errors import ModelError
from transom.io import decode, encode
from transom.models import Allocation, Cluster, ConstrainedPath, FatTree, JobTable, Joint, Window

EXACT = {"static": "scas-dp", "dynamic": "dcas-exact", "free": "free-cpsat"}
HEURISTIC = {
    "static": ("best-fit", "sa", "dp-polish", "ga"),
    "dynamic": ("best-fit", "sa", "dp-polish", "ga"),
    "free": ("sa", "ga"),
}
TREE = FatTree.uniform(8, 2, 4)


def typed(seed: int, rule: str, limited: bool = True) -> Allocation:
    """A random allocation of two or three types of nodes, every other one with limits on leaf switches as well."""
    rng = np.random.default_rng(seed)
    made = random_allocation if rng.random() < 0.5 else deep_allocation
    problem, kinds = made(rng, rule, 7), int(rng.integers(2, 4))
    limits = rng.integers(1, 4, len(problem)) if limited and seed % 2 else None
    types, accepts = rng.integers(0, kinds, len(problem.idle)), rng.random((len(problem), kinds)) < 0.7
    return replace(problem, leaf_limits=limits, node_types=types, accepts=accepts)


def takes(problem: Allocation, owner: Iterable[int]) -> bool:
    """Whether jobs get nodes that they take, by the words."""
    types, accepts = problem.node_types, problem.accepts
    if types is None or accepts is None:
        return True
    return all(who < 0 or accepts[who, kind] for who, kind in zip(owner, types, strict=True))


def allowed(problem: Allocation) -> list[tuple[int, ...]]:
    fits = [owner for owner in every_solution(problem) if takes(problem, owner)]
    return fits if problem.leaf_limits is None else [owner for owner in fits if within(problem, owner)]


@numbers_by_rule(static=(200, 3200), dynamic=(200, 3200), free=(40, 540))
def test_proved_values_are_those_of_enumeration(rule: str, numbers: range) -> None:
    feasible = 0
    for seed in numbers:
        problem = typed(seed, rule)
        every, solutions = every_solution(problem), allowed(problem)
        for owner in list(every)[:5]:
            assert bool(problem.violations(owner)) == (owner not in solutions)
        feasible += assert_proved(problem, [EXACT[rule]], solutions)
    assert 0 < feasible < len(numbers)


@pytest.mark.parametrize(
    ("rule", "spec", "share"),
    [(rule, spec, 0.6 if spec == "best-fit" else 0.9) for rule, specs in HEURISTIC.items() for spec in specs],
)
def test_heuristics_find_what_there_is(rule: str, spec: str, share: float) -> None:
    solvable, found = 0, 0
    for seed in range(6 if spec == "ga" else 40):
        problem = typed(seed, rule)
        result = solve(problem, spec, Stop(iterations=30 if spec == "ga" else 1000), seed=seed)
        assert result.error is None, (seed, result.error)
        assert check(problem, result) == [], seed
        least = min((plain_value(problem, owner) for owner in allowed(problem)), default=None)
        if least is None:
            assert result.status in ("unknown", "infeasible"), seed
            continue
        solvable += 1
        found += result.value is not None
        assert result.value is None or result.value >= least - 1e-9 * least, seed
    assert solvable > 2
    assert found >= share * solvable


@pytest.mark.parametrize("spec", ["scas-flow", "scas-cpsat", "scas-scip"])
def test_native_solvers_keep_to_them(spec: str) -> None:
    for seed in range(6):
        problem = typed(seed, "static")
        proved, other = (solve(problem, each, Stop(seconds=60)) for each in ("scas-dp", spec))
        assert (other.error, other.status) == (None, proved.status)
        assert check(problem, other) == []
        assert other.value == pytest.approx(proved.value)


def test_others_refuse_them() -> None:
    refusing = {
        "static": ("scas-lagrangian", "sequential"),
        "dynamic": ("nsa:anywhere=yes", "sequential"),
        "free": ("best-fit", "count-search", "free-exact", "sequential"),
    }
    for rule, specs in refusing.items():
        problem = Allocation(TREE, range(8), [2, 3], rule, node_types=[0, 1] * 4, accepts=[[1, 0], [1, 1]])
        for spec in specs:
            reason = registry.make(registry.SOLVERS, spec, Allocation).supports(problem)
            assert reason == "it takes no node types", spec


def test_auto_takes_them() -> None:
    for rule in EXACT:
        problem = typed(4, rule)
        assert solve(problem, "auto", Stop(seconds=20)).status == solve(problem, EXACT[rule], Stop(seconds=20)).status


def test_what_the_judge_says() -> None:
    problem = Allocation(TREE, range(8), [2, 3], "free", node_types=[0, 0, 0, 0, 1, 1, 1, 1], accepts=[[0, 1], [1, 1]])
    assert problem.violations([1, 1, 1, 0, 0, -1, -1, -1]) == ["job 0 gets node 3 of type 0, which it does not take"]
    assert problem.violations([1, 1, 1, -1, 0, 0, -1, -1]) == []
    for given, says in (
        ({"node_types": [0] * 8}, "node_types are stated without accepts"),
        ({"accepts": [[1], [1]]}, "accepts are stated without node_types"),
        ({"node_types": [2] * 8, "accepts": [[1, 0], [1, 0]]}, "entry 0 is 2, but jobs state 2 types"),
        ({"node_types": [0] * 7, "accepts": [[1], [0]]}, "expected shape"),
        ({"node_types": [0] * 8, "accepts": [[1]]}, "expected true or false, shape"),
        ({"node_types": [0] * 8, "accepts": [[1], [2]]}, "expected true or false, shape"),
    ):
        with pytest.raises(ModelError, match=says):
            Allocation(TREE, range(8), [2, 3], **given)


def test_they_stay_with_the_problem() -> None:
    plain = Allocation(TREE, range(8), [2, 3], "static", False)
    problem = replace(plain, node_types=np.arange(8) % 3, accepts=np.array([[1, 1, 0], [1, 1, 1]]))
    assert decode(encode(problem), "a") == problem
    assert problem.digest() != plain.digest()
    assert b"types" not in encode(plain)
    # Types that make no difference are none.
    assert replace(problem, accepts=np.ones((2, 3), np.bool_)) == plain
    moved = problem.with_rule("free")
    assert moved.node_types is not None
    assert moved.accepts is not None
    assert moved.accepts.tolist() == [[True, True, False], [True, True, True]]
    assert solve(ConstrainedPath.from_allocation(problem), "csp-dp").value == solve(problem, "scas-dp").value
    alike = replace(problem, sizes=[2, 2])
    with pytest.raises(ModelError, match="jobs of 2 nodes have different limits on leaf switches or node types"):
        ConstrainedPath.from_allocation(alike)


def test_windows_hand_them_over() -> None:
    queue = JobTable(np.array([[1, 0, 3, 60, 0, 0], [2, 0, 1, 60, 0, 0], [3, 0, 2, 60, 0, 0]]))
    cluster = Cluster(8, topology=TREE, node_types=np.arange(8) // 4)
    window = Window(
        9, cluster, queue, JobTable(np.empty((0, 6), np.int64)), [], [6], np.arange(1, 7),
        accepts=np.array([[0, 1], [1, 1], [1, 0]]),
    )  # fmt: skip
    assert decode(encode(window), "w") == window
    problem = Allocation.from_window(window, "free")
    assert (problem.node_types is not None, problem.accepts is not None) == (True, True)
    result = solve(problem, "free-cpsat", Stop(seconds=20))
    nodes = problem.nodes(result.solution)
    assert nodes[0] == [4, 5, 6]
    assert set(nodes[1]) <= {1, 2, 3}
    with pytest.raises(ModelError, match="a joint choice knows no types"):
        Joint.from_window(window)
    with pytest.raises(ModelError, match="accepts are stated without node_types"):
        replace(window, cluster=Cluster(8, topology=TREE))
