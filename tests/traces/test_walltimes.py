"""Walltimes of users: round, never too short, uniform in accuracy before rounding."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom.traces.walltimes import USUAL_LIMITS, overestimated, round_up

pytestmark = pytest.mark.fast


def test_round_up() -> None:
    assert round_up(np.array([1, 300, 301, 3600, 3601, 172_800, 172_801])).tolist() == [
        300, 300, 600, 3600, 5400, 172_800, 259_200,
    ]  # fmt: skip


@given(st.lists(st.integers(1, 10**7), min_size=1, max_size=30), st.integers(0, 2**32))
def test_never_shorter_than_the_runtime(runtimes: list[int], seed: int) -> None:
    runtime = np.array(runtimes)
    walltime = overestimated(runtime, np.random.default_rng(seed))
    assert (walltime >= runtime).all()
    assert (walltime <= np.maximum(round_up(runtime), USUAL_LIMITS[-1])).all()
    assert np.array_equal(round_up(walltime), walltime)


def test_accuracy_is_flat_where_limits_are_fine() -> None:
    runtime = np.full(40_000, 3600)
    walltime = overestimated(runtime, np.random.default_rng(0))
    for limit in (7200, 4 * 3600, 10 * 3600):
        assert abs(np.mean(walltime > limit) - 3600 / limit) < 0.01
