"""The method that fits the problem and the time: those of allocations and of constrained paths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.models.allocation import RULES, Allocation
from transom.models.shortest_path import ConstrainedPath
from transom.solvers.auto.pipeline import carry_out, prepare
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class AutoAllocation:
    """One solver or several in turn, by a table made from runs of the bench (docs/portfolio.md).

    What was used is noted as ``chose``. An iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Allocation

    def supports(self, problem: Allocation, /) -> str | None:
        """Every allocation."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs, under each rule."""
        prepare(*((kind, Allocation) for kind in RULES))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        carry_out(problem, budget, rng, start)


@dataclass(frozen=True, slots=True)
class AutoPath:
    """One solver or several in turn, as :class:`AutoAllocation`."""

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = ConstrainedPath

    def supports(self, problem: ConstrainedPath, /) -> str | None:
        """Every path."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs."""
        prepare((ConstrainedPath.kind, ConstrainedPath))

    def __call__(
        self, problem: ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        carry_out(problem, budget, rng, start)
