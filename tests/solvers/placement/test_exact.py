"""Our own exact solver of placements against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

from tests.amounts import numbers
from tests.placement_cases import optimum, random_placement
from tests.timing import used
from transom import Placement, Stop, check, solve
from transom.solvers.placement import exact
from transom.testing import check_solver

EXACT = "placement-exact"


def test_it_keeps_what_solvers_keep() -> None:
    check_solver(EXACT, reference=EXACT, exact=True)


@numbers(125, 500)
@pytest.mark.parametrize("seed", range(4))
def test_small_windows_by_enumeration(seed: int, numbers: range) -> None:
    rng = np.random.default_rng(seed + numbers.start)
    for _ in numbers:
        problem = random_placement(rng)
        result = solve(problem, EXACT, Stop(), seed)
        assert result.error is None
        assert check(problem, result) == []
        assert (result.status, result.value) == ("optimal", optimum(problem)), problem


@numbers(100, 300)
def test_amounts_of_61_bits_by_enumeration(numbers: range) -> None:
    """Scaled up, with a unit more or less here and there: what fits by one unit, or not, must be told."""
    rng = np.random.default_rng(8 + numbers.start)
    for _ in numbers:
        given = random_placement(rng)
        scale = 2**57
        free = given.free * scale + rng.integers(-1, 2, given.free.shape)
        demands = given.demands * scale + rng.integers(-1, 2, given.demands.shape)
        problem = Placement(np.maximum(free, 0), np.maximum(demands, 0), given.waiting, given.values)
        result = solve(problem, EXACT, Stop())
        assert (result.status, result.value) == ("optimal", optimum(problem)), problem


def test_values_of_60_bits() -> None:
    rng = np.random.default_rng(9)
    for _ in range(100):
        given = random_placement(rng)
        values = given.values % 1000 * 2**40 + rng.integers(0, 3, len(given))
        problem = Placement(given.free, given.demands, given.waiting, values)
        result = solve(problem, EXACT, Stop())
        assert (result.status, result.value) == ("optimal", optimum(problem)), problem


def larger(rng: np.random.Generator, tasks: int, machines: int) -> Placement:
    free = rng.integers(20, 100, (machines, 2))
    free[::2] = free[0]
    demands, waiting = rng.integers(3, 30, (tasks, 2)), rng.integers(1, 8, tasks)
    return Placement(free, demands, waiting, durations=rng.integers(1, 100, tasks)).with_objective("area")


def test_bounds_and_values_on_the_way() -> None:
    rng = np.random.default_rng(10)
    proved = 0
    for _ in range(20):
        problem = larger(rng, 20, 4)
        result = solve(problem, EXACT, Stop(iterations=200_000))
        assert check(problem, result) == []
        values = [value for _, value, _ in result.curve if value is not None]
        bounds = [bound for _, _, bound in result.curve if bound is not None]
        assert values == sorted(values)
        assert bounds == sorted(bounds, reverse=True)
        assert result.bound is not None
        assert result.value is not None
        assert result.bound <= 1.06 * result.value
        proved += result.status == "optimal"
    assert proved > 5


def test_identical_tasks_and_machines_are_no_work() -> None:
    rng = np.random.default_rng(12)
    problem = larger(rng, 6, 1)
    rows = np.repeat(np.arange(6), 10)
    many = Placement(
        np.repeat(problem.free, 8, axis=0), problem.demands[rows], problem.waiting[rows], problem.values[rows]
    )
    result = solve(many, EXACT, Stop(iterations=2_000_000))
    assert result.status == "optimal"
    one = solve(Placement(problem.free, problem.demands, problem.waiting * 10, problem.values), EXACT, Stop())
    assert result.value == 8 * one.value


def test_what_is_too_large_to_search_has_a_bound() -> None:
    rng = np.random.default_rng(13)
    problem = larger(rng, 600, 200)
    result = solve(problem, EXACT, Stop(seconds=0.3))
    assert check(problem, result) == []
    assert result.bound is not None
    assert used(lambda: solve(problem, EXACT, Stop(seconds=0.3)), 3) < 3


def test_where_the_time_is_too_short_for_prices_a_rule_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rule alone: prices and further rules would take longer than the whole budget."""
    rng = np.random.default_rng(3)
    problem = Placement(rng.integers(50, 200, (40, 2)), rng.integers(1, 60, (400, 2)), [1] * 400)
    exact.PlacementExact.warm_up()  # which asks for prices
    monkeypatch.setattr(exact, "reduce", lambda problem: pytest.fail("prices were asked for"))
    result = solve(problem, EXACT, Stop(seconds=1e-6))
    assert (result.status, result.value) == ("feasible", solve(problem, "greedy", Stop(iterations=1)).value)
