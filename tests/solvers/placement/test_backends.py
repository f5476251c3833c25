"""CP-SAT and SCIP on placements, against enumeration and our own exact solver."""

from __future__ import annotations

import numpy as np
import pytest

from tests.amounts import numbers
from tests.placement_cases import optimum, random_placement
from transom import Placement, Stop, check, registry, solve
from transom.generate.instances.examples import placements
from transom.solvers.placement import rounding
from transom.solvers.placement.reduced import reduce
from transom.solvers.placement.rounding import rounded
from transom.testing import check_solver

BACKENDS = ("cpsat", "scip")


@pytest.mark.parametrize("spec", BACKENDS)
def test_what_takes_longer_than_the_budget_gets_a_greedy_answer(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    problem = Placement(rng.integers(50, 200, (40, 2)), rng.integers(1, 60, (400, 2)), [1] * 400)
    monkeypatch.setattr(rounding, "reduce", lambda problem: pytest.fail("tasks were merged"))
    result = solve(problem, spec, Stop(seconds=1e-6), clock=lambda: 0.0)
    assert (result.error, result.value, result.bound) == (None, solve(problem, "greedy", Stop()).value, 400)
    assert result.parameters["ended"].startswith("early")


@pytest.mark.parametrize("spec", BACKENDS)
def test_they_keep_what_solvers_keep(spec: str) -> None:
    small = [problem for problem in placements() if problem.free.max() < 100]
    check_solver(spec, small, reference="placement-exact", exact=True)
    check_solver(spec, [problem for problem in placements() if problem.free.max() >= 100], reference="placement-exact")


@numbers(50, 400)
@pytest.mark.parametrize("seed", range(4))
def test_all_agree_on_small_windows(seed: int, numbers: range) -> None:
    rng = np.random.default_rng(100 + seed + numbers.start)
    for _ in numbers:
        problem = random_placement(rng)
        best = optimum(problem)
        for spec in ("placement-exact", *BACKENDS):
            result = solve(problem, spec, Stop(), seed)
            assert result.error is None
            assert check(problem, result) == []
            assert (result.status, result.value) == ("optimal", best), (spec, problem)


@numbers(60, 200)
@pytest.mark.parametrize("spec", BACKENDS)
def test_amounts_that_have_to_be_rounded(spec: str, numbers: range) -> None:
    """Nothing wrong is said where amounts differ by one in 2**57; what they have in common is no rounding."""
    rng = np.random.default_rng(17 + numbers.start)
    proved = 0
    for number in numbers:
        given = random_placement(rng)
        demands = given.demands * 2**57
        if number % 2:
            demands = np.maximum(demands + rng.integers(-1, 2, demands.shape), 0)
        problem = Placement(given.free * 2**57, demands, given.waiting, given.values)
        best = optimum(problem)
        result = solve(problem, spec, Stop())
        assert check(problem, result) == []
        assert result.value is not None
        assert result.bound is not None
        assert result.value <= best <= result.bound
        assert number % 2 or result.status == "optimal"
        proved += result.status == "optimal"
    assert proved >= 0.9 * len(numbers)


@pytest.mark.parametrize("feasible", [True, False])
def test_rounding_goes_to_one_side(feasible: bool) -> None:
    rng = np.random.default_rng(18)
    for _ in range(50):
        reduced = reduce(Placement(rng.integers(2**55, 2**61, (3, 2)), rng.integers(2**40, 2**54, (4, 2)), [5] * 4))
        amounts = rounded(reduced, 30, feasible)
        assert not amounts.exact
        assert int(amounts.free.max()).bit_length() <= 31
        for _ in range(50):
            count = rng.integers(0, 6, len(reduced.values))
            fits = (count @ reduced.demands.astype(object) <= reduced.free[0]).all()
            said = (count @ amounts.demands <= amounts.free[0]).all()
            assert not (said and not fits) if feasible else not (fits and not said)


def test_scip_refuses_values_that_it_does_not_hold() -> None:
    solver = registry.make(registry.SOLVERS, "scip", Placement)
    reason = solver.supports(Placement([[1]], [[1]], [2**10], [2**44]))
    assert reason == f"the values add up to {2**54}, which double precision does not hold exactly (2**53)"
