"""Requested walltimes: above the runtime, in round numbers."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray

_MINUTES = (5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 240, 300, 360, 480, 600, 720, 900, 1080, 1440, 1800, 2160, 2880)

USUAL_LIMITS: IntArray = np.array(_MINUTES, dtype=np.int64) * 60
"""Round walltimes [s] that users pick, from 5 minutes to 48 hours, ascending."""
USUAL_LIMITS.flags.writeable = False

_DAY = 86_400


def round_up(seconds: IntArray) -> IntArray:
    """The next of :data:`USUAL_LIMITS`, above 48 hours the next whole day [s], shape ``(n,)`` as given."""
    at = np.searchsorted(USUAL_LIMITS, seconds)
    usual = USUAL_LIMITS[np.minimum(at, len(USUAL_LIMITS) - 1)]
    return np.where(at < len(USUAL_LIMITS), usual, -(-seconds // _DAY) * _DAY)


def overestimated(runtime: IntArray, rng: np.random.Generator) -> IntArray:
    r"""Walltimes of users who overestimate, in round numbers.

    The accuracy :math:`r/w`, the share of the walltime that is used, is uniform on (0, 1], which is
    the flat histogram that logs show; what comes out is rounded up to a usual limit, because most
    users choose from about twenty values. An estimate above 48 hours, the usual largest limit, is
    lowered to it where the runtime allows.

    Parameters
    ----------
    runtime : real runtimes [s], > 0, shape ``(jobs,)``.
    rng : where the over-estimates come from.

    Returns
    -------
    Walltimes [s], >= runtime, shape ``(jobs,)``.

    References
    ----------
    Mu'alem and Feitelson, Utilization, predictability, workloads, and user runtime estimates, IEEE
    TPDS 12(6), 2001, section 4 (accuracy); Tsafrir, Etsion and Feitelson, Modeling user runtime
    estimates, JSSPP 2005, section 3 (few round values).
    """
    accuracy = 1.0 - rng.random(len(runtime))
    wanted = np.minimum(np.ceil(runtime / accuracy), max(float(USUAL_LIMITS[-1]), float(runtime.max(initial=0))))
    estimate = np.minimum(wanted.astype(np.int64), np.maximum(USUAL_LIMITS[-1], runtime))
    return round_up(np.maximum(estimate, runtime))
