"""Local search for placements."""

from __future__ import annotations

import numpy as np
import pytest

from tests.placement_cases import optimum, random_placement
from transom import Placement, Stop, registry, solve
from transom.errors import SpecError
from transom.testing import check_solver


def test_it_keeps_what_solvers_keep() -> None:
    check_solver("local-search", reference="placement-exact")


def test_it_finds_most_small_optima() -> None:
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(100):
        problem = random_placement(rng)
        result = solve(problem, "local-search", Stop(iterations=500))
        assert result.value is not None
        assert result.value <= optimum(problem)
        found += result.value == optimum(problem)
    assert found >= 95


def test_it_goes_on_from_a_start() -> None:
    rng = np.random.default_rng(5)
    problem = Placement(
        rng.integers(50, 99, (3, 2)), rng.integers(5, 20, (12, 2)), rng.integers(1, 6, 12)
    ).with_objective("area")
    best = solve(problem, "placement-exact", Stop(seconds=10))
    assert solve(problem, "local-search", Stop(iterations=5), start=best.solution).value == best.value
    short, long = (solve(problem, "local-search", Stop(iterations=n)).value for n in (0, 20_000))
    assert short is not None
    assert long is not None
    assert short < long


@pytest.mark.parametrize("deviation", [-0.1, 1.0, float("nan")])
def test_the_deviation_is_a_share(deviation: float) -> None:
    with pytest.raises(SpecError, match="0 <= deviation < 1 must hold"):
        registry.make(registry.SOLVERS, f"local-search:deviation={deviation}", Placement)
