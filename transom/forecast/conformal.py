"""Intervals that held on the past: conformal calibration of sampled waits.

A score tells how far a wait fell outside of its sampled interval, in the logarithm and relative to the interval's
width, so that short and long waits, certain and uncertain forecasts share one scale.
"""

from __future__ import annotations

from bisect import bisect_left, insort

import numpy as np

from transom.models.arrays import FloatArray, IntArray

_SOFT = 600.0  # waits much below it differ little [s]
_LEAST = 30  # so many past questions are needed
_LATEST = 300  # of them count
_STEP = 0.01  # of a level
_TAIL = 0.1
_FLOOR = 0.1  # of a width, in the logarithm


def quantiles(sampled: IntArray) -> FloatArray:
    """The 10 %, 50 % and 90 % quantiles of sampled waits, along the first axis [s]."""
    found: FloatArray = np.quantile(sampled, (_TAIL, 0.5, 1 - _TAIL), axis=0)
    return found


def thresholds(past: FloatArray, waits: FloatArray) -> tuple[float, float]:
    """How far intervals are to be widened below and above, in widths; negative where they are to be narrowed.

    Each is a quantile of the latest scores: split-conformal calibration, at a level that follows the past. After a miss
    the level rises by nine tenths of a step, after a hit it falls by a tenth, so that about a tenth of a long past
    lies beyond each threshold even where jobs change.

    Parameters
    ----------
    past : the quantiles of past questions, in the order in which their jobs started, shape ``(questions, 3)`` [s].
    waits : what these jobs waited, shape ``(questions,)`` [s].

    References
    ----------
    Romano, Patterson, Candes, Conformalized quantile regression, NeurIPS 2019; Gibbs, Candes, Adaptive conformal
    inference under distribution shift, NeurIPS 2021, equation (2).
    """
    if len(waits) < _LEAST:
        return 0.0, 0.0
    low, _, high = np.log(past + _SOFT).T
    width, wait = np.maximum(high - low, _FLOOR), np.log(waits + _SOFT)
    return _followed((low - wait) / width), _followed((wait - high) / width)


def _followed(scores: FloatArray) -> float:
    """The threshold for the next score."""
    listed = scores.tolist()
    latest, level = sorted(listed[:_LEAST]), 1 - _TAIL
    for k, score in enumerate(listed[_LEAST:]):
        level = min(max(level + _STEP * ((score > _at(latest, level)) - _TAIL), 0.5), 1.0)
        insort(latest, score)
        if len(latest) > _LATEST:
            del latest[bisect_left(latest, listed[k + _LEAST - _LATEST])]
    return _at(latest, level)


def _at(ascending: list[float], level: float) -> float:
    return ascending[min(int(level * (len(ascending) + 1)), len(ascending) - 1)]


def calibrated(forecast: FloatArray, below: float, above: float) -> FloatArray:
    """The quantiles of waits, shape ``(3,)`` or ``(3, jobs)`` [s], with :func:`thresholds` applied; still ascending."""
    low, _, high = np.log(forecast + _SOFT)
    width = np.maximum(high - low, _FLOOR)
    low, high = np.exp(low - below * width) - _SOFT, np.exp(high + above * width) - _SOFT
    return np.array([np.minimum(low, forecast[1]), forecast[1], np.maximum(high, forecast[1])]).clip(0)
