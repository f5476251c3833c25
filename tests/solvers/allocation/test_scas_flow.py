"""The flow with count rows: against enumeration, wrap-around, limits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, figure_2, random_allocation
from transom import Stop, registry, solve
from transom.errors import UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree
from transom.reductions import packing
from transom.reductions.flow import as_flow
from transom.solvers.allocation import scas_flow
from transom.solvers.allocation.scas_flow import _values
from transom.stop import Budget

ENDLESS = Stop(seconds=600)


@settings(max_examples=30)
@given(allocations("static", max_idle=12))
def test_a_solution_is_a_flow(problem: Allocation) -> None:
    # Each row of the programme holds for every solution, those that wrap around included.
    packed = packing.apply(problem)
    flow = as_flow(packed)
    starts = np.cumsum(problem.sizes) - problem.sizes
    free = len(problem.idle) - int(problem.sizes.sum())
    for shift in range(len(problem.idle) if problem.wrap else free + 1):
        owner = problem.from_starts((starts + shift) % len(problem.idle))
        assert problem.violations(owner) == []
        rows = np.searchsorted(packed.sizes, problem.sizes)
        used = _values(packed, flow, rows, problem.starts(owner))
        left = np.zeros(len(flow.equals))
        np.add.at(left, flow.where, flow.value * used[flow.column])
        assert np.array_equal(left, flow.equals)
        assert flow.costs @ used == pytest.approx(problem.value(owner))


def test_a_job_as_large_as_all_there_is() -> None:
    for wrap in (False, True):
        problem = Allocation(FatTree.k_ary(4), np.arange(16), [16], wrap=wrap)
        result = solve(problem, "scas-flow", ENDLESS)
        assert (result.status, result.error) == ("optimal", None)


def test_limits_reach_the_back_end() -> None:
    problem = random_allocation(np.random.default_rng(2), "static", 150, 6, wrap=True, cost=PAPER, load=0.9)
    best = solve(problem, "scas-flow", ENDLESS)
    assert best.status == "optimal"
    assert best.value is not None
    wide = solve(problem, "scas-flow", Stop(seconds=20, gap=0.9))
    assert wide.reason in ("gap", "proof")
    near = solve(problem, "scas-flow", Stop(seconds=20, target=1.5 * best.value))
    assert near.reason in ("target", "proof")
    again = [solve(problem, "scas-flow", Stop(iterations=50), seed=3) for _ in range(2)]
    assert again[0].value == again[1].value
    kept = solve(problem, "scas-flow", Stop(seconds=20, iterations=1), start=best.solution)
    assert kept.value == best.value


def test_other_rules_and_large_models_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="its rule is dynamic, not static"):
        solve(figure_2().with_rule("dynamic"), "scas-flow")
    large = Allocation(FatTree.uniform(5000, 10, 100), np.arange(5000), np.array([5, 6, 7, 8]), wrap=False)
    with pytest.raises(UnsupportedError, match="up to 25000 columns, more than 20000"):
        solve(large, "scas-flow")
    with pytest.raises(UnsupportedError, match="up to 25000 columns, more than 20000"):
        solve(ConstrainedPath.from_allocation(large), "csp-flow")


def test_whole_costs_are_proved_exactly() -> None:
    problem = random_allocation(np.random.default_rng(9), "static", 80, 5, wrap=True, cost=AUTHORS, load=0.9)
    result = solve(problem, "scas-flow", ENDLESS)
    assert result.status == "optimal"
    assert isinstance(result.bound, int)


def test_a_model_that_highs_could_not_presolve_in_time_is_not_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    idle = np.sort(rng.choice(2000, 600, replace=False))
    problem = Allocation(FatTree.uniform(2000, 10, 100), idle, np.arange(10, 30))
    monkeypatch.setattr(scas_flow, "_by_highs", lambda *_: pytest.fail("it is asked"))
    budget = Budget(Stop(seconds=0.1), problem, clock=lambda: 0.0)  # the machine may be as slow as it likes
    registry.make(registry.SOLVERS, "scas-flow", Allocation)(problem, budget, rng)
    assert budget.ran_short
    assert budget.value is not None
    assert "longer to presolve" in budget.notes["ended"]
