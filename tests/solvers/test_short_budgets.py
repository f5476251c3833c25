"""Solvers that cannot build their model within the budget answer greedily and say so."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.models import Allocation, ConstrainedPath, FatTree, Knapsack

NATIVE = ("scas-flow", "scas-cpsat", "scas-scip")
PATHS = ("csp-flow", "csp-cpsat", "csp-scip", "csp-networkx")


def window(rule: str = "static") -> Allocation:
    """120 idle nodes, three jobs."""
    return Allocation(FatTree.uniform(160, 10, 40), np.arange(20, 140), [40, 30, 20], rule, False)


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


def test_the_digest_counts() -> None:
    now = [0.0]

    class Slow(Knapsack):
        def digest(self) -> str:
            now[0] += 0.5
            return super().digest()

    problem = Slow(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
    assert solve(problem, "greedy", Stop(seconds=1), clock=lambda: now[0]).seconds == 0.5
