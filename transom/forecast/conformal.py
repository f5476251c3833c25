"""Intervals that held on the past: conformal calibration of sampled waits.

A score tells how far a wait fell outside of its sampled interval, in the logarithm and relative to the interval's
width, so that short and long waits, certain and uncertain forecasts share one scale.
"""

from __future__ import annotations

import numpy as np

from transom.models.arrays import FloatArray, IntArray

_SOFT = 600.0  # waits much below it differ little [s]
_LEAST = 30  # so many past questions are needed
_FIRST = 50  # of them set the thresholds, the others move them
_STEP = 0.05  # of a threshold, in widths
_TAIL = 0.1
_FLOOR = 0.1  # of a width, in the logarithm


def quantiles(sampled: IntArray) -> FloatArray:
    """The 10 %, 50 % and 90 % quantiles of sampled waits, along the first axis [s]."""
    found: FloatArray = np.quantile(sampled, (_TAIL, 0.5, 1 - _TAIL), axis=0)
    return found


def thresholds(past: FloatArray, waits: FloatArray) -> tuple[float, float]:
    """How far intervals are to be widened below and above, in widths; negative where they are to be narrowed.

    The first questions set both by split-conformal calibration. Each further one moves them: after a miss a threshold
    rises by nine tenths of a step, after a hit it falls by a tenth. Whatever the jobs are like, a tenth of a long past
    lies beyond each threshold.

    Parameters
    ----------
    past : the quantiles of past questions, in the order in which their jobs started, shape ``(questions, 3)`` [s].
    waits : what these jobs waited, shape ``(questions,)`` [s].

    References
    ----------
    Romano, Patterson, Candes, Conformalized quantile regression, NeurIPS 2019; Angelopoulos, Candes, Tibshirani,
    Conformal PID control for time series prediction, NeurIPS 2023, section 2 (quantile tracking).
    """
    if len(waits) < _LEAST:
        return 0.0, 0.0
    low, _, high = np.log(past + _SOFT).T
    width, wait = np.maximum(high - low, _FLOOR), np.log(waits + _SOFT)
    found = []
    for score in ((low - wait) / width, (wait - high) / width):
        first = score[:_FIRST]
        at = float(np.quantile(first, min(1.0, (1 - _TAIL) * (1 + 1 / len(first)))))
        for each in score[_FIRST:].tolist():
            at += _STEP * ((each > at) - _TAIL)
        found.append(at)
    return found[0], found[1]


def calibrated(forecast: FloatArray, below: float, above: float) -> FloatArray:
    """The quantiles of waits, shape ``(3,)`` or ``(3, jobs)`` [s], with :func:`thresholds` applied; still ascending."""
    low, _, high = np.log(forecast + _SOFT)
    width = np.maximum(high - low, _FLOOR)
    low, high = np.exp(low - below * width) - _SOFT, np.exp(high + above * width) - _SOFT
    return np.array([np.minimum(low, forecast[1]), forecast[1], np.maximum(high, forecast[1])]).clip(0)
