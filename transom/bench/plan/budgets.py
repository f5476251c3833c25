"""Budgets in words."""

from __future__ import annotations

from transom.bench.plan.task import Clock
from transom.stop import Stop


def budget_words(stop: Stop, clock: Clock = "wall") -> str:
    """A budget as tables name it, such as ``0.1 s`` or ``100 iterations, gap 0.01``; ``-`` if there is none."""
    words = [] if stop.seconds is None else [f"{stop.seconds:g} s{'' if clock == 'wall' else ' of CPU'}"]
    words += [] if stop.iterations is None else [f"{stop.iterations:,} iterations"]
    for name in ("target", "gap", "stall"):
        if (limit := getattr(stop, name)) is not None:
            words.append(f"{name} {limit:g}")
    return ", ".join(words) or "-"
