"""Reservations that are kept from pass to pass: what has been promised to a job never gets later.

Jobs queue for their promises in the order in which these were made: each got the earliest place in the free
profile, of the nodes and every further resource, beside the running jobs and the promises before it. When jobs end
early the promises are compressed in that order, again and again until none can move: a promise is then for the
very instant at which something ends, so that there is an event when it comes due. A job that outran its walltime
breaks what was promised on it: promises that do not hold any more are then all made anew, in order.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models import Window
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.decision import Reservation
from transom.simulation.core.events import NEVER, NOW, WALLTIME, State
from transom.simulation.passes.availability import (
    BLOCKS,
    FREED,
    LOW,
    TAKEN,
    Profile,
    add,
    earliest,
    level_at,
    new_profile,
)
from transom.simulation.passes.service_plan import enter_known
from transom.simulation.passes.window_pass import window_state


class ReservationTable:
    """The reservations of a replay, and the free profile of the pass in progress.

    A pass begins with :meth:`update`; all positions after that are positions in the queue of its window.
    """

    def __init__(self) -> None:
        self._begin: dict[int, int] = {}
        self._ids: list[int] = []
        self._state: State
        self._profile: Profile

    def __len__(self) -> int:
        return len(self._begin)

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """All that is promised, in the order in which it was."""
        return tuple(Reservation(job, begin) for job, begin in self._begin.items())

    @property
    def free(self) -> IntArray:
        """What is free now, beside the jobs started in this pass, shape ``(1 + resources,)``."""
        now = int(self._state.at[NOW])
        return np.array([level_at(self._profile, now, r) for r in range(len(self._state.free))], np.int64)

    def update(self, window: Window) -> tuple[list[int], list[int]]:
        """Begin a pass: move the promises forward as far as they go, and start those that have come due.

        Returns
        -------
        Positions of the jobs that start now, and of those that a promise is kept for; both in order of promise.
        """
        self._ids = window.queue.id.tolist()
        self._state = state = window_state(window, np.empty(0, np.int64))
        self._profile = new_profile(state.free, 2 * len(state.jobs) + 4)
        place = {job: at for at, job in enumerate(self._ids)} if self._begin else {}
        order = np.array([place[job] for job in self._begin if job in place], np.int64)
        begin = np.array([self._begin[self._ids[at]] for at in order.tolist()], np.int64)
        _update(state, self._profile, order, begin, np.zeros((1, state.jobs.shape[1]), np.int64))
        due = begin == window.now
        kept = order[~due].tolist()
        self._begin = {self._ids[at]: when for at, when in zip(kept, begin[~due].tolist(), strict=True)}
        return order[due].tolist(), kept

    def startable(self, positions: IntArray) -> BoolArray:
        """Which jobs could start now, each on its own, so that no promise is delayed, shape ``(positions,)``."""
        found = np.empty(len(positions), bool)
        _fit_now(self._state, self._profile, positions, False, found)
        return found

    def start(self, positions: IntArray) -> list[int]:
        """Start jobs one after another; those that do not fit beside the others before them and the promises stay."""
        started = np.empty(len(positions), bool)
        _fit_now(self._state, self._profile, positions, True, started)
        placed: list[int] = positions[started].tolist()
        return placed

    def reserve(self, position: int) -> int | None:
        """Promise a waiting job the earliest instant that delays nothing; None if that is now: it starts."""
        begin = int(_reserve(self._state, self._profile, position))
        if begin == self._state.at[NOW]:
            return None
        self._begin[self._ids[position]] = begin
        return begin


@compiled
def _update(s: State, p: Profile, order: IntArray, begin: IntArray, row: IntArray) -> None:
    """Build the profile of running jobs and promises, and compress these; ``begin`` is brought up to date.

    ``row`` is as of :func:`~transom.simulation.passes.service_plan.enter_known`.
    """
    enter_known(s, p, row)
    for k in range(len(order)):
        begin[k] = max(begin[k], s.at[NOW])
        add(p, s.jobs, order[k], begin[k], begin[k] + s.jobs[order[k], WALLTIME], TAKEN)
    if _lacks(p):  # a job outran its walltime
        enter_known(s, p, row)
        for k in range(len(order)):
            begin[k] = _reserve(s, p, order[k])
        return
    moved = True
    while moved:
        moved = False
        for k in range(len(order)):
            job, old = order[k], begin[k]
            new = earliest(p, s.jobs, job, s.at[NOW], old, old)
            if new < old:
                add(p, s.jobs, job, old, old + s.jobs[job, WALLTIME], FREED)
                add(p, s.jobs, job, new, new + s.jobs[job, WALLTIME], TAKEN)
                begin[k] = new
                moved = True


@no_refcount
def _lacks(p: Profile) -> bool:
    """Whether less than nothing is free at some time."""
    for b in range(p.at[BLOCKS]):
        for r in range(p.steps.shape[1] - 1):
            if p.blocks[b, LOW + 3 * r] < 0:
                return True
    return False


@compiled
def _fit_now(s: State, p: Profile, positions: IntArray, take: bool, found: BoolArray) -> None:
    """Which jobs fit now; with ``take``, beside those before them, and they are entered into the profile."""
    now = s.at[NOW]
    for k in range(len(positions)):
        job = positions[k]
        found[k] = earliest(p, s.jobs, job, now, now + 1, NEVER) == now
        if take and found[k]:
            add(p, s.jobs, job, now, now + s.jobs[job, WALLTIME], TAKEN)


@compiled
def _reserve(s: State, p: Profile, job: int) -> int:
    """Enter a job into the profile where it fits first; when that is [s]."""
    begin = earliest(p, s.jobs, job, s.at[NOW], NEVER, NEVER)
    add(p, s.jobs, job, begin, begin + s.jobs[job, WALLTIME], TAKEN)
    return int(begin)
