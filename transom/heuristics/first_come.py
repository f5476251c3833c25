"""Not there yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from transom.models import Selection


@dataclass(frozen=True, slots=True)
class FirstCome:
    """Not there yet."""

    name: ClassVar[str] = "fcfs"
    solves: ClassVar[type] = Selection

    def supports(self, problem: Selection, /) -> str | None:
        """Nothing yet."""
        return "it is not there yet"

    def __call__(self, problem: Selection, budget: Any, rng: Any, /, start: Any = None) -> None:
        """Nothing yet."""
