"""The order of value per weight, exact for numbers of any size, and Dantzig's bound."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transom.models.efficiency import by_efficiency, dantzig

pytestmark = pytest.mark.fast

pairs = st.one_of(
    st.lists(st.tuples(st.integers(1, 9), st.integers(1, 9)), max_size=12),
    st.lists(st.tuples(st.integers(2**40, 2**40 + 5), st.integers(2**40, 2**40 + 5)), max_size=12),
    st.lists(st.tuples(st.integers(1, 2**58), st.integers(1, 2**58)), max_size=12),
)


def columns(items: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    table = np.array(items, dtype=np.int64).reshape(-1, 2)
    return table[:, 0].copy(), table[:, 1].copy()


@given(pairs)
@example([(2**57 + 1, 2**57), (2**57, 2**57 - 1), (2**57 + 2, 2**57 + 1), (3, 3)])
def test_the_order_is_exact_and_stable(items: list[tuple[int, int]]) -> None:
    values, weights = columns(items)
    expected = sorted(range(len(items)), key=lambda i: -Fraction(*items[i]))
    assert by_efficiency(values, weights).tolist() == expected


def test_many_items_that_double_precision_cannot_tell_apart() -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(2**46, 2**47, 3000)
    values = weights + rng.integers(0, 3, 3000)
    order = by_efficiency(values, weights).tolist()
    fractions = [Fraction(int(values[i]), int(weights[i])) for i in order]
    assert fractions == sorted(fractions, reverse=True)
    assert sorted(order) == list(range(3000))


@given(pairs.filter(bool), st.integers(1, 2**60))
def test_the_bound_is_the_linear_relaxation_rounded_down(items: list[tuple[int, int]], capacity: int) -> None:
    values, weights = columns(items)
    order = by_efficiency(values, weights)
    left, value = Fraction(capacity), Fraction(0)
    for item in order.tolist():
        share = min(Fraction(1), left / items[item][1])
        value += share * items[item][0]
        left -= share * items[item][1]
    assert dantzig(values, weights, capacity, order) == value.__floor__()


@pytest.mark.parametrize(("capacity", "bound"), [(50, 240), (60, 280), (1000, 280), (9, 54)])
def test_a_bound_by_hand(capacity: int, bound: int) -> None:
    values, weights = np.array([60, 100, 120]), np.array([10, 20, 30])
    assert dantzig(values, weights, capacity, by_efficiency(values, weights)) == bound
