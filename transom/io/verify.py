"""What is wrong with a result: what the judge of ``solve`` says, and what only instances of some kind can tell."""

from __future__ import annotations

from typing import Any

from transom.io.front_completeness import missing_points
from transom.models import Selection
from transom.problems import known_type
from transom.result import Result
from transom.solving import check


def faults(problem: Any, result: Result) -> list[str]:
    """Judge a result as ``transom check`` does.

    Returns
    -------
    That the solver failed, if it did, what :func:`~transom.solving.check` says, and then the type of the problem.
    """
    failed = [] if result.error is None else [f"the solver failed: {result.error}"]
    wrong = failed + check(problem, result)
    kind = known_type(result.problem if result.problem == problem.kind else None)
    judge = None if kind is None else kind.part("faults")
    return wrong if judge is None else wrong + judge(problem, result)


def overclaimed(problem: Selection, result: Result) -> list[str]:
    """What is wrong with the claims that a selection has no choice or that a front is complete."""
    if result.status == "infeasible" and problem.trivial() != "infeasible":
        return ["infeasible is claimed, but the forced jobs fit together"]
    said = result.parameters.get("front")
    if said == "complete" and result.status != "optimal":
        return [f"a complete front is claimed, but the status is {result.status}"]
    if result.status != "optimal":
        return []
    if said == "not complete":
        return ["optimal is claimed, but the front is said to be not complete"]
    if result.solution is None or problem.violations(result.solution):
        return []
    lacking = missing_points(problem, result.solution)
    if lacking is None or not len(lacking):
        return []
    return [f"a complete front is claimed, but it lacks {lacking[0].tolist()} ({len(lacking)} in all)"]
