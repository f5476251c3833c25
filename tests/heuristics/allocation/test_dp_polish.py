"""The static optimum, improved: never above it, and a local optimum of its moves."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, every_solution, figure_2, optimum, random_allocation
from tests.heuristics.windows import windows
from transom import Stop, solve
from transom.errors import UnsupportedError
from transom.heuristics.allocation import dp_polish
from transom.heuristics.allocation.arrays import allocation_arrays
from transom.heuristics.allocation.reinsertion import least_costs
from transom.models import AUTHORS, Allocation, FatTree

pytestmark = pytest.mark.fast


@settings(max_examples=60)
@given(allocations("dynamic", max_jobs=4))
def test_it_is_never_above_the_static_optimum(problem: Allocation) -> None:
    result = solve(problem, "dp-polish", Stop())
    static = optimum(problem.with_rule("static"))
    assert static is not None
    assert result.error is None
    assert result.value is not None
    assert result.value <= static + 1e-9 * static


def test_no_move_of_one_job_is_left() -> None:
    rng = np.random.default_rng(4)
    for _ in range(25):
        problem = random_allocation(rng, "dynamic", max_idle=9, max_jobs=3, cost=AUTHORS)
        result = solve(problem, "dp-polish", Stop())
        assert result.value is not None
        job = problem.order(result.solution)[-1]  # it was placed last: the others stand without it
        others = np.where(result.solution == job, -1, result.solution)
        for solution in every_solution(problem):
            if np.array_equal(np.where(np.array(solution) == job, -1, solution), others):
                assert problem.value(np.array(solution)) >= result.value


def test_under_the_static_rule_the_optimum_is_proved() -> None:
    problem = figure_2()
    result = solve(problem, "dp-polish", Stop())
    assert result.status == "optimal"
    assert result.value == optimum(problem)


def test_the_free_rule_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="count-search"):
        solve(figure_2().with_rule("free"), "dp-polish")


def test_lower_bounds_of_jobs_hold() -> None:
    rng = np.random.default_rng(9)
    for _ in range(30):
        problem = random_allocation(rng, "free", max_idle=8)
        least = least_costs(allocation_arrays(problem))
        for owner in itertools.islice(every_solution(problem), 200):
            assert (problem.job_costs(np.array(owner)) >= least - 1e-9 * least).all()


def test_the_answer_does_not_depend_on_the_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    idle = np.flatnonzero(np.repeat(rng.random(40) < 0.6, 5))[:90]
    problem = Allocation(FatTree.uniform(200, 10, 40), idle, [17, 9, 21, 5, 12], "dynamic", True, AUTHORS)
    static = solve(problem.with_rule("static"), "scas-dp").value
    assert static is not None
    for work in (1, 10**4, 10**9):
        monkeypatch.setattr(dp_polish, "_WORK", work)
        result = solve(problem, "dp-polish", Stop())
        assert result.reason == "finished"
        assert result.value is not None
        assert result.value <= static


def test_a_solver_that_refuses_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = figure_2().with_rule("dynamic")
    dp_polish.DpPolish().warm_up()  # before dcas-exact stands below, which prepares dp-polish in its turn
    monkeypatch.setattr(dp_polish, "_STATIC", ("dcas-exact",))  # refuses the static rule
    result = solve(problem, "dp-polish", Stop(seconds=1))
    assert result.error is None
    assert "static" not in result.parameters
    assert result.value is not None


@pytest.mark.reference
def test_it_is_close_to_the_dynamic_optimum_on_the_papers_windows(shared: Path) -> None:
    ratios = []
    for problem in windows(shared, "nsa_code_epochs_1-5", "dynamic", every=10):
        polished = solve(problem, "dp-polish", Stop()).value
        static = solve(problem.with_rule("static"), "scas-dp").value
        assert polished is not None
        assert static is not None
        assert polished <= static
        ratios.append(polished / static)
    assert np.mean(ratios) < 0.999
