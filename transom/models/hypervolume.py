r"""Hypervolume along directions: what a front of many objectives dominates, approximately and at once.

Above the origin, in polar coordinates, points :math:`s` dominate the volume

.. math:: \frac{1}{m} \int_{w \ge 0,\ |w| = 1} r(w)^m \, dw,\qquad r(w) = \max_s \min_k \frac{s_k}{w_k}

which is taken as a mean over :data:`DIRECTIONS` directions, evenly spread and the same for every front: the
volume never falls when a front gains points. Making directions takes far longer than using them, so they are kept.

References
----------
Deng, Zhang, Approximating hypervolume and hypervolume contributions using polar coordinate, IEEE Transactions on
Evolutionary Computation 23 (2019).
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray

DIRECTIONS = 4096
"""How many directions the volume is a mean over."""
_BLOCK = 256


def share_along(points: FloatArray) -> float:
    """The share of the unit box that ``points`` dominate, from 0 to 1.

    Parameters
    ----------
    points : to maximise, from 0 to 1, shape ``(points, objectives)``.
    """
    objectives = points.shape[1]
    inverse = directions(objectives)
    reach = np.empty(DIRECTIONS)
    _fill_reach(np.ascontiguousarray(points, np.float64), inverse, reach)
    # Of what the same directions make of the whole box, so that a share stays one.
    box = inverse.min(axis=0)
    return _volume(reach / box.max(), objectives) / _volume(box / box.max(), objectives)


def _volume(reach: FloatArray, objectives: int) -> float:
    power = reach.copy()
    for _ in range(objectives - 1):  # a product is the same everywhere, a power need not be
        power *= reach
    return float(power.mean())


@cache
def directions(objectives: int) -> FloatArray:
    """The reciprocals of unit vectors spread evenly over the positive orthant, shape ``(objectives, DIRECTIONS)``.

    Points of a Kronecker sequence, by the generalised golden ratio, become normal numbers and are scaled to length 1.
    """
    ratio = 2.0
    for _ in range(64):
        ratio = (1.0 + ratio) ** (1.0 / (objectives + 1))
    step = ratio ** -np.arange(1.0, objectives + 1)
    uniform = (0.5 + np.arange(1, DIRECTIONS + 1)[:, None] * step) % 1.0
    normal = np.vectorize(NormalDist().inv_cdf)(0.5 + 0.5 * np.clip(uniform, 1e-9, 1 - 1e-9))
    inverse: FloatArray = np.ascontiguousarray((np.linalg.norm(normal, axis=1, keepdims=True) / normal).T)
    inverse.flags.writeable = False
    return inverse


@compiled
def _fill_reach(points: FloatArray, inverse: FloatArray, reach: FloatArray) -> None:
    # Block by block, so that what the inner loops run over stays in the nearest cache.
    low = np.empty(_BLOCK)
    reach[:] = 0.0
    for begin in range(0, reach.size, _BLOCK):
        best = reach[begin : begin + _BLOCK]
        for i in range(len(points)):
            row, first = inverse[0, begin : begin + _BLOCK], points[i, 0]
            for d in range(_BLOCK):
                low[d] = first * row[d]
            for k in range(1, points.shape[1]):
                row, value = inverse[k, begin : begin + _BLOCK], points[i, k]
                for d in range(_BLOCK):
                    along = value * row[d]
                    low[d] = along if along < low[d] else low[d]
            for d in range(_BLOCK):
                best[d] = low[d] if low[d] > best[d] else best[d]
