"""What is done about SCIP's floating point."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.living import living
from transom import Stop, check, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.models import Knapsack
from transom.models.reduction import reduce
from transom.solvers.backends.native import run_deferred
from transom.solvers.knapsack.scip import repaired


def test_a_solution_beyond_the_capacity_loses_its_least_efficient_items() -> None:
    reduced = reduce(Knapsack([9, 8, 7, 1], [3, 3, 3, 2], 7))
    values = np.array([1.0, 1.0 - 1e-7, 0.9999999, 1e-7])
    assert repaired(reduced, values).tolist() == [True, True, False, False]
    assert repaired(reduced, np.array([0.0, 1.0, 1.0, 0.0])).tolist() == [False, True, True, False]
    assert repaired(reduced, np.ones(4)).tolist() == [True, True, False, False]


@pytest.mark.parametrize("klass", CLASSES)
def test_large_coefficients_give_feasible_answers_and_no_wrong_proof(klass: str) -> None:
    problem = generate_knapsack(klass, 60, 10**8, np.random.default_rng(1))
    ours = solve(problem, "primal-dual", Stop(seconds=0.5))
    result = solve(problem, "scip", Stop(seconds=0.3))
    assert check(problem, result) == []
    assert ours.value is not None
    assert ours.bound is not None
    assert result.value is not None
    assert result.bound is not None
    assert result.value <= ours.bound
    assert result.bound >= ours.value


@pytest.mark.parametrize(("items", "status"), [(50, "optimal"), (250, "feasible")])
def test_values_of_more_than_1e10_are_bounded_but_not_proved(items: int, status: str) -> None:
    problem = generate_knapsack("uncorrelated", items, 10**8, np.random.default_rng(2))
    assert (problem.values.sum() > 10**10) == (status == "feasible")
    optimum = solve(problem, "primal-dual").value
    result = solve(problem, "scip", Stop(seconds=600))
    assert optimum is not None
    assert (result.status, result.value) == (status, optimum)
    assert result.bound is not None
    assert result.bound <= optimum + 1


def test_a_common_divisor_brings_them_below() -> None:
    problem = generate_knapsack("uncorrelated", 50, 1000, np.random.default_rng(2))
    large = Knapsack(problem.values * 10**10, problem.weights, problem.capacity)
    result = solve(large, "scip", Stop(seconds=600))
    assert (result.status, result.value) == ("optimal", 10**10 * (solve(problem, "dp").value or 0))


def test_an_iteration_is_a_node() -> None:
    problem = generate_knapsack("weakly-correlated", 300, 10**4, np.random.default_rng(3))
    few, many = (solve(problem, "scip", Stop(iterations=nodes)) for nodes in (1, 50))
    assert few.reason == "iterations"
    assert few.bound is not None
    assert many.bound is not None
    assert many.bound <= few.bound


def test_models_do_not_pile_up() -> None:
    from pyscipopt import Model

    problem = generate_knapsack("circle", 30, 1000, np.random.default_rng(4))
    gc.collect()
    gc.disable()
    try:
        solve(problem, "scip", Stop(seconds=600))
        run_deferred()
        assert not living(Model)
    finally:
        gc.enable()


def test_what_scip_calls_a_bound_when_it_restarts_is_none() -> None:
    # Before its search starts again, SCIP reports 970 on this one, whose optimum is 977.
    table = """49 28 35 20 7 4 90 75 28 16 18 15 162 135 36 30 63 36 7 4 36 30 126 105 21 12 35 20 14 8 72 60
        70 40 63 36 36 30 162 135 162 135 36 30 49 28 108 90 28 16 70 40 42 24 14 8 162 135"""
    items = np.array(table.split(), dtype=np.int64).reshape(-1, 2)
    problem = Knapsack(items[:, 0], items[:, 1], 665)
    for seed in range(8):
        result = solve(problem, "scip", Stop(seconds=600), seed=seed)
        assert (result.status, result.value, check(problem, result)) == ("optimal", 977, [])
