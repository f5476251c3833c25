"""Tests between solvers against the library, against worked numbers, and where they have nothing to say."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
import scipy  # which imports its parts when they are asked for
from hypothesis import given
from hypothesis import strategies as st

from transom.bench.score.statistics import FEWEST, friedman, holm, pairs, shifted_geometric_mean, signed_rank


@pytest.fixture(autouse=True)
def _no_warnings() -> None:
    assert scipy.stats  # with the warnings of its own import
    warnings.simplefilter("error")


def named(*values: float) -> dict[str, float]:
    return {f"i{position}": value for position, value in enumerate(values)}


def test_the_shifted_geometric_mean_by_hand() -> None:
    assert shifted_geometric_mean([0, 3], 1) == pytest.approx(1)  # sqrt(1 * 4) - 1
    assert shifted_geometric_mean([5, 5, 5], 10) == pytest.approx(5)


def test_holm_by_hand() -> None:
    # Sorted 0.005, 0.01, 0.03, 0.04 times 4, 3, 2, 1, and never less than the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1, 1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_is_no_laxer_than_the_plain_values_and_no_stricter_than_bonferroni(values: list[float]) -> None:
    for plain, corrected in zip(values, holm(values), strict=True):
        assert plain <= corrected <= min(1, len(values) * plain) + 1e-12


def test_the_rank_test_is_that_of_the_library_without_ties() -> None:
    differences = np.array([0.3, -0.1, 0.5, 0.2, 0.9, 0.7, 0.4, 0.0, 0.0])
    # Worked: of 7, ranks of the negative ones sum to 1; P(W <= 1) = 2 / 2^7 on either side.
    assert signed_rank(differences) == pytest.approx(2 * 2 / 2**7)
    assert signed_rank(differences) == pytest.approx(scipy.stats.wilcoxon(differences[:7]).pvalue)


def test_a_clear_difference_is_reported() -> None:
    good, bad = named(*np.linspace(0, 0.1, 12)), named(*np.linspace(0.05, 0.2, 12))
    (pair,) = pairs({"good": good, "bad": bad}, tolerance=1e-4)
    assert (pair.first, pair.second, pair.wins, pair.ties, pair.losses) == ("good", "bad", 12, 0, 0)
    assert pair.difference == pytest.approx(-0.075)
    assert pair.median == pytest.approx(-0.075)
    assert pair.median_low is not None
    assert pair.median_high is not None
    assert pair.median_low < -0.075 < pair.median_high < 0
    assert pair.p == pair.p_corrected == pytest.approx(2 / 2**12)
    assert pair.verdict == "better"
    assert pairs({"bad": bad, "good": good}, tolerance=1e-4)[0].verdict == "worse"


def test_a_significant_difference_goes_the_way_of_the_ranks() -> None:
    # Worked: sixteen small losses have the ranks 1 to 16, their sum is 136 of 465; fourteen large wins have the others.
    ours = named(*[0.1 + 0.001 * (i + 1) for i in range(16)], *[0.1] * 14)
    theirs = named(*[0.1] * 16, *[0.2 + 0.001 * i for i in range(14)])
    (pair,) = pairs({"ours": ours, "theirs": theirs}, tolerance=1e-4)
    assert (pair.wins, pair.losses) == (14, 16)
    assert pair.p is not None
    assert pair.p < 0.05
    assert pair.verdict == "better"
    assert pairs({"theirs": theirs, "ours": ours}, tolerance=1e-4)[0].verdict == "worse"


def test_all_pairs_of_three_are_corrected_together() -> None:
    rng = np.random.default_rng(3)
    base = rng.random(20)
    figures = {"a": named(*base), "b": named(*(base + 0.1 * rng.random(20))), "c": named(*rng.random(20))}
    found = pairs(figures, tolerance=1e-4)
    assert [(pair.first, pair.second) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [pair.p_corrected for pair in found] == holm([pair.p or 0 for pair in found])
    assert found[0].verdict == "better"


def test_differences_within_the_tolerance_are_ties() -> None:
    (pair,) = pairs({"a": named(*[0.1] * 9), "b": named(*[0.1 + 5e-5] * 9)}, tolerance=1e-4)
    assert (pair.wins, pair.ties, pair.losses, pair.p, pair.verdict) == (0, 9, 0, None, "all ties")


def test_few_instances_are_reported_and_no_nan_comes_out() -> None:
    (pair,) = pairs({"a": named(0, 0, 0, 0, 0), "b": named(1, 1, 1, 1, 1)}, tolerance=1e-4)
    assert (pair.wins, pair.p, pair.verdict) == (5, None, "too few instances")
    assert len(named(0, 0, 0, 0, 0)) == FEWEST - 1
    (lonely,) = pairs({"a": {"x": 1.0}, "b": {"y": 1.0}}, tolerance=1e-4)
    assert (lonely.instances, lonely.difference, lonely.median, lonely.median_low) == (0, None, None, None)
    assert lonely.verdict == "too few instances"


def test_solvers_are_compared_on_what_both_met() -> None:
    (pair,) = pairs({"a": {"x": 0.0, "y": 0.0, "z": 9.0}, "b": {"y": 1.0, "x": 0.0}}, tolerance=1e-4)
    assert (pair.instances, pair.wins, pair.ties, pair.losses) == (2, 1, 1, 0)


def test_friedman_is_that_of_the_library() -> None:
    rng = np.random.default_rng(4)
    matrix = np.round(rng.random((15, 4)), 2) + np.array([0, 0.1, 0.3, 0.3])
    found = friedman({name: named(*column) for name, column in zip("abcd", matrix.T, strict=True)}, tolerance=1e-3)
    assert found.p == pytest.approx(scipy.stats.friedmanchisquare(*matrix.T).pvalue)
    assert sum(found.ranks.values()) == pytest.approx(10)
    assert found.instances == 15
    assert min(found.ranks, key=found.ranks.__getitem__) == "a"


@pytest.mark.parametrize(
    ("figures", "why"),
    [
        ({"a": named(1), "b": named(2)}, "it takes three solvers"),
        ({"a": named(1), "b": named(2), "c": named(3)}, "it takes 6 instances that all met, there are 1"),
        ({"a": named(*[1] * 9), "b": named(*[1] * 9), "c": named(*[1] * 9)}, "all tie on every instance"),
        ({"a": {"x": 1.0}, "b": {"y": 1.0}, "c": {"z": 1.0}}, "no instance was met by all"),
    ],
)
def test_friedman_says_why_it_says_nothing(figures: dict[str, dict[str, float]], why: str) -> None:
    found = friedman(figures, tolerance=1e-4)
    assert (found.p, found.why) == (None, why)


@given(st.lists(st.integers(-4, 4).filter(bool), min_size=FEWEST, max_size=9))
def test_the_signed_rank_test_goes_through_all_signs(differences: list[int]) -> None:
    ranks = scipy.stats.rankdata(np.abs(differences))
    signs = np.array(list(itertools.product((0, 1), repeat=len(ranks))))
    sums, ours = signs @ ranks, ranks[np.array(differences) > 0].sum()
    tail = min((sums <= ours).mean(), (sums >= ours).mean())
    assert signed_rank(differences) == pytest.approx(min(1, 2 * tail))


@pytest.mark.parametrize("count", [FEWEST, 20, 50, 51, 80])
def test_the_signed_rank_test_is_that_of_the_library_where_nothing_is_equal(count: int) -> None:
    differences = np.random.default_rng(count).normal(0.2, 1, count)
    assert signed_rank(differences) == pytest.approx(scipy.stats.wilcoxon(differences).pvalue)
    assert signed_rank(-differences) == pytest.approx(signed_rank(differences))
