"""What the replays under event rules of other programs hand back."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from transom.models.arrays import IntArray

Report = Callable[[int], None]
"""Called now and then with the number of jobs that have started."""


class Outcome(NamedTuple):
    """Start [s], mode and order of start of each job, shape ``(jobs,)``; and a column per pass, shape ``(7, passes)``.

    The rows of ``log`` are :data:`~transom.simulation.schedule.COLUMNS`.
    """

    start: IntArray
    mode: IntArray
    order: IntArray
    log: IntArray
