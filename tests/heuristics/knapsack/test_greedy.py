"""Greedy by value per weight."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import check, solve
from transom.models import Knapsack

pytestmark = pytest.mark.fast

knapsacks = st.integers(1, 12).flatmap(
    lambda n: st.builds(
        Knapsack,
        st.lists(st.integers(-5, 100), min_size=n, max_size=n),
        st.lists(st.integers(0, 40), min_size=n, max_size=n),
        st.integers(0, 200),
    )
)


def test_by_hand() -> None:
    result = solve(Knapsack([60, 100, 120], [10, 20, 30], 50), "greedy")
    assert (result.value, result.bound, result.status, result.reason) == (160, 240, "feasible", "finished")
    assert result.solution.tolist() == [True, True, False]


def test_the_rest_of_the_room_is_filled() -> None:
    assert solve(Knapsack([60, 100, 20, 10], [10, 20, 25, 19], 50), "greedy").solution.tolist() == [
        True,
        True,
        False,
        True,
    ]


def test_the_best_single_item_may_be_better() -> None:
    assert solve(Knapsack([2, 100], [1, 100], 100), "greedy").solution.tolist() == [False, True]


def test_ties_go_to_the_first() -> None:
    assert solve(Knapsack([5] * 4, [5] * 4, 11), "greedy").solution.tolist() == [True, True, False, False]


@given(knapsacks)
def test_it_is_worth_half_of_the_optimum_and_bounded_by_the_relaxation(problem: Knapsack) -> None:
    result, optimum = solve(problem, "greedy"), solve(problem, "dp").value
    assert check(problem, result) == []
    assert result.value is not None
    assert result.bound is not None
    assert optimum is not None
    assert optimum <= 2 * result.value
    assert result.value <= optimum <= result.bound <= 2 * result.value + int(problem.values.max(initial=0))
