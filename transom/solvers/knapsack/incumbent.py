"""An answer and a bound before anything slow begins."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from transom import registry
from transom.models.knapsack import Knapsack
from transom.stop import Budget


def first_incumbent(problem: Knapsack, budget: Budget, rng: np.random.Generator) -> None:
    """Hand over the greedy answer and Dantzig's bound; problems with nothing to decide end here."""
    _greedy()(problem, budget, rng)


def warm_up() -> None:
    """Load and compile what :func:`first_incumbent` needs."""
    _greedy().warm_up()


@cache
def _greedy() -> Any:
    return registry.make(registry.SOLVERS, "greedy")
