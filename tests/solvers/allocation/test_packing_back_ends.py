"""CP-SAT, SCIP and the flow on static allocation and paths: the same answers as enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, figure_2, optimum
from transom import Stop, check, solve
from transom.models import Allocation, ConstrainedPath

ENDLESS = Stop(seconds=600)
BACK_ENDS = ("cpsat", "scip", "flow")
VARIANTS = (*BACK_ENDS, "cpsat:presolve=true", "scip:cancel=true")


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=30)
@given(problem=allocations("static"))
def test_it_finds_what_enumeration_finds(variant: str, problem: Allocation) -> None:
    expected = optimum(problem)
    result = solve(problem, f"scas-{variant}", ENDLESS)
    assert check(problem, result) == []
    if expected is None:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal"
        assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_figure_2(back_end: str) -> None:
    # Two jobs of four nodes each fill the two pods of four.
    result = solve(figure_2(), f"scas-{back_end}", ENDLESS)
    assert (result.status, result.value) == ("optimal", optimum(figure_2()))


@pytest.mark.parametrize("back_end", ["cpsat", "flow"])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e12])
def test_costs_of_any_size_and_sign(scale: float, back_end: str) -> None:
    rng = np.random.default_rng(6)
    costs = np.full((2, 12), np.inf)
    costs[0, :11] = scale * rng.normal(size=11)
    costs[1, :9] = scale * rng.normal(size=9)
    path = ConstrainedPath(12, [2, 4], [2, 1], costs)
    expected = solve(path, "csp-networkx", ENDLESS).value
    result = solve(path, f"csp-{back_end}", ENDLESS)
    assert (result.status, check(path, result)) == ("optimal", [])
    assert result.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("back_end", BACK_ENDS)
def test_missing_arcs_are_proved_to_leave_no_path(back_end: str) -> None:
    costs = np.full((1, 6), np.inf)
    costs[0, [0, 1]] = 1.0
    assert solve(ConstrainedPath(6, [3], [2], costs), f"csp-{back_end}", ENDLESS).status == "infeasible"
