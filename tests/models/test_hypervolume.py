"""The share of hypervolume along directions, against the exact one and by its properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.models.hypervolume import DIRECTIONS, directions, share_along


@pytest.mark.parametrize("objectives", [2, 3, 4, 5, 6])
def test_it_is_near_the_exact_share(objectives: int) -> None:
    from moocore import hypervolume

    rng = np.random.default_rng(objectives)
    for count in (10, 60):
        points = rng.random((count, objectives)) ** 0.3
        exact = hypervolume(points, ref=np.zeros(objectives), maximise=True)
        assert share_along(points) == pytest.approx(exact, rel=0.02)


@given(st.integers(2, 12), st.integers(1, 30), st.integers(0, 10**6))
def test_more_points_dominate_no_less_and_order_says_nothing(objectives: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((count, objectives))
    shares = [share_along(points[: i + 1]) for i in range(count)]
    assert (np.diff(shares) >= 0).all()
    assert shares[0] > 0
    assert shares[-1] <= 1
    assert share_along(points[::-1]) == shares[-1]


@pytest.mark.parametrize("objectives", [2, 11, 400])
def test_the_corner_of_the_box_is_all_and_the_origin_nothing(objectives: int) -> None:
    assert share_along(np.ones((1, objectives))) == 1.0
    assert share_along(np.zeros((1, objectives))) == 0.0


def test_directions_are_of_unit_length_and_cover_each_axis_alike() -> None:
    vectors = 1 / directions(6)
    assert vectors.shape == (6, DIRECTIONS)
    assert np.allclose((vectors**2).sum(axis=0), 1)
    assert np.allclose(vectors.mean(axis=1), vectors.mean(), rtol=0.01)
