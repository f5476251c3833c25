"""CP-SAT: reports on the way, exact bounds, threads."""

from __future__ import annotations

from time import process_time

import numpy as np

from transom import Stop, check, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Knapsack


def test_incumbents_and_bounds_come_while_it_runs() -> None:
    problem = generate_knapsack("strongly-correlated", 1000, 10**8, np.random.default_rng(1))
    result = solve(problem, "cpsat", Stop(seconds=1), clock=process_time)  # others may hold the processor
    assert check(problem, result) == []
    assert len({value for _, value, _ in result.curve}) > 2
    assert len({bound for _, _, bound in result.curve}) > 2
    assert any(0.01 < seconds < 0.9 for seconds, _, _ in result.curve)


def test_two_threads_prove_the_same() -> None:
    problem = generate_knapsack("circle", 100, 1000, np.random.default_rng(2))
    one, two = (solve(problem, "cpsat", Stop(seconds=20), threads=threads) for threads in (1, 2))
    assert (one.status, one.value) == (two.status, two.value) == ("optimal", solve(problem, "dp").value)


def test_values_beyond_double_precision_are_proved_exactly() -> None:
    values = np.array([2**60 + 1, 2**60 + 3, 2**59 + 1, 2**59 + 4, 7])
    problem = Knapsack(values, [3, 3, 2, 2, 1], 6)
    result = solve(problem, "cpsat", Stop(seconds=5))
    assert (result.status, result.value, result.bound) == ("optimal", 2**61 + 4, 2**61 + 4)
