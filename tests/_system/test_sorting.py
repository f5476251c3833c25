from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from transom._system.sorting import (
    ascending,
    largest,
    put,
    radix_order,
    reordered,
    smallest_at,
    sort_in_place,
    stable_order,
    sum_of,
)

pytestmark = pytest.mark.fast


@given(
    st.one_of(
        hn.arrays(np.int64, st.integers(0, 70), elements=st.integers(-3, 3)),
        hn.arrays(np.float64, st.integers(0, 70), elements=st.sampled_from([-np.inf, -1.5, 0.0, 2.0, np.inf])),
    )
)
def test_orders_are_those_of_numpy(keys: np.ndarray) -> None:
    order = stable_order(keys)
    assert order.tolist() == np.argsort(keys, kind="stable").tolist()
    assert reordered(keys, order).tolist() == ascending(keys).tolist() == np.sort(keys).tolist()
    assert ascending(keys).dtype == keys.dtype


def test_long_runs_and_strides() -> None:
    keys = np.random.default_rng(1).integers(0, 500, (3000, 2))[:, 1]
    assert stable_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize(("least", "most"), [(0, 1), (-5, 5), (-(2**20), 2**20), (0, 2**50), (-(2**62), 2**62 - 1)])
@pytest.mark.parametrize("count", [0, 1, 1000, 1001, 5000])
def test_orders_of_16_bits_at_a_time_are_those_of_numpy(least: int, most: int, count: int) -> None:
    keys = np.random.default_rng(count).integers(least, most, count, endpoint=True)
    assert radix_order(keys).tolist() == np.argsort(keys, kind="stable").tolist()


@given(
    st.one_of(
        hn.arrays(np.int64, st.integers(1, 70), elements=st.integers(-3, 3)),
        hn.arrays(np.float64, st.integers(1, 70), elements=st.sampled_from([-1.5, 0.1, 2.0, np.inf])),
    )
)
def test_extremes_sums_and_sorting_in_place(values: np.ndarray) -> None:
    assert largest(values) == values.max()
    assert smallest_at(values) == np.argmin(values)
    assert sum_of(values) == reduce(add, values.tolist())  # from Python 3.12 on, sum() corrects its rounding
    ordered = np.empty_like(values)
    put(ordered, values)
    sort_in_place(ordered[1:])
    assert ordered.tolist() == [values[0], *sorted(values[1:].tolist())]


def test_the_sum_of_nothing() -> None:
    assert sum_of(np.empty(0)) == sum_of(np.empty(0, np.int64)) == 0
