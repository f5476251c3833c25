"""What is decided before any solver starts."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.models import Knapsack
from transom.models.reduction import reduce

pytestmark = pytest.mark.fast

knapsacks = st.integers(0, 7).flatmap(
    lambda n: st.builds(
        Knapsack,
        st.lists(st.integers(-4, 12), min_size=n, max_size=n),
        st.lists(st.integers(0, 12), min_size=n, max_size=n),
        st.integers(0, 30),
    )
)


def optimum(values: np.ndarray, weights: np.ndarray, capacity: int) -> int:
    if not len(values):
        return 0
    choices = np.array(list(product((0, 1), repeat=len(values))), dtype=np.int64)
    return int((choices @ values)[choices @ weights <= capacity].max())


@given(knapsacks)
def test_an_optimal_choice_of_the_rest_is_optimal(problem: Knapsack) -> None:
    reduced = reduce(problem)
    best = optimum(reduced.values, reduced.weights, reduced.capacity)
    assert reduced.value_of(best) == optimum(problem.values, problem.weights, problem.capacity)


@given(knapsacks)
def test_what_is_left_is_worth_a_decision(problem: Knapsack) -> None:
    reduced = reduce(problem)
    assert (reduced.values > 0).all()
    assert (reduced.weights > 0).all()
    assert (reduced.weights <= reduced.capacity).all()
    assert not len(reduced.items) or reduced.weights.sum() > reduced.capacity
    assert not reduced.taken[reduced.items].any()
    assert problem.violations(reduced.taken) == []
    assert np.gcd.reduce(reduced.values) in (0, 1)
    assert np.gcd.reduce(reduced.weights) in (0, 1)


@given(knapsacks)
def test_a_choice_becomes_a_solution_of_that_worth(problem: Knapsack) -> None:
    reduced = reduce(problem)
    chosen = np.zeros(len(reduced.items), dtype=bool)
    chosen[: len(chosen) // 2] = True
    solution = reduced.solution(chosen)
    assert problem.value(solution) == reduced.value_of(int(reduced.values[chosen].sum()))
    assert (problem.weight(solution) <= problem.capacity) == (reduced.weights[chosen].sum() <= reduced.capacity)


def test_units_are_divided_out() -> None:
    reduced = reduce(Knapsack([600, 1000, 1200, -7, 90], [10, 20, 30, 5, 0], 59))
    assert reduced.items.tolist() == [0, 1, 2]
    assert (reduced.values.tolist(), reduced.weights.tolist(), reduced.capacity) == ([3, 5, 6], [1, 2, 3], 5)
    assert (reduced.value, reduced.unit) == (90, 200)
    assert reduced.solution(np.array([False, True, True])).tolist() == [False, True, True, False, True]
