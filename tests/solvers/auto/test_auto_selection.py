"""Which methods ``auto`` takes for a selection, and how the time is shared."""

from __future__ import annotations

from time import process_time

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from transom import Stop, check, registry, solve
from transom.models import Selection
from transom.solvers.auto import auto
from transom.solving import warm_up


def crowded(jobs: int, resources: int, share: float = 0.4) -> Selection:
    demands = np.random.default_rng(jobs).integers(1, 2000, (jobs, resources))
    return Selection(demands, (demands.sum(axis=0) * share).astype(int))


@pytest.mark.parametrize(("jobs", "resources"), [(12, 3), (20, 3), (21, 2), (24, 3), (25, 4)])
def test_fronts_that_can_be_had_are_complete(jobs: int, resources: int) -> None:
    result = solve(crowded(jobs, resources), "auto", Stop(seconds=30))
    assert (result.status, result.parameters["front"]) == ("optimal", "complete")
    assert result.parameters["chose"]


@pytest.mark.parametrize(("jobs", "resources"), [(80, 4), (200, 2)])
def test_what_cannot_be_completed_in_time_ends_with_a_heuristic(jobs: int, resources: int) -> None:
    problem = crowded(jobs, resources)
    result = solve(problem, "auto", Stop(seconds=1.0), clock=process_time)  # others may hold the processor
    assert result.error is None
    assert check(problem, result) == []
    assert result.status == "optimal" or result.parameters["chose"].endswith("nsga2")


def test_iterations_are_shared_too() -> None:
    problem = crowded(40, 5)
    results = [solve(problem, "auto", Stop(iterations=6)) for _ in range(2)]
    assert results[0].solution == results[1].solution
    assert results[0].reason == "iterations"
    assert results[0].parameters["chose"] == results[1].parameters["chose"]


def test_small_ones_of_every_kind() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        problem = random_selection(rng)
        result = solve(problem, "auto", Stop())
        expected = true_front(problem)
        assert result.status == ("optimal" if expected else "infeasible")
        assert not expected or values_of(result.solution) == expected


def test_a_start_is_kept() -> None:
    problem = crowded(60, 3)
    start = solve(problem, "nsga2", Stop(iterations=20)).solution
    result = solve(problem, "auto", Stop(seconds=0.3), start=start)
    assert problem.merged(result.solution, start) is result.solution


def test_preparing_leaves_nothing_to_the_first_run() -> None:
    problem = crowded(12, 3)
    auto._ready_for.cache_clear()
    warm_up(registry.make(registry.SOLVERS, "auto"), type(problem))
    before = auto._ready_for.cache_info().misses
    assert before > 0
    assert solve(problem, "auto", Stop(seconds=0.01)).error is None
    assert auto._ready_for.cache_info().misses == before
