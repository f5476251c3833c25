"""Random keys of allocations: every row is a solution, and every solution of a rule has a row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import every_solution, optimum, random_allocation
from transom import Stop, solve
from transom.heuristics.allocation.genetic import _Keys
from transom.models import AUTHORS, Allocation, FatTree

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("rule", ["static", "dynamic", "free"])
@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1))
def test_every_row_of_keys_is_a_solution(rule: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = random_allocation(rng, rule, max_idle=20, max_jobs=5)
    keys = _Keys(problem)
    rows = rng.random((6, keys.count))
    rows[0], rows[1] = 0.0, 1.0
    for row, value in zip(rows, keys.values(rows), strict=True):
        owner = keys.solution(row)
        assert problem.violations(owner) == []
        assert problem.value(owner) == pytest.approx(value)


@pytest.mark.parametrize("rule", ["static", "dynamic"])
def test_every_solution_has_a_row(rule: str) -> None:
    rng = np.random.default_rng(8)
    for _ in range(12):
        problem = random_allocation(rng, rule, max_idle=8)
        keys = _Keys(problem)
        for owner in every_solution(problem):
            row = keys.encode(np.array(owner))
            assert row is not None
            assert row.shape == (keys.count,)
            assert np.array_equal(keys.solution(row), owner)


def test_a_free_start_need_not_have_a_row() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(8), [3, 3], "free", cost=AUTHORS)
    crossed = np.array([0, 1, 0, 1, 0, 1, -1, -1])
    assert _Keys(problem).encode(crossed) is None
    result = solve(problem, "ga:population=10", Stop(iterations=3), start=crossed)
    assert result.value is not None
    assert result.value <= problem.value(crossed)


@pytest.mark.parametrize("rule", ["static", "dynamic"])
def test_it_finds_small_optima(rule: str) -> None:
    rng = np.random.default_rng(6)
    for _ in range(5):
        problem = random_allocation(rng, rule, max_idle=9)
        result = solve(problem, "ga:population=30", Stop(iterations=30))
        assert result.value == pytest.approx(optimum(problem))


def test_iterations_are_generations_and_repeat() -> None:
    problem = Allocation(FatTree.uniform(200, 10, 40), np.arange(0, 200, 2), [17, 9, 21, 5, 12], "dynamic")
    first, second = (solve(problem, "ga", Stop(iterations=4), seed=2) for _ in range(2))
    assert first.reason == "iterations"
    assert np.array_equal(first.solution, second.solution)
    assert first.curve[-1][1] < first.curve[0][1]
