"""The paper's model in SCIP: against enumeration, wrap-around, the authors' cancel binary."""

from __future__ import annotations

import gc

import numpy as np
import pytest

from tests.allocation_cases import figure_2, random_allocation
from tests.living import living
from transom import Stop, check, solve
from transom.errors import UnsupportedError
from transom.models import AUTHORS, Allocation, ConstrainedPath, FatTree
from transom.solvers.backends.native import run_deferred

ENDLESS = Stop(seconds=600)


def test_wrap_around_is_part_of_the_model() -> None:
    # Two nodes of one leaf switch lie at the two ends of Q.
    tree = FatTree([0, 1, 1, 2, 2, 0], [0, 1, 1, 1, 1, 0])
    ends = Allocation(tree, np.arange(6), [2, 2, 2], wrap=True, cost=AUTHORS)
    assert solve(ends, "scas-scip", ENDLESS).value == 3 * 500
    line = Allocation(tree, np.arange(6), [2, 2, 2], wrap=False, cost=AUTHORS)
    assert solve(line, "scas-scip", ENDLESS).value == 2500 + 1500 + 2500


def gaps() -> ConstrainedPath:
    """A path that fits by length but has no arcs where they would be needed."""
    costs = np.full((1, 6), np.inf)
    costs[0, [0, 1]] = 1.0
    return ConstrainedPath(6, [3], [2], costs)


def test_missing_arcs_are_proved_to_leave_no_path() -> None:
    assert solve(gaps(), "csp-scip", ENDLESS).status == "infeasible"
    none = ConstrainedPath(6, [2, 3], [1, 1], np.array([[np.inf] * 6, [1, 1, 1, 1, np.inf, np.inf]]))
    assert solve(none, "csp-scip", ENDLESS).status == "infeasible"


def test_the_cancel_binary_counts_what_it_cancels() -> None:
    problem = random_allocation(np.random.default_rng(4), "static", 60, 4, wrap=True, cost=AUTHORS, load=0.9)
    result = solve(problem, "scas-scip:cancel=true", ENDLESS)
    assert (result.status, result.parameters["cancelled"]) == ("optimal", 0)
    assert result.value == solve(problem, "scas-scip", ENDLESS).value


def test_an_answer_with_cancelled_jobs_is_none() -> None:
    # One node of search, no start: all that SCIP's first solution does is to cancel.
    problem = random_allocation(np.random.default_rng(5), "static", 150, 5, wrap=True, cost=AUTHORS, load=0.95)
    result = solve(problem, "scas-scip:cancel=true", Stop(seconds=20, iterations=1))
    assert check(problem, result) == []
    assert result.bound is None or result.bound < 1e9
    assert result.solution is not None or result.parameters["cancelled"] > 0


def test_where_jobs_have_to_be_cancelled_there_is_no_solution() -> None:
    # Two jobs of three on the line of six fit in one way only; a third of two does not, and is known not to.
    problem = Allocation(FatTree.k_ary(4), np.arange(7), [3, 3, 2])
    assert solve(problem, "scas-scip:cancel=true", ENDLESS).status == "infeasible"


def test_other_rules_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="its rule is free, not static"):
        solve(figure_2().with_rule("free"), "scas-scip")


def test_a_model_that_cannot_be_built_in_time_is_not_begun() -> None:
    problem = Allocation(FatTree.uniform(5000, 32, 1024), np.arange(5000), [90] * 50)
    result = solve(problem, "scas-scip", Stop(seconds=0.5))
    assert (result.status, result.error) == ("feasible", None)
    assert "takes longer to build" in result.parameters["ended"]


def test_models_do_not_pile_up() -> None:
    from pyscipopt import Model

    gc.collect()
    gc.disable()
    try:
        solve(figure_2(), "scas-scip", ENDLESS)
        run_deferred()
        assert not living(Model)
    finally:
        gc.enable()
