"""The joint choice: its solvers against enumeration, free allocation and the knapsack, and its judge."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.errors import ModelError
from transom.generate.instances.examples import joints
from transom.models import AUTHORS, PAPER, Allocation, FatTree, Joint, Knapsack
from transom.testing import check_problem, check_solver

SOLVERS = ("joint-cpsat", "joint-search", "joint-greedy")


def random_tree(rng: np.random.Generator) -> FatTree:
    """A tree of two to five levels of switches, any nodes below any switch."""
    rows = [rng.integers(0, 4, 9)]
    for _ in range(int(rng.integers(1, 4))):
        rows.append(rng.integers(0, 3, 4)[rows[-1]])
    return FatTree(rows[0], rows[1], np.array(rows[2:]) if rows[2:] else None)


def random_joint(rng: np.random.Generator) -> Joint:
    """Up to six idle nodes and three jobs, on a tree of two to five levels with any numbering."""
    tree = random_tree(rng)
    idle = np.flatnonzero(rng.random(tree.num_nodes) < rng.random())[:6]
    sizes = rng.integers(1, 5, rng.integers(1, 4))
    cost = (PAPER, AUTHORS)[int(rng.integers(2))]
    factor = (0.0, 1.0, 1e-3, int(rng.integers(1, 100)) / 100)[int(rng.integers(4))]
    weights = rng.integers(-2, 20, len(sizes)) * (1000 if factor > 0.01 and cost is PAPER else 1)
    limits = rng.integers(1, 4, len(sizes)) if rng.random() < 0.5 else None
    mandatory = np.flatnonzero(rng.random(len(sizes)) < 0.2)
    return Joint(tree, idle, sizes, weights, factor, mandatory, cost, limits)


def optimum(problem: Joint) -> float | None:
    """The best value of all assignments of idle nodes, none where nothing is feasible."""
    owners = (np.array(each, np.int64) for each in product(range(-1, len(problem)), repeat=len(problem.idle)))
    return max((problem.value(owner) for owner in owners if not problem.violations(owner)), default=None)


def test_the_type_keeps_what_types_keep() -> None:
    check_problem("joint")


@pytest.mark.parametrize("spec", SOLVERS)
def test_they_keep_what_solvers_keep(spec: str) -> None:
    check_solver(spec, joints(), reference="joint-cpsat", exact=spec == "joint-cpsat")


@pytest.mark.parametrize("seed", range(3))
def test_optima_are_those_of_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(25):
        problem = random_joint(rng)
        best = optimum(problem)
        for spec in SOLVERS:
            result = solve(problem, spec, Stop(iterations=300) if spec == "joint-search" else Stop(), seed)
            assert check(problem, result) == []
            if spec == "joint-cpsat" and best is None:
                assert result.status == "infeasible"
            elif spec == "joint-cpsat":
                assert result.status == "optimal"
                assert result.value == pytest.approx(best, rel=1e-9, abs=1e-9)
            elif result.value is not None:
                assert best is not None
                assert result.value <= best + 1e-9 * abs(best)


@pytest.mark.parametrize("seed", range(3))
def test_with_all_jobs_mandatory_it_is_free_allocation(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tree = FatTree.uniform(48, 4, 12)
    idle = np.sort(rng.permutation(48)[:24])
    sizes = rng.integers(2, 6, 5)
    posed = Joint(tree, idle, sizes, np.zeros(5, np.int64), 1.0, np.arange(5))
    free = solve(Allocation(tree, idle, sizes, "free"), "free-exact", Stop())
    ours = solve(posed, "joint-cpsat", Stop())
    assert (free.status, ours.status) == ("optimal", "optimal")
    assert free.value is not None
    assert ours.value == pytest.approx(-free.value, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_without_costs_it_is_the_knapsack(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes, weights = rng.integers(1, 20, 25), rng.integers(1, 60, 25)
    posed = Joint(FatTree.uniform(64, 8, 16), np.arange(60), sizes, weights, 0.0)
    assert solve(posed, "joint-cpsat", Stop()).value == solve(Knapsack(weights, sizes, 60), "dp", Stop()).value


def test_search_starts_from_greedy_and_repeats_itself() -> None:
    rng = np.random.default_rng(1)
    sizes = rng.integers(1, 20, 40)
    posed = Joint(FatTree.uniform(128, 8, 32), np.arange(0, 128, 2), sizes, sizes * rng.integers(1, 9, 40), 1e-3)
    greedy = solve(posed, "joint-greedy", Stop())
    first, second = (solve(posed, "joint-search", Stop(iterations=500), 7) for _ in range(2))
    assert greedy.value is not None
    assert first.value is not None
    assert first.value > greedy.value
    assert first.value == second.value
    assert np.array_equal(first.solution, second.solution)


def test_a_large_cluster_has_an_answer_at_once() -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 400, 100)
    posed = Joint(FatTree.uniform(10_000, 32, 512), np.arange(0, 10_000, 2), sizes, sizes)
    for spec in SOLVERS:
        result = solve(posed, spec, Stop(seconds=0.01))
        assert result.value is not None
        assert check(posed, result) == []


def test_mandatory_jobs_find_room_in_further_passes() -> None:
    rng = np.random.default_rng(3)
    for _ in range(30):
        idle = np.flatnonzero(rng.random(64) < 0.5)
        sizes = rng.integers(2, 9, int(rng.integers(4, 9)))
        most = int(np.searchsorted(np.cumsum(sizes), len(idle), side="right"))
        limits = np.maximum(1, -(-sizes // 4) + rng.integers(0, 2, len(sizes)))
        posed = Joint(FatTree.uniform(64, 8, 32), idle, sizes, sizes, 1e-3, np.arange(most), leaf_limits=limits)
        exact = solve(posed, "joint-cpsat", Stop())
        greedy = solve(posed, "joint-greedy", Stop())
        assert check(posed, greedy) == []
        assert (greedy.value is None) == (exact.status == "infeasible")


@pytest.mark.parametrize(
    ("owner", "words"),
    [
        ([0, -1, -1, -1], "job 0 asks for 2 nodes and gets 1"),
        ([1, 1, -1, -1], "job 0 is mandatory and does not start"),
        ([-1, 0, 0, -1], "job 0 spans 2 leaf switches, and may span 1"),
        ([0, 0, 2, -1], "owner 2 is neither -1 nor a job, 0 to 1"),
    ],
)
def test_wrong_solutions_are_reported(owner: list[int], words: str) -> None:
    posed = Joint(FatTree.uniform(4, 2, 4), range(4), [2, 2], [3, 4], 0.0, [0], leaf_limits=[1, 2])
    assert words in posed.violations(owner)
    assert posed.violations([0, 0, 1, 1]) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"sizes": [0, 1]}, "job 0 asks for 0 nodes"),
        ({"weights": [1, 2**41]}, "job 1 has weight"),
        ({"cost_weight": -1.0}, "cost_weight"),
        ({"mandatory": [2]}, "mandatory holds 2"),
        ({"idle": [1, 1]}, "idle must be ascending"),
        ({"leaf_limits": [1, 0]}, "job 1 may span 0"),
    ],
)
def test_wrong_problems_are_reported(given: dict[str, object], words: str) -> None:
    stated = {"idle": [0, 1], "sizes": [1, 2], "weights": [1, 2], **given}
    with pytest.raises(ModelError, match=words):
        Joint(FatTree.uniform(4, 2, 4), **stated)
