"""What a solver, a policy or a type of problem has to keep, as suites that a test of yours can call.

Transom's own are held to the same ones. Each raises an ``AssertionError`` that says which condition is broken, on what.
"""

from __future__ import annotations

from transom.testing.policies import check_policy
from transom.testing.problems import check_problem
from transom.testing.solvers import check_solver

__all__ = ["check_policy", "check_problem", "check_solver"]
