"""Reservations that are kept from pass to pass: what has been promised to a job never gets later.

Jobs queue for their promises in the order in which these were made: each got the earliest place in the free
profile, of the nodes and every further resource, beside the running jobs and the promises before it. When jobs end
early the promises are compressed in that order, again and again until none can move: a promise is then for the
very instant at which something ends, so that there is an event when it comes due. A job that outran its walltime
breaks what was promised on it: promises that do not hold any more are then all made anew, in order.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import put, stable_order
from transom.models import Window
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.decision import Reservation
from transom.simulation.core.events import DEMAND, NEVER, WALLTIME, State
from transom.simulation.passes.free_profile import FreeProfile, add, earliest
from transom.simulation.passes.window_pass import window_state


class ReservationTable:
    """The reservations of a replay, and the free profile of the pass in progress.

    A pass begins with :meth:`update`; all positions after that are positions in the queue of its window.
    """

    def __init__(self) -> None:
        self._begin: dict[int, int] = {}
        self._ids: list[int] = []
        self._state: State
        self._profile: FreeProfile

    def __len__(self) -> int:
        return len(self._begin)

    @property
    def reservations(self) -> tuple[Reservation, ...]:
        """All that is promised, in the order in which it was."""
        return tuple(Reservation(job, begin) for job, begin in self._begin.items())

    @property
    def free(self) -> IntArray:
        """What is free now, beside the jobs started in this pass, shape ``(1 + resources,)``."""
        now: IntArray = self._profile.levels[0].copy()
        return now

    def update(self, window: Window) -> tuple[list[int], list[int]]:
        """Begin a pass: move the promises forward as far as they go, and start those that have come due.

        Returns
        -------
        Positions of the jobs that start now, and of those that a promise is kept for; both in order of promise.
        """
        self._ids = window.queue.id.tolist()
        self._state = state = window_state(window, np.empty(0, np.int64))
        steps = 2 * len(state.jobs) + 4
        levels = np.empty((steps, len(state.free)), np.int64)
        profile = FreeProfile(np.empty(steps, np.int64), levels, np.ones(1, np.int64))
        left = self._profile if self._begin else profile
        place = {job: at for at, job in enumerate(self._ids)} if self._begin else {}
        order = np.array([place[job] for job in self._begin if job in place], np.int64)
        begin = np.array([self._begin[self._ids[at]] for at in order.tolist()], np.int64)
        running = len(window.running)
        _update(state.jobs, state.expected[:running], state.free, window.now, profile, order, begin, left)
        self._profile = profile
        due = begin == window.now
        kept = order[~due].tolist()
        self._begin = {self._ids[at]: when for at, when in zip(kept, begin[~due].tolist(), strict=True)}
        return order[due].tolist(), kept

    def startable(self, positions: IntArray) -> BoolArray:
        """Which jobs could start now, each on its own, so that no promise is delayed, shape ``(positions,)``."""
        found = np.empty(len(positions), bool)
        _startable(self._state.jobs, self._profile, positions, found)
        return found

    def start(self, positions: IntArray) -> list[int]:
        """Start jobs one after another; those that do not fit beside the others before them and the promises stay."""
        started = np.zeros(len(positions), bool)
        _start(self._state.jobs, self._profile, positions, started)
        placed: list[int] = positions[started].tolist()
        return placed

    def reserve(self, position: int) -> int | None:
        """Promise a waiting job the earliest instant that delays nothing; None if that is now: it starts."""
        now = int(self._profile.times[0])
        begin = int(_reserve(self._state.jobs, self._profile, position))
        if begin == now:
            return None
        self._begin[self._ids[position]] = begin
        return begin


@compiled
def _update(
    jobs: IntArray,
    expected: IntArray,
    free: IntArray,
    now: int,
    p: FreeProfile,
    order: IntArray,
    begin: IntArray,
    left: FreeProfile,
) -> None:
    """Build the profile of running jobs and promises, and compress these; ``begin`` is brought up to date.

    ``left`` : the profile that the last pass left.
    """
    for k in range(len(begin)):
        begin[k] = max(begin[k], now)
    p.times[0] = now
    put(p.levels[0], free)
    _build(jobs, expected, p, order, begin)
    if _lacks(p):  # a job outran its walltime
        put(p.levels[0], free)
        _build(jobs, expected, p, order[:0], begin[:0])
        for k in range(len(order)):
            begin[k] = _reserve(jobs, p, order[k])
        return
    # A job can only move to where something has become free, so it need not look beyond that.
    freed = _differ_until(p, left)
    moved = freed > now
    while moved:
        moved = False
        for k in range(len(order)):
            job, old = order[k], begin[k]
            limit = min(old, freed)
            new = earliest(p, jobs, job, limit, old)
            if new < limit:
                _hold(jobs, p, job, old, 1)
                _hold(jobs, p, job, new, -1)
                begin[k] = new
                freed = max(freed, old + jobs[job, WALLTIME])
                moved = True


@compiled
def _lacks(p: FreeProfile) -> bool:
    """Whether less than nothing is free at some time."""
    for step in range(p.size[0]):
        for r in range(p.levels.shape[1]):
            if p.levels[step, r] < 0:
                return True
    return False


@compiled
def _build(jobs: IntArray, expected: IntArray, p: FreeProfile, order: IntArray, begin: IntArray) -> None:
    # The first step is there: the instant of the pass, and what is free at it.
    times, levels, size = p
    running, promised = len(expected), len(order)
    when = np.empty(running + 2 * promised, np.int64)
    who = np.empty(running + 2 * promised, np.int64)
    for i in range(running):
        when[i] = expected[i, 0]
        who[i] = expected[i, 1]
    for k in range(promised):
        when[running + k] = begin[k]
        when[running + promised + k] = begin[k] + jobs[order[k], WALLTIME]
        who[running + k] = who[running + promised + k] = order[k]
    last = 0
    for i in stable_order(when):
        if when[i] > times[last]:
            if last == 0 or not _same(levels[last], levels[last - 1]):
                last += 1
            times[last] = when[i]
            put(levels[last], levels[last - 1])
        sign = -1 if running <= i < running + promised else 1
        for r in range(levels.shape[1]):
            levels[last, r] += sign * jobs[who[i], DEMAND + r]
    if last > 0 and _same(levels[last], levels[last - 1]):
        last -= 1
    size[0] = last + 1


@compiled
def _differ_until(new: FreeProfile, old: FreeProfile) -> int:
    """From when on two profiles are the same for ever; the first instant of the first one if they are all along."""
    i, j = new.size[0] - 1, old.size[0] - 1
    while i > 0 and j > 0 and new.times[i] == old.times[j] and _same(new.levels[i], old.levels[j]):
        i -= 1
        j -= 1
    if _same(new.levels[i], old.levels[j]):
        return int(max(new.times[i], old.times[j]))
    return int(new.times[i + 1]) if i + 1 < new.size[0] else NEVER


@compiled
def _same(a: IntArray, b: IntArray) -> bool:
    for r in range(len(a)):  # noqa: SIM110  (a generator is slower when compiled)
        if a[r] != b[r]:
            return False
    return True


@compiled
def _hold(jobs: IntArray, p: FreeProfile, job: int, begin: int, sign: int) -> None:
    add(p, begin, begin + jobs[job, WALLTIME], jobs[job, DEMAND:], sign)


@compiled
def _reserve(jobs: IntArray, p: FreeProfile, job: int) -> int:
    begin = earliest(p, jobs, job, NEVER, NEVER)
    _hold(jobs, p, job, begin, -1)
    return int(begin)


@compiled
def _startable(jobs: IntArray, p: FreeProfile, positions: IntArray, found: BoolArray) -> None:
    now = p.times[0]
    for k in range(len(positions)):
        found[k] = earliest(p, jobs, positions[k], now + 1, NEVER) == now


@compiled
def _start(jobs: IntArray, p: FreeProfile, positions: IntArray, started: BoolArray) -> None:
    now = p.times[0]
    for k in range(len(positions)):
        job = positions[k]
        if earliest(p, jobs, job, now + 1, NEVER) == now:
            _hold(jobs, p, job, now, -1)
            started[k] = True
