"""Solvers that cannot build their model within the budget answer greedily and say so."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.models import Allocation, ConstrainedPath, FatTree

NATIVE = ("scas-flow", "scas-flow:backend=scip", "scas-cpsat", "scas-scip")
PATHS = ("csp-flow", "csp-flow:backend=scip", "csp-cpsat", "csp-scip", "csp-networkx")


def window(rule: str = "static") -> Allocation:
    """120 idle nodes, three jobs."""
    return Allocation(FatTree.uniform(160, 10, 40), np.arange(20, 140), [40, 30, 20], rule, False)  # type: ignore[arg-type]


@pytest.mark.parametrize("solver", [*NATIVE, *PATHS, "free-cpsat"])
def test_a_model_that_takes_too_long_leaves_a_greedy_answer(solver: str) -> None:
    problem: Allocation | ConstrainedPath = window("free" if solver == "free-cpsat" else "static")
    if solver in PATHS:
        problem = ConstrainedPath.from_allocation(window())
    # The clock stands still: what decides is the estimate alone.
    result = solve(problem, solver, Stop(seconds=1e-5), clock=lambda: 0.0)
    assert check(problem, result) == []
    assert (result.status, result.reason, result.error) == ("feasible", "finished", None)
    assert "takes longer" in result.parameters["ended"]
