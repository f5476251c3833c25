"""The method that fits the problem and the time: a knapsack's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.models.knapsack import Knapsack
from transom.solvers.auto.pipeline import carry_out, prepare
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class Auto:
    """One solver or several in turn, by a table made from runs of the bench (docs/portfolio.md).

    What was used is noted as ``chose``. An iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        """Every knapsack."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs."""
        prepare((Knapsack.kind, Knapsack))

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        carry_out(problem, budget, rng, start)
