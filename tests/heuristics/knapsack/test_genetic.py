"""The genetic algorithm: repair, populations, ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.timing import used
from transom import Stop, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.heuristics.knapsack.genetic import repair
from transom.models import Knapsack
from transom.models.efficiency import by_efficiency
from transom.models.reduction import reduce

pytestmark = pytest.mark.fast

PROBLEM = generate_knapsack("circle", 200, 1000, np.random.default_rng(1))


@given(st.integers(0, 2**32 - 1))
def test_repaired_selections_are_feasible_and_maximal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    reduced = reduce(generate_knapsack("uncorrelated", 15, 40, rng))
    rows = rng.random((6, len(reduced.items))) < 0.7
    before = rows.copy()
    order = by_efficiency(reduced.values, reduced.weights)
    repair(rows, reduced.weights, reduced.capacity, order)
    for row, was in zip(rows, before, strict=True):
        room = reduced.capacity - int(reduced.weights[row].sum())
        assert room >= 0
        assert (reduced.weights[~row] > room).all()
        if reduced.weights[was].sum() <= reduced.capacity:
            assert row[was].all()


def test_repair_drops_the_least_efficient_first() -> None:
    rows = np.ones((1, 4), dtype=bool)
    values, weights = np.array([4, 1, 3, 2]), np.array([2, 2, 2, 2])
    repair(rows, weights, 5, by_efficiency(values, weights))
    assert rows.tolist() == [[True, False, True, False]]


def test_generations_improve_on_greedy() -> None:
    greedy, genetic = solve(PROBLEM, "greedy"), solve(PROBLEM, "ga", Stop(iterations=60), seed=2)
    assert genetic.reason == "iterations"
    assert genetic.value is not None
    assert greedy.value is not None
    assert genetic.value > greedy.value


def test_it_ends_when_every_selection_is_known() -> None:
    small = Knapsack([60, 100, 120], [10, 20, 30], 50)
    result = solve(small, "ga", Stop(seconds=30))
    assert result.reason in ("finished", "proof")
    assert result.value == 220
    assert used(lambda: solve(small, "ga", Stop(seconds=30)), 5) < 5
