"""Greedy without sorting everything: the same answer and bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.generate.knapsacks import CLASSES, generate_knapsack
from transom.heuristics import _greedy_buckets
from transom.heuristics._greedy_buckets import complete, greedy_choice
from transom.heuristics.greedy import Greedy
from transom.models.efficiency import by_efficiency, dantzig
from transom.models.reduction import reduce
from transom.stop import Stop


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CLASSES)),
    st.integers(2, 300),
    st.sampled_from([10, 1000, 10**8]),
    st.floats(0.01, 0.99),
)
def test_the_answer_is_that_of_sorting(seed: int, klass: str, items: int, value_range: int, ratio: float) -> None:
    reduced = reduce(generate_knapsack(klass, items, value_range, np.random.default_rng(seed), ratio))
    if not len(reduced.items):
        return
    order = by_efficiency(reduced.values, reduced.weights)
    expected = np.zeros(len(order), np.bool_)
    complete(expected, reduced.weights, reduced.capacity, order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_greedy_buckets, "SORTED", 5)
        patch.setattr(_greedy_buckets, "_BUCKETS", 3)
        chosen, bound = greedy_choice(reduced.values, reduced.weights, reduced.capacity)
    assert np.array_equal(chosen, expected)
    assert bound == dantzig(reduced.values, reduced.weights, reduced.capacity, order)


def test_large_problems_are_not_sorted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_: list[int] = []

    def spy(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        sorted_.append(len(values))
        return by_efficiency(values, weights)

    monkeypatch.setattr(_greedy_buckets, "by_efficiency", spy)
    problem = generate_knapsack("strongly-correlated", 200_000, 10**6, np.random.default_rng(1))
    budget = Stop().start(problem)
    Greedy()(problem, budget, np.random.default_rng(0))
    assert budget.value is not None
    assert sum(sorted_) < 50_000
