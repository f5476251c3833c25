"""Which methods ``auto`` takes for a selection, and how the time is shared."""

from __future__ import annotations

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from transom import Stop, check, solve
from transom.models import Selection
from transom.solvers.auto_selection import _Part


def crowded(jobs: int, resources: int, share: float = 0.4) -> Selection:
    demands = np.random.default_rng(jobs).integers(1, 2000, (jobs, resources))
    return Selection(demands, (demands.sum(axis=0) * share).astype(int))


@pytest.mark.parametrize(
    ("jobs", "resources", "chose"),
    [(20, 3, "exhaustive"), (21, 2, "pareto-dp"), (24, 3, "pareto-dp"), (25, 4, "pareto-dp")],
)
def test_fronts_that_can_be_had_are_complete(jobs: int, resources: int, chose: str) -> None:
    result = solve(crowded(jobs, resources), "auto", Stop(seconds=30))
    assert result.status == "optimal"
    assert (result.parameters["chose"], result.parameters["front"]) == (chose, "complete")


@pytest.mark.parametrize(("jobs", "resources", "chose"), [(80, 4, "pareto-dp+nsga2"), (200, 2, "epsilon+nsga2")])
def test_what_is_left_of_the_time_goes_to_nsga2(jobs: int, resources: int, chose: str) -> None:
    problem = crowded(jobs, resources)
    results = [solve(problem, "auto", Stop(seconds=1.0)) for _ in range(2)]
    for result in results:
        assert result.error is None
        assert check(problem, result) == []
        assert result.status == "optimal" or result.parameters["chose"] == chose
    assert min(result.seconds for result in results) < 1.2


def test_iterations_are_shared_too() -> None:
    problem = crowded(40, 5)
    results = [solve(problem, "auto", Stop(iterations=6)) for _ in range(2)]
    assert results[0].solution == results[1].solution
    assert results[0].reason == "iterations"
    assert results[0].parameters["chose"] == "pareto-dp+nsga2"


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


def test_a_part_of_a_budget_hands_all_on() -> None:
    problem = crowded(12, 2)
    whole = Stop(seconds=100, iterations=11).start(problem)
    part = _Part(problem, whole, 0.5)
    assert 49 < part.seconds_left() <= 50
    assert part.iterations_left() == 6
    part.notes["front"] = "not complete"
    part.spend(5)
    assert part.found(problem.front(np.zeros((1, 12), bool)))
    assert (whole.iterations, whole.notes["front"], whole.solution) == (5, "not complete", part.solution)
    part.spend(1)
    assert part.done()
    assert part.reason == "iterations"
    assert not whole.done()
    part.prove(1.0)
    assert whole.bound == 1.0
    part.prove_infeasible()
    assert whole.infeasible
    assert _Part(problem, Stop().start(problem), 0.5).iterations_left() is None
