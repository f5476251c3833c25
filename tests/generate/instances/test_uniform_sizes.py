"""Uniform sizes: in range, within what they may ask for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.errors import SpecError
from transom.generate import uniform_sizes

pytestmark = pytest.mark.fast


@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(2, 100), st.integers(60, 2000))
def test_in_range(seed: int, jobs: int, cap: int, most: int) -> None:
    sizes = uniform_sizes(np.random.default_rng(seed), jobs, cap, most)
    assert sizes.shape == (jobs,)
    assert sizes.dtype == np.int64
    assert sizes.sum() <= most
    assert not jobs or 2 <= sizes.min() <= sizes.max() <= cap


def test_uniform() -> None:
    sizes = uniform_sizes(np.random.default_rng(0), 5000, 6, 10**6)
    assert np.bincount(sizes)[2:] == pytest.approx(np.full(5, 1000), rel=0.1)


@pytest.mark.parametrize(("jobs", "cap", "most"), [(-1, 5, 10), (3, 1, 10), (6, 5, 11)])
def test_out_of_range(jobs: int, cap: int, most: int) -> None:
    with pytest.raises(SpecError, match=r"^sizes: expected jobs >= 0"):
        uniform_sizes(np.random.default_rng(0), jobs, cap, most)
