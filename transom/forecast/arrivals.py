"""Jobs that may still be submitted: those of the last weeks, at the same times of the week."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray

_WEEK = 7 * 86400
_MOST = 4096  # jobs of a future


def arrivals(submit: IntArray, now: int, horizon: int, weeks: int) -> tuple[IntArray, IntArray]:
    """The submissions of some weeks, once more, and again if need be.

    Parameters
    ----------
    submit : of the known jobs, ascending [s], none after ``now``, shape ``(jobs,)``.
    now : the instant [s].
    horizon : for how long jobs are submitted [s].
    weeks : how many weeks back to begin; where the past is shorter, all of it counts.

    Returns
    -------
    Positions of the jobs that come again, and when [s], ascending, after ``now``.
    """
    known = max((now - int(submit[0])) // _WEEK, 0)
    period = _WEEK * (1 + (weeks - 1) % known) if known else max(now - int(submit[0]), 1)
    first = int(np.searchsorted(submit, now - period, side="right"))
    block = np.arange(first, len(submit))
    positions, times = [], []
    for lap in range(1, horizon // period + 2):
        positions.append(block)
        times.append(submit[first:] + lap * period)
        if lap * len(block) > _MOST:
            break
    when = np.concatenate(times)
    count = min(int(np.searchsorted(when, now + horizon, side="right")), _MOST)
    return np.concatenate(positions)[:count], when[:count]
