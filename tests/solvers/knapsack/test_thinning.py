"""The half of a list that is kept: the lower scores, and of equal ones a spread."""

from __future__ import annotations

import numpy as np

from transom.solvers.knapsack.thinning import keep, lower_half, value_of_rank


def test_the_value_of_every_rank_is_that_of_the_sorted_values() -> None:
    rng = np.random.default_rng(3)
    for largest in (1, 2, 5, 2**62):
        for count in (1, 2, 7, 3000):
            values = rng.integers(-largest, largest, count)
            values[rng.random(count) < 0.9] = 0
            ordered = np.sort(values)
            for rank in {0, count // 3, count // 2, count - 1}:
                assert value_of_rank(values, rank) == ordered[rank]


def test_the_lower_half_is_kept_in_order_and_of_equal_scores_a_spread() -> None:
    rng = np.random.default_rng(4)
    for count in (2, 5, 100, 4001):
        scores = rng.integers(0, 4, count)
        kept = lower_half(scores)
        assert kept.sum() == count // 2
        assert scores[kept].max() <= scores[~kept].min()
        states = np.stack((np.arange(count), 7 * np.arange(count)))
        assert keep(states, kept) == count // 2
        assert np.array_equal(states[0, : count // 2], np.flatnonzero(kept))
        assert np.array_equal(states[1, : count // 2], 7 * np.flatnonzero(kept))
    alike = lower_half(np.zeros(1000, np.int64))
    assert np.diff(np.flatnonzero(alike)).max() <= 3
    assert alike[[0, 999]].all()
