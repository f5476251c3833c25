"""What ``auto`` chooses, and says that it chose."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.generate.knapsacks import generate_knapsack
from transom.models import Knapsack


def chosen(problem: Knapsack, stop: Stop) -> str:
    result = solve(problem, "auto", stop)
    assert check(problem, result) == []
    return str(result.parameters["chose"])


@pytest.mark.parametrize(
    ("items", "value_range", "method"), [(10, 100, "dp"), (50, 100, "dp"), (100, 1000, "primal-dual")]
)
def test_the_size_of_the_table_decides(items: int, value_range: int, method: str) -> None:
    problem = generate_knapsack("circle", items, value_range, np.random.default_rng(1))
    result = solve(problem)
    assert (result.solver, result.status, result.parameters["chose"]) == ("auto", "optimal", method)


def test_it_goes_on_where_the_first_method_ends_unproved() -> None:
    problem = generate_knapsack("inverse-strongly-correlated", 500, 10**8, np.random.default_rng(2))
    assert chosen(problem, Stop(seconds=2)).startswith("primal-dual+cpsat")


def test_it_does_not_begin_what_it_cannot_finish() -> None:
    problem = generate_knapsack("inverse-strongly-correlated", 500, 10**8, np.random.default_rng(2))
    assert chosen(problem, Stop(seconds=0.02)) == "primal-dual"
