"""Random constrained paths: as stated, feasible, reproducible."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Stop, solve
from transom.errors import SpecError
from transom.generate import random_path

pytestmark = pytest.mark.fast


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(0, 4), st.floats(0, 1))
def test_as_stated(seed: int, sizes: int, more: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    path = random_path(rng, 60, sizes, sizes + more, 12, most=50, density=density, load=0.95)
    assert (path.length, len(path.sizes), len(path)) == (60, sizes, sizes + more)
    assert path.sizes.max() <= 12
    assert path.sizes @ path.counts <= 57
    finite = path.costs[np.isfinite(path.costs)]
    assert (finite == np.rint(finite)).all()
    assert finite.min() >= 1
    assert finite.max() <= 50
    possible = sum(60 - size + 1 for size in path.sizes.tolist())
    assert len(finite) <= possible
    if density == 1:
        assert len(finite) == possible
    again = random_path(np.random.default_rng(seed), 60, sizes, sizes + more, 12, most=50, density=density, load=0.95)
    assert again == path


@pytest.mark.parametrize("seed", range(5))
def test_there_is_a_solution(seed: int) -> None:
    path = random_path(np.random.default_rng(seed), 80, 3, 6, 15, density=0.05)
    result = solve(path, "csp-dp", Stop(seconds=10))
    assert result.status == "optimal"


@pytest.mark.parametrize(
    "changes",
    [
        {"length": 0}, {"sizes": 0}, {"sizes": 12}, {"arcs": 2}, {"most": 0}, {"density": 1.5}, {"load": 0},
        {"load": float("nan")}, {"length": 10**8},
    ],
)  # fmt: skip
def test_what_is_out_of_range_is_refused(changes: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"length": 60, "sizes": 3, "arcs": 5, "longest": 12}
    with pytest.raises(SpecError, match=r"^csp: (length|sizes|arcs|most|density|load) must be .*, got "):
        random_path(np.random.default_rng(0), **{**usual, **changes})


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(SpecError, match="9 arcs of 3 sizes do not fit into 18 entries"):
        random_path(np.random.default_rng(0), 20, 3, 9, 12)
