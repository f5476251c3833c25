"""Free allocation solved exactly."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from tests.allocation_cases import allocations, optimum
from transom.models import Allocation
from transom.solvers.free_exact import FreeExact
from transom.solving import check, solve
from transom.stop import Stop

SOLVER = FreeExact(contiguous=0)


@given(allocations("free"))
@settings(max_examples=150, deadline=None)
def test_enumeration_finds_nothing_better(problem: Allocation) -> None:
    result = solve(problem, SOLVER, Stop(seconds=5))
    assert result.error is None
    assert result.status == "optimal", result
    assert check(problem, result) == []
    best = optimum(problem)
    assert best is not None
    np.testing.assert_allclose(result.value, best, rtol=1e-9)
