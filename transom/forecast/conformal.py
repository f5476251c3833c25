"""Intervals that held on the past: split-conformal calibration of sampled waits.

A score tells how far a wait fell outside of its sampled interval, in the logarithm and relative to the interval's
width, so that short and long waits, certain and uncertain forecasts share one scale.
"""

from __future__ import annotations

import numpy as np

from transom.models.arrays import FloatArray

_SOFT = 600.0  # waits much below it differ little [s]
_LEAST = 30  # so many past questions are needed
_TAIL = 0.1
_FLOOR = 0.1  # of a width, in the logarithm


def quantiles(sampled: FloatArray) -> FloatArray:
    """The 10 %, 50 % and 90 % quantiles of sampled waits, along the last axis [s]."""
    found: FloatArray = np.quantile(sampled, (_TAIL, 0.5, 1 - _TAIL), axis=-1)
    return found


def calibrated(forecast: FloatArray, past: FloatArray, waits: FloatArray) -> FloatArray:
    """A forecast, widened or narrowed as the past asks for.

    Parameters
    ----------
    forecast : the quantiles of a wait, shape ``(3,)`` [s].
    past : those of past questions, shape ``(questions, 3)`` [s].
    waits : what these jobs waited, shape ``(questions,)`` [s].

    Returns
    -------
    The three quantiles, ascending, shape ``(3,)`` [s]; unchanged where the past is too short.

    References
    ----------
    Romano, Patterson, Candes, Conformalized quantile regression, NeurIPS 2019.
    """
    if len(waits) < _LEAST:
        return forecast
    low, _, high = np.log(past + _SOFT).T
    width, wait = np.maximum(high - low, _FLOOR), np.log(waits + _SOFT)
    level = min(1.0, (1 - _TAIL) * (1 + 1 / len(waits)))
    below, above = np.quantile((low - wait) / width, level), np.quantile((wait - high) / width, level)
    own = np.log(forecast + _SOFT)
    mine = max(own[2] - own[0], _FLOOR)
    changed = np.exp([own[0] - below * mine, own[1], own[2] + above * mine]) - _SOFT
    return np.array([min(changed[0], forecast[1]), forecast[1], max(changed[2], forecast[1])]).clip(0)
