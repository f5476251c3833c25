"""Kinds of events, and the loop that takes all events of an instant in before a pass.

Replays in which nothing but jobs happens go through :func:`~transom.simulation.core.events.advance`, which is the
same for the first three kinds, compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Protocol

from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.events import NEVER, State, end_jobs, submit_jobs


class Kind(IntEnum):
    """What may happen, in the order in which the events of an instant are taken in.

    A job that ends when its node fails has ended. Nodes come back before others go, so that a window that begins
    when another ends finds the nodes of that one idle. Windows that state a number of nodes choose last, among what is
    left in service.
    """

    END = 0
    """A job ends."""
    SUBMIT = 1
    """A job is submitted."""
    TIMER = 2
    """A pass asked to be woken, or a maintenance window is announced."""
    NODE_UP = 3
    """A failed node is repaired, stated nodes come back from maintenance, or a drain ends."""
    NODE_DOWN = 4
    """A node fails, stated nodes go out for maintenance, or nodes are drained."""
    CAPACITY = 5
    """A window that states a number of nodes begins or ends."""


class Source(Protocol):
    """Where events come from."""

    def next(self) -> int:
        """When the next one happens [s], :data:`~transom.simulation.core.events.NEVER` if none is to come."""

    def take(self, kind: Kind, now: int) -> None:
        """Take in all events of a kind that happen now."""


class JobEvents:
    """Ends, submissions and the timer of a replay; ``ended`` is called with the jobs that have ended."""

    def __init__(self, state: State, ended: Callable[[IntArray], None]) -> None:
        self._state = state
        self._ended = ended

    def next(self) -> int:
        """When a job ends or is submitted, or a pass asked to be woken."""
        at, coming = self._state.at, int(NEVER)
        if at[events.ENDING]:
            coming = int(self._state.ends[0, 0])
        if at[events.NEXT] < len(self._state.jobs):
            coming = min(coming, int(self._state.jobs[at[events.NEXT], events.SUBMIT]))
        return min(coming, int(at[events.WAKE])) if at[events.QUEUED] else coming

    def take(self, kind: Kind, now: int) -> None:
        """Take in all events of a kind that happen now."""
        at = self._state.at
        if kind == Kind.END and at[events.ENDING]:
            before = int(at[events.ENDED])
            end_jobs(self._state)
            self._ended(self._state.ended[before : at[events.ENDED]])
        elif kind == Kind.SUBMIT:
            submit_jobs(self._state)
        elif kind == Kind.TIMER:
            at[events.WAKE] = NEVER


def take_next(sources: Sequence[Source], at: IntArray, until: int) -> bool:
    """Take in all events of the next instant, unless it comes after ``until`` [s]; whether that was done."""
    now = min(source.next() for source in sources)
    if now > until or now == NEVER:
        return False
    at[events.NOW] = now
    for kind in Kind:
        for source in sources:
            source.take(kind, now)
    return True
