r"""Pisinger's 13 classes of 0-1 knapsacks, seeded, with coefficients up to any range.

The definitions are those of the book; where it leaves something open, they follow the instances
that its author published: a spanner's two items are normalised to :math:`\lceil 2v/10 \rceil`.
The files of the collection kplib differ in five classes: there profit ceiling rounds down, circle
is linear in the weight, and the items of the three spanner classes are correlated only after they
were normalised.

References
----------
Kellerer, Pferschy and Pisinger, Knapsack Problems, Springer 2004, section 5.5 (the classes);
Pisinger, Where are the hard knapsack problems?, Computers & Operations Research 32(9), 2271-2284,
2005, sections 3 and 4 (which of them are hard, and why).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from transom.errors import SpecError
from transom.models import Knapsack
from transom.models.arrays import IntArray
from transom.registry import unknown

_Items = tuple[IntArray, IntArray]  # values, weights
_Generator = np.random.Generator

_SPANNERS, _MULTIPLIERS = 2, 10  # v and m
_GROUP = 6  # d of multiple strongly correlated
_CEILING = 3  # d of profit ceiling

_MOST = 2.0**62  # what the sums of a Knapsack must stay below
_DRAWS = 1000


def uncorrelated(n: int, r: int, rng: _Generator) -> _Items:
    """Weights and values uniform on [1, R], independent."""
    weights = rng.integers(1, r, n, endpoint=True)
    return rng.integers(1, r, n, endpoint=True), weights


def weakly_correlated(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values on [w - R/10, w + R/10], at least 1."""
    weights = rng.integers(1, r, n, endpoint=True)
    return rng.integers(np.maximum(weights - r // 10, 1), weights + r // 10, endpoint=True), weights


def strongly_correlated(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values w + R/10."""
    weights = rng.integers(1, r, n, endpoint=True)
    return weights + r // 10, weights


def inverse_strongly_correlated(n: int, r: int, rng: _Generator) -> _Items:
    """Values uniform on [1, R], weights v + R/10."""
    values = rng.integers(1, r, n, endpoint=True)
    return values, values + r // 10


def almost_strongly_correlated(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values on [w + R/10 - R/500, w + R/10 + R/500]."""
    weights = rng.integers(1, r, n, endpoint=True)
    return weights + r // 10 + rng.integers(-(r // 500), r // 500, n, endpoint=True), weights


def subset_sum(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values equal to them."""
    weights = rng.integers(1, r, n, endpoint=True)
    return weights.copy(), weights


def similar_weights(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [100 R, 100 R + R/10], values on [1, R]: [100000, 100100] for R = 1000."""
    weights = rng.integers(100 * r, 100 * r + r // 10, n, endpoint=True)
    return rng.integers(1, r, n, endpoint=True), weights


def multiple_strongly_correlated(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values w + 3R/10 where 6 divides w, else w + 2R/10."""
    weights = rng.integers(1, r, n, endpoint=True)
    return weights + np.where(weights % _GROUP == 0, 3 * r // 10, 2 * r // 10), weights


def profit_ceiling(n: int, r: int, rng: _Generator) -> _Items:
    """Weights uniform on [1, R], values w rounded up to a multiple of 3."""
    weights = rng.integers(1, r, n, endpoint=True)
    return -(-weights // _CEILING) * _CEILING, weights


def circle(n: int, r: int, rng: _Generator) -> _Items:
    r"""Weights uniform on [1, R], values :math:`\lfloor\frac23\sqrt{4R^2 - (w - 2R)^2}\rfloor`."""
    weights = rng.integers(1, r, n, endpoint=True)
    root = np.sqrt(weights.astype(np.float64) * (4.0 * r - weights))  # the same, without cancellation
    return np.floor(2.0 * root / 3.0).astype(np.int64), weights


def _spanner(klass: Callable[[int, int, _Generator], _Items]) -> Callable[[int, int, _Generator], _Items]:
    """Multiples 1 to 10 of two items of a class, both normalised to ceil(2 v / 10), ceil(2 w / 10)."""

    def draw(n: int, r: int, rng: _Generator) -> _Items:
        values, weights = (-(-2 * column // _MULTIPLIERS) for column in klass(_SPANNERS, r, rng))
        chosen, times = rng.integers(0, _SPANNERS, n), rng.integers(1, _MULTIPLIERS, n, endpoint=True)
        return values[chosen] * times, weights[chosen] * times

    return draw


CLASSES: Mapping[str, Callable[[int, int, _Generator], _Items]] = MappingProxyType(
    {
        "uncorrelated": uncorrelated,
        "weakly-correlated": weakly_correlated,
        "strongly-correlated": strongly_correlated,
        "inverse-strongly-correlated": inverse_strongly_correlated,
        "almost-strongly-correlated": almost_strongly_correlated,
        "subset-sum": subset_sum,
        "similar-weights": similar_weights,
        "spanner-uncorrelated": _spanner(uncorrelated),
        "spanner-weakly-correlated": _spanner(weakly_correlated),
        "spanner-strongly-correlated": _spanner(strongly_correlated),
        "multiple-strongly-correlated": multiple_strongly_correlated,
        "profit-ceiling": profit_ceiling,
        "circle": circle,
    }
)
"""The 13 classes in the order of the book: (items, R, rng) -> (values, weights)."""


def generate_knapsack(
    klass: str,
    items: int,
    value_range: int,
    rng: np.random.Generator,
    ratio: float | None = None,
    series: tuple[int, int] = (50, 100),
) -> Knapsack:
    r"""One knapsack of a class.

    Parameters
    ----------
    klass : a name in :data:`CLASSES`.
    items : :math:`n`, > 0.
    value_range : :math:`R`, from 10 to 10**9.
    rng : source of random numbers.
    ratio : the capacity as a share of the total weight, from 0 to 1; None takes the series.
    series : :math:`(h, H)`: number h of a series of H, whose capacity is
        :math:`\lfloor \frac{h}{H + 1} \sum_j w_j \rfloor`; the middle of it by default. Either
        way the capacity is at least the largest weight, so that every item fits.

    Raises
    ------
    SpecError : the class is unknown, or a number is out of range.
    """
    if klass not in CLASSES:
        raise unknown("knapsack class", klass, CLASSES)
    if items <= 0:
        raise SpecError(f"{klass}: items must be > 0, got {items}")
    if not 10 <= value_range <= 10**9:
        raise SpecError(f"{klass}: the range R must be from 10 to 10**9, got {value_range}")
    if items * 101.0 * value_range >= _MOST:
        raise SpecError(f"{klass}: {items} items with R = {value_range} do not fit into 62 bits")
    if ratio is not None and not 0 <= ratio <= 1:
        raise SpecError(f"{klass}: ratio must be from 0 to 1, got {ratio}")
    number, length = series
    if not 0 < number <= length:
        raise SpecError(f"{klass}: series must be (h, H) with 0 < h <= H, got {series}")
    values, weights = CLASSES[klass](items, value_range, rng)
    total = int(weights.sum())
    capacity = total * number // (length + 1) if ratio is None else int(total * ratio)
    return Knapsack(values, weights, max(capacity, int(weights.max())))


def hard_knapsack(klass: str, rng: np.random.Generator, items: int = 10_000, capacity: int = 100_000_000) -> Knapsack:
    """A knapsack of a class with a stated, large capacity that binds: about half of the items fit.

    The range R follows from the capacity; the total weight is between 1.5 and 3 times the
    capacity. A table over the capacities is hopeless on these, and so are, in the classes that
    Pisinger found hard, bounds from the continuous relaxation.

    Parameters
    ----------
    klass : a name in :data:`CLASSES`.
    rng : source of random numbers.
    items : how many, > 1.
    capacity : at least 1,000 per item.

    Raises
    ------
    SpecError : the class is unknown, or a number is out of range.
    """
    if klass not in CLASSES:
        raise unknown("knapsack class", klass, CLASSES)
    if items <= 1 or capacity < 1000 * items:
        raise SpecError(f"{klass}: expected items > 1 and a capacity >= 1000 x items, got {items} and {capacity}")
    value_range = int(2 * capacity / items / _mean_weight(klass))
    for _ in range(_DRAWS):  # the two items that span a spanner class may be far from the mean
        knapsack = generate_knapsack(klass, items, value_range, rng)
        if 1.5 * capacity <= knapsack.weights.sum() <= 3 * capacity:
            return replace(knapsack, capacity=capacity)
    raise SpecError(f"{klass}: no {items} items have a total weight near twice the capacity {capacity}")


def _mean_weight(klass: str) -> float:
    # In units of R.
    if klass.startswith("spanner"):
        return 0.5 * 2 / _MULTIPLIERS * (1 + _MULTIPLIERS) / 2
    return {"inverse-strongly-correlated": 0.6, "similar-weights": 100.05}.get(klass, 0.5)
