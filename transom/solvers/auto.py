"""The method that fits the size of the problem."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.models.knapsack import Knapsack
from transom.models.reduction import reduce
from transom.solvers.dynamic_programming import table_bytes
from transom.stop import Budget

_SMALL = 2**17
"""Bytes of a table that ``dp`` fills within a millisecond whatever the numbers are."""

_NEXT = ("cpsat", "scip")
"""What follows where the first method does not get to the end."""

_WORTH_IT = 0.05
"""Seconds that have to be left for another method."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Small tables go to ``dp``, all others to ``primal-dual``.

    The latter takes fractions of a millisecond on most instances, up to a few hundred on hard ones,
    but ends where its states outgrow the memory: instances of large numbers in which value and weight
    go together. What is left of the time then goes to ``cpsat``, and to ``scip`` after that. What was
    used is noted as ``chose``. An iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        """Every knapsack."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs: an import cannot be cut short by a budget."""
        for name in ("dp", "primal-dual", *_NEXT):
            _solver(name).warm_up()

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        chose: list[str] = []
        for name, solver in _methods(problem, budget):
            chose.append(name)
            budget.notes["chose"] = "+".join(chose)
            solver(problem, budget, rng)
            if budget.done():
                return


@cache
def _solver(spec: str) -> Any:
    return registry.make(registry.SOLVERS, spec)


def _methods(problem: Knapsack, budget: Budget) -> Iterator[tuple[str, Any]]:
    if table_bytes(reduce(problem)) <= _SMALL:
        yield "dp", _solver("dp")
        return
    yield "primal-dual", _solver("primal-dual:thin=no")
    for name in _NEXT:
        if budget.seconds_left() >= _WORTH_IT and _solver(name).supports(problem) is None:
            yield name, _solver(name)
