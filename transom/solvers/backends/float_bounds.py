"""Bounds from floating point, as far as they hold."""

from __future__ import annotations

import math

from transom.stop import Budget

_RELATIVE = 1e-9


def honest(bound: float, whole: bool, slack: float) -> float:
    """A bound from floating point as far as it holds: less the slack, rounded up where costs are whole."""
    safe = bound - slack - _RELATIVE * abs(bound)
    return math.ceil(safe) if whole and abs(safe) < 2**53 else safe


def prove(budget: Budget, bound: float, whole: bool, slack: float) -> None:
    """Hand over what holds of a bound; never more than the best value, which a solution has."""
    safe = honest(bound, whole, slack)
    budget.prove(safe if budget.value is None else min(safe, budget.value))


def close(budget: Budget, bound: float, whole: bool, slack: float) -> None:
    """The search is closed: claim that the best value is optimal if the solver's own bound says so too."""
    prove(budget, bound, whole, slack)
    if budget.value is not None and bound >= budget.value - slack - _RELATIVE * abs(budget.value):
        budget.prove(budget.value)
