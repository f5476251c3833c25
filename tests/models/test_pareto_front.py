from __future__ import annotations

import numpy as np
import pytest

from transom.models.pareto_front import EXACT_OBJECTIVES, hypervolume_share, nondominated, pareto_front


@pytest.mark.parametrize("seed", range(60))
def test_the_filter_keeps_one_of_each_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(0, rng.integers(2, 12), (int(rng.integers(1, 60)), int(rng.integers(1, 7))))
    kept = nondominated(values)
    best = {
        tuple(row) for row in values.tolist() if not ((values >= row).all(axis=1) & (values > row).any(axis=1)).any()
    }
    assert {tuple(row) for row in values[kept].tolist()} == best
    assert kept.sum() == len(best), "one of each"


def test_the_filter_is_exact_at_large_numbers() -> None:
    values = np.array([[2**53 - 2, 5], [2**53 - 1, 4], [2**53 - 2, 4]])
    assert nondominated(values).tolist() == [True, True, False]


def test_a_front_is_sorted_and_keeps_the_first_of_equals() -> None:
    front = pareto_front([[1, 9], [5, 5], [9, 1], [5, 5], [4, 4]], np.eye(5, dtype=bool))
    assert front.values.tolist() == [[9, 1], [5, 5], [1, 9]]
    assert front.selections.argmax(axis=1).tolist() == [2, 1, 0]


@pytest.mark.parametrize("objectives", range(1, 12))
def test_hypervolume_grows_with_the_front(objectives: int) -> None:
    rng = np.random.default_rng(objectives)
    values = rng.integers(0, 100, (40, objectives))
    ceiling = np.full(objectives, 100)
    shares = [hypervolume_share(values[:count], ceiling) for count in range(1, 41)]
    assert shares == sorted(shares)
    assert all(0 < share <= 1 for share in shares)
    assert hypervolume_share(values[::-1], ceiling) == shares[-1], "in any order of the points"
    assert hypervolume_share(ceiling[None, :], ceiling) == 1


@pytest.mark.parametrize("objectives", range(EXACT_OBJECTIVES + 1, 9))
def test_the_approximate_hypervolume_is_near_the_exact_one(objectives: int) -> None:
    from moocore import hypervolume

    values = np.random.default_rng(0).integers(0, 100, (15, objectives))
    exact = hypervolume((values + 1) / 101, ref=np.zeros(objectives), maximise=True)
    assert hypervolume_share(values, np.full(objectives, 100)) == pytest.approx(exact, rel=0.05)


def test_hypervolume_by_hand() -> None:
    assert hypervolume_share(np.array([[3, 0], [0, 1]]), np.array([3, 1])) == pytest.approx((4 + 1) / 8)
