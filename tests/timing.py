"""Whether budgets are kept, on machines that others use too."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from transom.result import Result

TRIES = 4


def used(run: Callable[[], Result], within: float) -> float:
    """Seconds that a run uses, the least of a few tries; further ones are only made while it is above ``within``.

    Where others hold the processor, the clock goes on and the time of this process does not: of both the lower one
    counts. What an idle machine needs by the clock is measured in ``benchmarks/``.
    """
    least = float("inf")
    for _ in range(TRIES):
        before = process_time()
        result = run()
        least = min(least, result.seconds, process_time() - before)
        if least <= within:
            break
    return least
