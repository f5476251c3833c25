"""NSGA-II on selections: quality, cut-offs, ends."""

from __future__ import annotations

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.bench import quality
from transom.heuristics.selection.nsga2 import Nsga2
from transom.models import Selection
from transom.models.pareto_front import nondominated
from transom.solvers.selection.exhaustive import Exhaustive


def window(seed: int, jobs: int = 18, resources: int = 4) -> Selection:
    """Random demands, of which a third fits."""
    demands = np.random.default_rng(seed).integers(1, 500, (jobs, resources))
    return Selection(demands, demands.sum(axis=0) // 3)


def test_small_fronts_are_found_whole() -> None:
    rng = np.random.default_rng(2)
    for seed in range(40):
        problem = random_selection(rng, jobs=int(rng.integers(2, 10)))
        result = solve(problem, "nsga2:population=20", Stop(iterations=40), seed=seed)
        assert check(problem, result) == []
        assert (set() if result.solution is None else values_of(result.solution)) == true_front(problem)


def test_it_comes_near_the_true_front_in_few_generations() -> None:
    ratios = []
    for seed in range(8):
        problem = window(seed, 16 + seed, 2 + seed % 4)
        true = solve(problem, Exhaustive(), Stop(seconds=30))
        assert true.status == "optimal"
        found = solve(problem, Nsga2(), Stop(iterations=40), seed=seed)
        assert check(problem, found) == []
        ratios.append(quality(found.solution, true.solution).ratio)
    assert np.median(ratios) >= 0.99
    assert min(ratios) >= 0.95


def test_the_published_algorithm_is_behind_at_the_same_number_of_generations() -> None:
    problem = window(3, 22)
    ours = solve(problem, "nsga2", Stop(iterations=20), seed=1)
    theirs = solve(problem, "bbsched-ga", Stop(iterations=20), seed=1)
    assert ours.value > theirs.value


@pytest.mark.parametrize("objectives", [2, 5, 8])
@pytest.mark.parametrize("iterations", [0, 1, 2, 3, 7, 20])
def test_any_cut_off_gives_a_front_and_more_time_never_less(iterations: int, objectives: int) -> None:
    problem = window(4, 20, objectives)
    short, longer = (solve(problem, "nsga2", Stop(iterations=n), seed=5) for n in (iterations, iterations + 5))
    assert check(problem, short) == check(problem, longer) == []
    assert short.reason == "iterations"
    both = np.concatenate((longer.solution.values, short.solution.values))
    assert nondominated(both)[: len(longer.solution)].all(), "a point was lost"


@pytest.mark.parametrize("seconds", [1e-4, 0.003, 0.02, 0.05, 0.15])
def test_any_moment_gives_a_front(seconds: float) -> None:
    problem = window(6, 40, 5)
    result = solve(problem, "nsga2", Stop(seconds=seconds))
    assert check(problem, result) == []
    assert result.solution is not None


def test_it_ends_when_all_is_known() -> None:
    problem = window(7, 8, 2)
    result = solve(problem, "nsga2", Stop(seconds=30))
    assert result.reason == "finished"
    assert values_of(result.solution) == true_front(problem)
    assert used(lambda: solve(problem, "nsga2", Stop(seconds=30)), 10) < 10
    assert result.parameters["front"] == "not complete"


def test_without_a_limit_it_ends_when_nothing_is_added() -> None:
    result = solve(window(8, 14, 2), "nsga2:population=10", Stop())
    assert result.reason == "finished"


def test_a_stall_and_a_target_are_seen_in_time() -> None:
    problem = window(9, 24, 3)
    stalled = solve(problem, "nsga2:population=10", Stop(stall=5, iterations=5000), seed=1)
    assert stalled.reason == "stall"
    aim = solve(problem, "nsga2:population=10", Stop(iterations=2), seed=1).value
    assert aim is not None
    reached = solve(problem, "nsga2:population=10", Stop(target=aim, iterations=5000), seed=1)
    assert reached.reason == "target"
    assert reached.value is not None
    assert reached.value >= aim


def test_a_start_is_bred_from() -> None:
    problem = window(10, 20)
    start = solve(problem, "exhaustive", Stop(seconds=30)).solution
    result = solve(problem, "nsga2", Stop(iterations=2), start=start)
    assert values_of(result.solution) == values_of(start)


def test_priority_terms_and_dependencies_are_honoured() -> None:
    rng = np.random.default_rng(11)
    demands = rng.integers(1, 50, (14, 3))
    worth = np.column_stack((rng.integers(0, 3, 14), rng.integers(0, 1000, 14)))
    forced, excluded = np.zeros(14, bool), np.zeros(14, bool)
    forced[2], excluded[5] = True, True
    problem = Selection(
        demands, demands.sum(axis=0) // 2, worth, forced=forced, excluded=excluded, requires=((0, 1), (1, 3), (6, 5))
    )
    result = solve(problem, "nsga2", Stop(iterations=60), seed=2)
    assert check(problem, result) == []
    assert values_of(result.solution) == true_front(problem)


def test_it_is_listed_with_what_it_needs() -> None:
    assert registry.load(registry.SOLVERS, "nsga2").needs == ("pymoo",)
