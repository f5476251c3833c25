"""One point by dot product and by the order of the queue; MultiSched's choice of a method."""

from __future__ import annotations

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from transom import Stop, check, registry, solve
from transom.errors import SpecError
from transom.heuristics.selection.dot_product import packed
from transom.heuristics.selection.first_come import naive
from transom.models import Selection
from transom.models.selection_reduction import forced_jobs, reduce_selection


def selection(demands: list[list[int]], capacity: list[int], **more: object) -> Selection:
    return Selection(np.array(demands), np.array(capacity), **more)


def chosen(problem: Selection, solver: str) -> list[int]:
    result = solve(problem, solver, Stop())
    assert check(problem, result) == []
    assert len(result.solution) == 1
    return np.flatnonzero(result.solution.selections[0]).tolist()


def plainly_packed(problem: Selection) -> set[int]:
    """Bin packing by dot product, in plain Python."""
    taken = set(np.flatnonzero(forced_jobs(problem)).tolist())
    demands, totals = problem.demands.tolist(), problem.totals.tolist()
    while True:
        free = [limit - sum(demands[job][r] for job in taken) for r, limit in enumerate(problem.capacity.tolist())]
        best, most = -1, -1.0
        for job, row in enumerate(demands):
            if job in taken or problem.excluded[job] or any(d > f for d, f in zip(row, free, strict=True)):
                continue
            if any(child == job and other not in taken for child, other in problem.requires):
                continue
            product = sum(d / max(t, 1) * (f / max(t, 1)) for d, f, t in zip(row, free, totals, strict=True))
            if product > most + 1e-12:
                best, most = job, product
        if best < 0:
            return taken
        taken.add(best)


def test_the_job_that_goes_best_with_what_is_free_is_first() -> None:
    # By shares: 0.2 + 0.5, 0.6 + 0.1, 0.5 + 0.3; then what is free is (50, 0.7 of the other).
    problem = selection([[20, 500], [60, 100], [50, 300]], [100, 1000])
    assert chosen(problem, "dot-product") == [0, 2]
    # In absolute numbers the second resource would count a thousand times as much: job 0 would be first.
    problem = selection([[10, 900], [95, 200]], [100, 1000], totals=np.array([100, 100_000]))
    assert chosen(problem, "dot-product") == [1]


def test_it_packs_as_plain_python_does() -> None:
    rng = np.random.default_rng(0)
    packs = 0
    for _ in range(200):
        problem = random_selection(rng)
        if reduce_selection(problem) is None:
            assert solve(problem, "dot-product").status == "infeasible"
            continue
        packs += 1
        found = packed(problem, Stop().start(problem))
        assert set(np.flatnonzero(found).tolist()) == plainly_packed(problem)
        assert np.array_equal(problem.greedy_complete(found[None]), found[None]), "nothing more fits"
    assert packs > 150


def test_first_come_is_naive_up_to_the_first_job_that_does_not_fit() -> None:
    problem = selection([[4, 0], [3, 1], [6, 0], [1, 9], [1, 1]], [10, 10])
    result = solve(problem, "fcfs", Stop())
    assert result.parameters["naive"] == 2
    assert chosen(problem, "fcfs") == [0, 1, 3]
    later = selection([[4, 0], [3, 1], [6, 0]], [10, 10], requires=((0, 1),))
    assert naive(later) == 0, "its parent stands behind it"
    assert chosen(later, "fcfs") == [1, 2]
    must = selection([[4, 0], [3, 1], [6, 0]], [10, 10], forced=np.array([0, 0, 1]), excluded=np.array([1, 0, 0]))
    assert naive(must) == 2
    assert chosen(must, "fcfs") == [1, 2]


@pytest.mark.parametrize("solver", ["dot-product", "fcfs"])
def test_one_point_of_every_selection(solver: str) -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        problem = random_selection(rng)
        result = solve(problem, solver, Stop(seconds=1))
        assert result.error is None
        assert check(problem, result) == []
        assert result.status == "infeasible" or len(result.solution) == 1
    assert solve(random_selection(rng, 500, 6), solver).status in ("feasible", "optimal", "infeasible")


def test_few_jobs_get_their_whole_front_and_many_a_genetic_algorithm() -> None:
    rng = np.random.default_rng(2)
    fitting = rng.integers(5, 30, (14, 3))
    large = np.full((6, 3), 61)
    for count, name in ((9, "exhaustive"), (10, "nsga2"), (14, "nsga2")):
        problem = Selection(np.vstack((large, fitting[:count])), np.full(3, 60))
        result = solve(problem, "multisched", Stop(iterations=30))
        assert (result.parameters["considered"], result.parameters["pruned"]) == (count, 6)
        assert result.parameters["chose"] == name
        assert check(problem, result) == []
        if name == "exhaustive":
            assert values_of(result.solution) == true_front(problem)
    problem = Selection(np.vstack((large, fitting[:10])), np.full(3, 60))
    for settings, name, considered in (
        ("exhaustive=11", "exhaustive", 10),
        ("ga=bbsched", "bbsched-ga", 10),
        ("ga=bbsched,exhaustive=11,prune=no", "bbsched-ga", 16),
        ("ga=[nsga2:population=8],exhaustive=0", "nsga2", 10),
        ("ga=fcfs", "fcfs", 10),
    ):
        result = solve(problem, f"multisched:{settings}", Stop(seconds=5, iterations=5))
        assert result.error is None
        assert (result.parameters["chose"], result.parameters["considered"]) == (name, considered)
        assert result.parameters["pruned"] == (0 if "prune=no" in settings else 6)


def test_forced_jobs_are_not_considered_and_free_ones_are() -> None:
    problem = selection([[5, 0], [5, 0], [5, 0], [0, 1]], [12, 9], forced=np.array([1, 0, 0, 0]))
    result = solve(problem, "multisched", Stop())
    assert (result.parameters["considered"], result.parameters["pruned"]) == (3, 0)
    assert result.status == "optimal"


def test_what_cannot_be_is_refused() -> None:
    for bad, message in (
        ("exhaustive=-1", "exhaustive must be >= 0"),
        ("ga=nsga3", "unknown solver 'nsga3'"),
        ("ga=dp", "does not solve selections"),
        ("prune=perhaps", "prune"),
    ):
        with pytest.raises(SpecError, match=message):
            registry.make(registry.SOLVERS, f"multisched:{bad}")


def test_when_the_time_is_over_the_dot_product_leaves_the_rest_to_the_queue() -> None:
    problem = Selection([[1, 1], [6, 6], [5, 5]], [6, 6])
    assert solve(problem, "dot-product").solution.selections.tolist() == [[False, True, False]]
    ticking = iter([0.0])
    late = solve(problem, "dot-product", Stop(seconds=1), clock=lambda: next(ticking, 9.0))
    assert late.solution.selections.tolist() == [[True, False, True]]
