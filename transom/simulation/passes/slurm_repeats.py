"""Cycles that repeat the one before, compiled.

A cycle that starts nobody is repeated by the next one as long as no job starts or ends, the jobs that are looked at
and their order stay, no running job outlasts its walltime, nothing that is reserved or announced changes, and no
reservation of the cycle begins or comes within its window: it would plan the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    COUNTERS,
    ENDED,
    LIMITS,
    NOW,
    QUEUED,
    REPLAN,
    RUNNING,
    STARTED,
    State,
)

UNTIL, LENGTH, BEFORE, OVER, HEAD, BEGIN = range(6)
_NUMBERS = 6


class LastCycle(NamedTuple):
    """What the last cycle found.

    ``queue``: the jobs that a pass looks at, from the head of the queue; ``passed`` ``(3,)``: what limits held back;
    ``at``: the last instant at which a cycle would plan the same if nothing happened [s], how many jobs passes looked
    at, how many had started and ended by then, the first job that did not fit or -1, and its reservation [s] or -1.
    """

    queue: IntArray
    passed: IntArray
    at: IntArray


def no_cycle(looked_at: int) -> LastCycle:
    """Before the first cycle; passes look at so many jobs at most."""
    return LastCycle(np.empty(looked_at, np.int64), np.zeros(3, np.int64), np.full(_NUMBERS, -1, np.int64))


@no_refcount
def keep_cycle(s: State, c: LastCycle, passed: IntArray, head: int, begin: int) -> None:
    """Take note of a cycle that has started nobody; ``UNTIL`` has been filled by the cycle."""
    if s.at[RUNNING]:
        c.at[UNTIL] = min(c.at[UNTIL], s.expected[0, 0] - 1)
    if s.at[CHANGES] > 0:
        c.at[UNTIL] = min(c.at[UNTIL], s.at[COUNTERS] - 1)
    if s.at[LIMITS] > 0:
        c.at[UNTIL] = -1
    c.at[LENGTH] = min(s.at[QUEUED], len(c.queue))
    c.at[BEFORE], c.at[OVER], c.at[HEAD], c.at[BEGIN] = s.at[STARTED], s.at[ENDED], head, begin
    for i in range(c.at[LENGTH]):
        c.queue[i] = s.queue[i]
    for k in range(len(passed)):
        c.passed[k] = passed[k]
    s.at[REPLAN] = 0


@no_refcount
def repeats(s: State, c: LastCycle) -> bool:
    """Whether a cycle now would find and do what the last one did."""
    if s.at[NOW] > c.at[UNTIL] or s.at[STARTED] != c.at[BEFORE] or s.at[ENDED] != c.at[OVER]:
        return False
    if s.at[REPLAN] or s.at[LIMITS] > 0 or c.at[LENGTH] != min(s.at[QUEUED], len(c.queue)):
        return False
    for i in range(c.at[LENGTH]):  # noqa: SIM110  (the compiler knows no generators)
        if c.queue[i] != s.queue[i]:
            return False
    return True
