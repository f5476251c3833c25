"""The free profile, compiled: what will be free when, by expected ends and reservations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.simulation.core.events import WALLTIME
from transom.simulation.passes.easy_backfill import fits


class FreeProfile(NamedTuple):
    """A list of steps: from ``times[i]`` [s] until ``times[i + 1]`` the amounts ``levels[i]`` are free.

    The last step lasts for ever. ``size[0]`` is the number of steps; the arrays have room for more.
    """

    times: IntArray
    levels: IntArray
    size: IntArray


@compiled
def add(p: FreeProfile, begin: int, end: int, amount: IntArray, sign: int) -> None:
    """Add ``sign * amount`` on ``[begin, end)`` and join steps that have become equal."""
    if end <= begin:
        return
    low = _step(p, begin)
    high = _step(p, end)
    for i in range(low, high):
        for r in range(p.levels.shape[1]):
            p.levels[i, r] += sign * amount[r]
    _join(p, high)
    _join(p, low)


@compiled
def earliest(p: FreeProfile, jobs: IntArray, job: int, limit: int, own: int) -> int:
    """The earliest start before ``limit`` at which a job fits for its walltime; ``limit`` if none.

    ``own`` : when the job's own reservation begins, which counts as free; NEVER if it has none.
    """
    times, levels, size = p
    duration = jobs[job, WALLTIME]
    n = size[0]
    i = 0
    while i < n:
        start = times[i]
        if start >= limit:
            return limit
        j = i
        while True:
            # What the job holds itself counts as free, where it covers all that is asked of step j.
            until = start + duration if j + 1 == n else min(times[j + 1], start + duration)
            if not ((own <= times[j] and until <= own + duration) or fits(jobs, job, levels[j])):
                break
            j += 1
            if j == n or times[j] >= start + duration:
                return int(start)
        i = j + 1
    return limit


@compiled
def _step(p: FreeProfile, time: int) -> int:
    """The step that begins at ``time``, made if need be."""
    times, levels, size = p
    n = size[0]
    i = int(np.searchsorted(times[:n], time))
    if i < n and times[i] == time:
        return i
    for k in range(n, i, -1):
        times[k] = times[k - 1]
        for r in range(levels.shape[1]):
            levels[k, r] = levels[k - 1, r]
    times[i] = time
    for r in range(levels.shape[1]):
        levels[i, r] = levels[i - 1, r]
    size[0] += 1
    return i


@compiled
def _join(p: FreeProfile, i: int) -> None:
    times, levels, size = p
    if i == 0 or i >= size[0]:
        return
    for r in range(levels.shape[1]):
        if levels[i, r] != levels[i - 1, r]:
            return
    for k in range(i + 1, size[0]):
        times[k - 1] = times[k]
        for r in range(levels.shape[1]):
            levels[k - 1, r] = levels[k, r]
    size[0] -= 1
