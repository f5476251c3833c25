"""Greedy without sorting everything: the same answer and bound."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.heuristics.knapsack import greedy_buckets
from transom.heuristics.knapsack.greedy import Greedy
from transom.heuristics.knapsack.greedy_buckets import complete, greedy_choice
from transom.models.efficiency import by_efficiency, dantzig
from transom.models.knapsack import Knapsack
from transom.models.reduction import reduce
from transom.stop import Stop


@settings(max_examples=150)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CLASSES)),
    st.integers(2, 300),
    st.sampled_from([10, 1000, 10**8]),
    st.floats(0.01, 0.99),
    st.integers(0, 20),
)
def test_the_answer_is_that_of_sorting(
    seed: int, klass: str, items: int, value_range: int, ratio: float, margin: int
) -> None:
    reduced = reduce(generate_knapsack(klass, items, value_range, np.random.default_rng(seed), ratio))
    if not len(reduced.items):
        return
    order = by_efficiency(reduced.values, reduced.weights)
    expected = np.zeros(len(order), np.bool_)
    complete(expected, reduced.weights, reduced.capacity, order)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy_buckets, "SORTED", 5)
        patch.setattr(greedy_buckets, "_BUCKETS", 3)
        patch.setattr(greedy_buckets, "_SAMPLE", 40)  # of which few mislead
        patch.setattr(greedy_buckets, "_MARGIN", margin)
        chosen, bound = greedy_choice(reduced.values, reduced.weights, reduced.capacity)
        hurried, bound_in_haste = greedy_choice(reduced.values, reduced.weights, reduced.capacity, lambda: True)
    assert np.array_equal(chosen, expected)
    assert bound == dantzig(reduced.values, reduced.weights, reduced.capacity, order) == bound_in_haste
    # Where time is over, the last items that fit are missing, none of those before the break item.
    assert not (hurried & ~expected).any()
    assert hurried[order[: np.searchsorted(reduced.weights[order].cumsum(), reduced.capacity, side="right")]].all()


def test_large_problems_are_not_sorted_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    sorted_: list[int] = []

    def spy(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
        sorted_.append(len(values))
        return by_efficiency(values, weights)

    monkeypatch.setattr(greedy_buckets, "by_efficiency", spy)
    problem = generate_knapsack("strongly-correlated", 200_000, 10**6, np.random.default_rng(1))
    budget = Stop().start(problem)
    Greedy()(problem, budget, np.random.default_rng(0))
    assert budget.value is not None
    assert sum(sorted_) < 50_000


@pytest.mark.parametrize("klass", ["uncorrelated", "subset-sum", "profit-ceiling"])
def test_large_problems_get_the_same_without_copies(klass: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = generate_knapsack(klass, 500, 1000, np.random.default_rng(3))
    problem = Knapsack(6 * problem.values, 4 * problem.weights, 4 * problem.capacity + 3)
    answers = []
    for limit in (1000, 100):
        monkeypatch.setattr("transom.heuristics.knapsack.greedy.SORTED", limit)
        budget = Stop().start(problem)
        Greedy()(problem, budget, np.random.default_rng(0))
        answers.append((budget.value, budget.bound, budget.solution.tolist()))
    assert answers[0] == answers[1]


def test_equal_efficiencies_of_large_numbers_are_not_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(greedy_buckets, "by_efficiency", None)
    weights = np.random.default_rng(1).integers(1, 10**8, 30_000)
    chosen, bound = greedy_choice(3 * weights, weights, int(weights.sum()) // 2)
    assert bound == 3 * (int(weights.sum()) // 2)
    expected = np.zeros(len(weights), np.bool_)
    complete(expected, weights, int(weights.sum()) // 2, np.arange(len(weights)))
    assert np.array_equal(chosen, expected)
