"""Bounds that CP-SAT reports on the way, which are doubles."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.placement_cases import optimum, random_placement
from transom import Placement, Stop, check, solve
from transom.solvers.backends.cpsat import whole_bound


@pytest.mark.parametrize("upper", [True, False])
def test_a_bound_that_is_off_by_some_units_in_the_last_place_is_the_whole_one(upper: bool) -> None:
    rng = np.random.default_rng(3)
    for whole in [0, 1, 7294119, 18448718, *rng.integers(-(2**48), 2**48, 1000).tolist()]:
        for wrong in range(-4, 5):
            assert whole_bound(whole + wrong * math.ulp(float(whole)), upper) == whole
    assert (whole_bound(7.5, True), whole_bound(7.5, False)) == (7, 8)


def test_a_bound_beyond_double_precision_is_on_the_safe_side() -> None:
    for exact in (2**53 + 1, 2**61 + 1, 2**62 - 1):
        double, most = float(exact), 20 * int(math.ulp(float(exact)))
        assert exact <= whole_bound(double, True) <= exact + most
        assert exact - most <= whole_bound(double, False) <= exact


def test_no_bound_is_below_the_value_of_a_placement() -> None:
    """Of two of these CP-SAT reported 7294118.999999999 and 18448717.999999996 on the way, each below the optimum."""
    rng = np.random.default_rng(77)
    for number in range(60, 196):
        given = random_placement(rng)
        demands = given.demands * 2**57
        if number % 2:
            demands = np.maximum(demands + rng.integers(-1, 2, demands.shape), 0)
        if number in (147, 195):
            problem = Placement(given.free * 2**57, demands, given.waiting, given.values)
            result = solve(problem, "cpsat", Stop())
            assert check(problem, result) == []
            assert (result.status, result.value, result.bound) == ("optimal", optimum(problem), optimum(problem))
