"""Pisinger's classes: what each promises about its items holds, here and in the files of kplib."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from transom.errors import SpecError
from transom.generate import CLASSES, generate_knapsack, hard_knapsack
from transom.models import Knapsack

pytestmark = pytest.mark.fast

# What holds for the values v and weights w of a class with range R.
HOLDS: dict[str, Callable[[np.ndarray, np.ndarray, int], np.ndarray]] = {
    "uncorrelated": lambda v, w, r: (v >= 1) & (v <= r) & (w >= 1) & (w <= r),
    "weakly-correlated": lambda v, w, r: (v >= 1) & (np.abs(v - w) <= r // 10) & (w <= r),
    "strongly-correlated": lambda v, w, r: (v == w + r // 10) & (w <= r),
    "inverse-strongly-correlated": lambda v, w, r: (w == v + r // 10) & (v <= r),
    "almost-strongly-correlated": lambda v, w, r: (np.abs(v - w - r // 10) <= r // 500) & (w <= r),
    "subset-sum": lambda v, w, r: (v == w) & (w <= r),
    "similar-weights": lambda v, w, r: (w >= 100 * r) & (w <= 100 * r + r // 10) & (v >= 1) & (v <= r),
    "spanner-uncorrelated": lambda v, w, r: (v >= 1) & (w >= 1) & (w <= 2 * r + 10),
    "spanner-weakly-correlated": lambda v, w, r: (v >= 1) & (np.abs(v - w) <= r // 5 + 10) & (w <= 2 * r + 10),
    "spanner-strongly-correlated": lambda v, w, r: (v >= w) & (v - w <= r // 5 + 10) & (w <= 2 * r + 10),
    "multiple-strongly-correlated": lambda v, w, r: v == w + np.where(w % 6 == 0, 3 * r // 10, r // 5),
    "profit-ceiling": lambda v, w, r: (v % 3 == 0) & (v >= w) & (v - w <= 2) & (w <= r),
    "circle": lambda v, w, r: np.abs(v - 2 / 3 * np.sqrt(4.0 * r * r - (w - 2.0 * r) ** 2)) <= 1,
}


def test_there_are_thirteen() -> None:
    assert list(CLASSES) == list(HOLDS)
    assert len(CLASSES) == 13


@pytest.mark.parametrize("klass", CLASSES)
@pytest.mark.parametrize(("items", "value_range"), [(1, 10), (50, 1000), (10_000, 1000), (10_000, 10**8)])
def test_the_definition_holds(klass: str, items: int, value_range: int) -> None:
    knapsack = generate_knapsack(klass, items, value_range, np.random.default_rng(items))
    assert len(knapsack) == items
    assert HOLDS[klass](knapsack.values, knapsack.weights, value_range).all()
    assert knapsack.weights.max() <= knapsack.capacity
    if items > 1:
        assert knapsack.capacity == int(knapsack.weights.sum()) * 50 // 101


@pytest.mark.parametrize("klass", [k for k in CLASSES if k.startswith("spanner")])
def test_spanner_items_are_multiples_of_two(klass: str) -> None:
    for seed in range(20):
        knapsack = generate_knapsack(klass, 400, 1000, np.random.default_rng(seed))
        pairs = set(zip(knapsack.values.tolist(), knapsack.weights.tolist(), strict=True))
        directions = {(v // g, w // g) for v, w in pairs for g in [np.gcd(v, w)]}
        assert len(pairs) <= 20
        assert len(directions) <= 2


@pytest.mark.parametrize("klass", CLASSES)
def test_same_seed_same_knapsack(klass: str) -> None:
    one, two, three = (generate_knapsack(klass, 60, 10_000, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one == two
    assert one != three


def test_capacities() -> None:
    def made(**options: Any) -> Knapsack:
        return generate_knapsack("uncorrelated", 200, 1000, np.random.default_rng(0), **options)

    total = int(made().weights.sum())
    assert made(series=(37, 100)).capacity == total * 37 // 101
    assert made(series=(100, 100)).capacity == total * 100 // 101
    assert made(ratio=0.25).capacity == total // 4
    assert made(ratio=1.0).capacity == total
    assert made(ratio=0.0).capacity == made().weights.max()  # every item fits


@pytest.mark.parametrize("klass", CLASSES)
def test_hard_ones_bind_at_the_stated_capacity(klass: str) -> None:
    knapsack = hard_knapsack(klass, np.random.default_rng(0))
    assert len(knapsack) == 10_000
    assert knapsack.capacity == 100_000_000
    assert 1.5 <= knapsack.weights.sum() / knapsack.capacity <= 3
    assert knapsack.weights.max() < knapsack.capacity / 100
    assert hard_knapsack(klass, np.random.default_rng(0)) == knapsack


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"klass": "circles"}, "unknown knapsack class 'circles'; did you mean 'circle'"),
        ({"items": 0}, "circle: items must be > 0, got 0"),
        ({"value_range": 9}, "must be from 10 to 10\\*\\*9, got 9"),
        ({"value_range": 10**9 + 1}, "the range R must be from 10 to"),
        ({"items": 10**8, "value_range": 10**9}, "do not fit into 62 bits"),
        ({"ratio": 1.5}, "ratio must be from 0 to 1, got 1.5"),
        ({"series": (101, 100)}, r"series must be \(h, H\) with 0 < h <= H, got \(101, 100\)"),
    ],
)
def test_out_of_range(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        generate_knapsack(
            **{"klass": "circle", "items": 5, "value_range": 100, "rng": np.random.default_rng(0), **arguments}
        )


def test_hard_ones_out_of_range() -> None:
    with pytest.raises(SpecError, match="unknown knapsack class"):
        hard_knapsack("hard", np.random.default_rng(0))
    with pytest.raises(SpecError, match="a capacity >= 1000 x items, got 10 and 9999"):
        hard_knapsack("circle", np.random.default_rng(0), 10, 9999)


KPLIB = {
    "00Uncorrelated": "uncorrelated",
    "01WeaklyCorrelated": "weakly-correlated",
    "02StronglyCorrelated": "strongly-correlated",
    "03InverseStronglyCorrelated": "inverse-strongly-correlated",
    "04AlmostStronglyCorrelated": "almost-strongly-correlated",
    "05SubsetSum": "subset-sum",
    "06UncorrelatedWithSimilarWeights": "similar-weights",
    "10MultipleStronglyCorrelated": "multiple-strongly-correlated",
}


def kplib(path: Path) -> Knapsack:
    items, capacity, *rest = map(int, path.read_text().split())
    assert len(rest) == 2 * items
    return Knapsack(rest[::2], rest[1::2], capacity)


@pytest.mark.reference
@pytest.mark.parametrize("name", KPLIB)
def test_against_kplib(shared: Path, name: str) -> None:
    klass = KPLIB[name]
    theirs = kplib(shared / "instances" / "kplib" / f"{name}_n00500_R01000_s000.kp")
    ours = generate_knapsack(klass, 5000, 1000, np.random.default_rng(0))
    assert HOLDS[klass](theirs.values, theirs.weights, 1000).all()
    for a, b in (
        (ours.values, theirs.values),
        (ours.weights, theirs.weights),
        (ours.values - ours.weights, theirs.values - theirs.weights),
    ):
        assert stats.ks_2samp(a, b).pvalue > 0.01 or np.array_equal(np.unique(a), np.unique(b))
    assert ours.capacity / ours.weights.sum() == pytest.approx(theirs.capacity / theirs.weights.sum(), abs=1e-4)
