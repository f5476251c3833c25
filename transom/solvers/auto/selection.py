"""The method that fits the problem and the time: a selection's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.models.selection import Selection
from transom.solvers.auto.pipeline import carry_out, prepare
from transom.solving import settled
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class AutoSelection:
    """One solver or several in turn, by a table made from runs of the bench (docs/portfolio.md).

    What was used is noted as ``chose``. An iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Selection

    def supports(self, problem: Selection, /) -> str | None:
        """Every selection."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs."""
        prepare((Selection.kind, Selection))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        # Replays call it without the judge's look at what is obvious.
        if not settled(problem, budget):
            carry_out(problem, budget, rng, start)
