"""Not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from transom.models import Selection


@dataclass(frozen=True, slots=True)
class Nsga2:
    """Not there yet."""

    name: ClassVar[str] = "nsga2"
    solves: ClassVar[type] = Selection

    def supports(self, problem: Selection, /) -> str | None:
        """Nothing yet."""
        return "it is not there yet"

    def __call__(self, problem: Selection, budget: Any, rng: Any, /, start: Any = None) -> None:
        """Nothing yet."""
