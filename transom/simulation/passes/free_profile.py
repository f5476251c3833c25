"""The free profile, compiled: what will be free when, by expected ends and reservations.

A profile is a list of steps: from ``times[i]`` until ``times[i + 1]`` the amounts ``levels[i]``
are free; the last step lasts for ever. ``size[0]`` is the number of steps.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.simulation.passes.easy_backfill import fits


@compiled
def add(times, levels, size, begin, end, amount, sign):  # type: ignore[no-untyped-def]
    """Add ``sign * amount`` on ``[begin, end)`` and join steps that have become equal."""
    if end <= begin:
        return
    low = _step(times, levels, size, begin)
    high = _step(times, levels, size, end)
    for i in range(low, high):
        for r in range(levels.shape[1]):
            levels[i, r] += sign * amount[r]
    _join(times, levels, size, high)
    _join(times, levels, size, low)


@compiled
def earliest(times, levels, size, jobs, job, duration, limit, own_begin, own_end):  # type: ignore[no-untyped-def]
    """The earliest start before ``limit`` at which a job fits for ``duration``; ``limit`` if none.

    What the job itself holds on ``[own_begin, own_end)`` counts as free.
    """
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
            if not ((own_begin <= times[j] and until <= own_end) or fits(jobs, job, levels[j])):
                break
            j += 1
            if j == n or times[j] >= start + duration:
                return start
        i = j + 1
    return limit


@compiled
def _step(times, levels, size, time):  # type: ignore[no-untyped-def]
    """The step that begins at ``time``, made if need be."""
    n = size[0]
    i = np.searchsorted(times[:n], time)
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
def _join(times, levels, size, i):  # type: ignore[no-untyped-def]
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
