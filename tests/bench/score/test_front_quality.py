"""Measures of fronts, by hand and by definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from transom.bench.score import front_quality
from transom.bench.score.front_quality import quality
from transom.errors import ModelError
from transom.models import ParetoFront

TRUE = np.array([[10, 0], [6, 6], [0, 10]])


def test_the_true_front_is_perfect() -> None:
    measured = quality(TRUE, TRUE)
    assert (measured.ratio, measured.epsilon, measured.igd_plus, measured.share) == (1, 0, 0, 1)
    assert (measured.points, measured.true_points, measured.approximate) == (3, 3, False)
    # Reference (-1, -1): 11 * 1 + 7 * 7 + 1 * 11 less what is counted twice, in tenths.
    assert measured.true_hypervolume == pytest.approx((11 * 1 + 7 * 6 + 1 * 4) / 100)


def test_a_front_by_hand() -> None:
    measured = quality([[5, 5], [10, 0]], TRUE)
    assert measured.hypervolume == pytest.approx((11 * 1 + 6 * 5) / 100)
    assert measured.ratio == pytest.approx(41 / 57)
    assert measured.epsilon == pytest.approx(0.5)  # from (5, 5) to (0, 10)
    assert measured.igd_plus == pytest.approx((0 + np.sqrt(0.02) + 0.5) / 3)
    assert measured.share == pytest.approx(1 / 3)


def test_units_make_no_difference() -> None:
    found = np.array([[5, 5], [10, 0]])
    scale, shift = np.array([7, 1000]), np.array([3, -40])
    one = quality(found, TRUE, reference=[-1, -1])
    other = quality(found * scale + shift, TRUE * scale + shift, reference=-scale + shift)
    for name in ("hypervolume", "true_hypervolume", "ratio", "epsilon", "igd_plus", "share"):
        assert getattr(other, name) == pytest.approx(getattr(one, name))


def test_points_count_once_and_dominated_or_useless_ones_nothing() -> None:
    plain = quality([[5, 5], [10, 0]], TRUE)
    more = quality([[5, 5], [10, 0], [5, 5], [4, 4], [-3, 9], [10, 0]], TRUE)
    assert (more.hypervolume, more.share, more.points) == (plain.hypervolume, plain.share, 4)


def test_a_front_of_nothing() -> None:
    measured = quality(np.empty((0, 2)), TRUE)
    assert (measured.ratio, measured.share, measured.epsilon, measured.igd_plus) == (0, 0, np.inf, np.inf)


def test_fronts_of_problems_are_taken_as_they_are() -> None:
    front = ParetoFront(TRUE, np.eye(3, dtype=bool))
    assert quality(front, front).ratio == 1


def test_an_objective_that_is_the_same_everywhere() -> None:
    true = np.array([[4, 0, 3], [0, 4, 3]])
    measured = quality([[4, 0, 3]], true)
    assert measured.ratio == pytest.approx(5 / 9)
    assert quality([[4, 0, 2]], true).epsilon == pytest.approx(1)


def test_one_objective() -> None:
    measured = quality([[7]], [[9]])
    assert measured.ratio == 0
    assert measured.epsilon == 2
    assert quality([[7]], [[9]], reference=[5]).ratio == pytest.approx(0.5)


def by_definition(points: np.ndarray, reference: np.ndarray) -> float:
    """Inclusion and exclusion over all subsets."""
    volume = 0.0
    for size in range(1, len(points) + 1):
        for subset in itertools.combinations(points, size):
            volume -= (-1) ** size * float(np.prod(np.min(subset, axis=0) - reference))
    return volume


def test_measures_are_those_of_the_definitions() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        objectives = int(rng.integers(2, 6))
        true, found = rng.integers(1, 30, (6, objectives)), rng.integers(1, 30, (5, objectives))
        true = np.unique(true, axis=0)  # points count once
        measured = quality(found, true)
        low, wide = true.min(axis=0), np.maximum(1, true.max(axis=0) - true.min(axis=0))
        if np.any(true.max(axis=0) == low):
            continue
        ours, aim, corner = (found - low) / wide, (true - low) / wide, -1 / wide
        assert measured.hypervolume == pytest.approx(by_definition(np.maximum(ours, corner), corner))
        short = np.maximum(aim[:, None] - ours[None], 0)
        assert measured.igd_plus == pytest.approx(np.sqrt((short**2).sum(axis=2)).min(axis=1).mean())
        assert measured.epsilon == pytest.approx((aim[:, None] - ours[None]).max(axis=2).min(axis=1).max())


def test_many_objectives_are_approximated_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    true = rng.integers(0, 1000, (30, 6))
    exact = quality(true[:20], true)
    assert not exact.approximate
    monkeypatch.setattr(front_quality, "EXACT_WORK", 1.0)
    rough = quality(true[:20], true)
    assert rough.approximate
    assert rough.ratio == pytest.approx(exact.ratio, abs=0.01)
    assert (rough.epsilon, rough.igd_plus, rough.share) == (exact.epsilon, exact.igd_plus, exact.share)


@pytest.mark.parametrize(
    ("found", "true", "reference", "what"),
    [
        ([[1, 2, 3]], TRUE, None, "the front must have shape"),
        ([1, 2], TRUE, None, "the front must have shape"),
        ([[1, 2]], np.empty((0, 2)), None, "no point"),
        ([[1, 2]], TRUE, [1, 2, 3], "reference point has shape"),
        ([[1, 2]], TRUE, [10, 10], "is better than"),
    ],
)
def test_what_cannot_be_measured_is_an_error(found: object, true: object, reference: object, what: str) -> None:
    with pytest.raises(ModelError, match=what):
        quality(found, true, reference)
