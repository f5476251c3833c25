"""Intervals that held on the past: conformal calibration of sampled waits.

A score tells how far a wait fell outside of its sampled interval, in the logarithm and relative to the interval's
width, so that short and long waits, certain and uncertain forecasts share one scale.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from typing import NamedTuple

import numpy as np

from transom.models.arrays import FloatArray, IntArray

_SOFT = 600.0  # waits much below it differ little [s]
_LEAST = 30  # so many past questions are needed
_LATEST = 300  # of them count
_NEAR = 0.2  # of these do for one forecast
_STEP = 0.02  # of a level
_TAIL = 0.1
_ADDED = 0.5  # to a width, in the logarithm: narrow intervals miss by more than their width says


class Scores(NamedTuple):
    """How far the latest of the past questions missed, shape ``(questions,)``; empty where they are too few.

    ``middle``: the logarithms of their sampled medians; ``below`` and ``above``: the scores; ``levels``: which
    quantiles of them to take; ``most``: the largest misses, in the logarithm.
    """

    middle: FloatArray
    below: FloatArray
    above: FloatArray
    levels: tuple[float, float]
    most: tuple[float, float]


def quantiles(sampled: IntArray) -> FloatArray:
    """The 10 %, 50 % and 90 % quantiles [s], shape ``(3, jobs)``, of sampled waits, shape ``(futures, jobs)``."""
    found: FloatArray = np.quantile(sampled, (_TAIL, 0.5, 1 - _TAIL), axis=0)
    return found


def scores(past: FloatArray, waits: FloatArray) -> Scores:
    """How far sampled intervals missed.

    A level follows the past: after a miss it rises by nine tenths of a step, after a hit it falls by a tenth, so that
    about a tenth of a long past lies beyond each threshold even where jobs change.

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
        return Scores(np.empty(0), np.empty(0), np.empty(0), (1 - _TAIL, 1 - _TAIL), (0.0, 0.0))
    low, middle, high = np.log(past + _SOFT).T
    width, wait = high - low + _ADDED, np.log(waits + _SOFT)
    below, above = low - wait, wait - high
    latest = slice(-_LATEST, None)
    return Scores(
        middle[latest],
        (below / width)[latest],
        (above / width)[latest],
        (_followed(below / width), _followed(above / width)),
        (float(below[latest].max()), float(above[latest].max())),
    )


def calibrated(forecast: FloatArray, past: Scores) -> FloatArray:
    """Quantiles of waits whose interval would have held often enough on the past questions with the nearest medians.

    It is widened or narrowed by a quantile of their scores (split-conformal calibration), and widened by no greater
    factor than any of the latest questions needed.

    Parameters
    ----------
    forecast : the sampled quantiles, shape ``(3, jobs)`` [s].
    past : scores of past questions.

    References
    ----------
    Guan, Localized conformal prediction, Biometrika 110 (2023).
    """
    if not len(past.middle):
        return forecast
    low, middle, high = np.log(forecast + _SOFT)
    number = max(_LEAST, int(_NEAR * len(past.middle)))
    near = np.argsort(abs(past.middle[:, None] - middle), axis=0, kind="stable")[:number]
    width = high - low + _ADDED
    below, above = (
        np.minimum(np.sort(scored[near], axis=0)[_rank(number, level)] * width, most)
        for scored, level, most in zip((past.below, past.above), past.levels, past.most, strict=True)
    )
    low, high = np.exp(low - below) - _SOFT, np.exp(high + above) - _SOFT
    return np.array([np.minimum(low, forecast[1]), forecast[1], np.maximum(high, forecast[1])]).clip(0)


def _followed(scores: FloatArray) -> float:
    """The level for the next score."""
    listed = scores.tolist()
    latest, level = sorted(listed[:_LEAST]), 1 - _TAIL
    for k, score in enumerate(listed[_LEAST:]):
        missed = score > latest[_rank(len(latest), level)]
        level = min(max(level + _STEP * (missed - _TAIL), 0.5), 1.0)
        insort(latest, score)
        if len(latest) > _LATEST:
            del latest[bisect_left(latest, listed[k + _LEAST - _LATEST])]
    return level


def _rank(count: int, level: float) -> int:
    return min(int(level * (count + 1)), count - 1)
