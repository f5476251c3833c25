"""Limits of shares, medians and means: worked numbers, and where they have nothing to say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom.bench.score.limits import (
    FEWEST_FOR_MEAN,
    FEWEST_FOR_MEDIAN,
    Limits,
    mean_limits,
    median_limits,
    share_limits,
)


@pytest.fixture(autouse=True)
def _no_warnings() -> None:
    warnings.simplefilter("error")


def of(limits: Limits | None) -> tuple[float, float]:
    assert limits is not None
    return float(limits.low), float(limits.high)


def test_limits_of_a_share_by_hand() -> None:
    # Of 8 none: (1 - p)^8 = 0.025. Half of two: p^2 = 0.025 from below for both of them.
    assert of(share_limits(0, 8)) == pytest.approx((0, 1 - 0.025 ** (1 / 8)))
    assert of(share_limits(2, 2)) == pytest.approx((0.025**0.5, 1))
    assert share_limits(0, 0) is None


def test_limits_of_a_median_are_two_of_the_values() -> None:
    # Six tosses are alike with 2/64 < 5 %. Of nine at most one differs with 20/512, at most two with 92/512.
    assert of(median_limits([5, 1, 3, 2, 6, 4])) == (1, 6)
    assert of(median_limits(np.arange(9))) == (1, 7)
    assert of(median_limits([0.0] * 5 + [1.0] * 7)) == (0, 1)
    assert median_limits(np.arange(FEWEST_FOR_MEDIAN - 1)) is None
    assert median_limits([]) is None


def test_limits_of_a_mean_of_nothing_but_zeros_are_about_those_of_a_share() -> None:
    for count in (FEWEST_FOR_MEAN, 92, 1000):
        low, high = of(mean_limits(np.zeros(count)))
        exact = 1 - 0.025 ** (1 / count)
        assert low == 0
        assert exact < high < 1.2 * exact
        assert of(mean_limits(np.ones(count))) == pytest.approx((1 - high, 1))
    assert of(mean_limits(np.zeros(60)))[1] < 0.07  # what the page says


def test_limits_of_a_mean_of_few_values_are_not_reported() -> None:
    assert mean_limits(np.zeros(FEWEST_FOR_MEAN - 1)) is None
    assert mean_limits([]) is None


def test_limits_of_a_mean_become_narrow() -> None:
    rng = np.random.default_rng(1)
    widths = [np.subtract(*of(mean_limits(rng.random(count)))[::-1]) for count in (60, 600, 6000)]
    assert widths[0] > 2.5 * widths[1] > 2.5 * 2.5 * widths[2]
    assert widths[2] < 0.03  # Student's would be 0.015


def test_limits_of_lines_are_taken_one_by_one() -> None:
    lines = np.random.default_rng(2).random((70, 3))
    found = mean_limits(lines)
    assert found is not None
    assert found.low.shape == found.high.shape == (3,)
    for place in range(3):
        assert (found.low[place], found.high[place]) == pytest.approx(of(mean_limits(lines[:, place])))


@settings(max_examples=20)
@given(st.lists(st.floats(0, 1), min_size=FEWEST_FOR_MEAN, max_size=FEWEST_FOR_MEAN + 9), st.floats(-9, 9))
def test_limits_of_a_mean_hold_its_own_and_move_with_the_unit(values: list[float], shift: float) -> None:
    sample = np.array(values)
    low, high = of(mean_limits(sample))
    assert 0 <= low <= sample.mean() <= high <= 1
    moved = of(mean_limits(7 * sample + shift, shift, shift + 7))
    assert moved == pytest.approx((7 * low + shift, 7 * high + shift), abs=1e-6)
    assert of(mean_limits(sample[::-1])) == pytest.approx((low, high), abs=1e-9)
