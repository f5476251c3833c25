"""The weights of the cuts of a bundle: a quadratic programme over the simplex.

Steps along pairs of cuts, of which few do at first; where they crawl, the minimum over the cuts with weight and the one
of the least slope, from which those that would have less than none are taken away.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import sum_of
from transom.models.arrays import FloatArray, IntArray

_PAIRS, _SETS = 30, 60  # steps along pairs of cuts and over sets of them


@compiled
def weigh(
    inner: FloatArray, errors: FloatArray, weights: FloatArray, used: int, step: float, gap: float, scale: float
) -> None:
    r"""Minimise :math:`\tfrac t2 \alpha^T Q \alpha + e^T \alpha` over the simplex, from the weights as they are.

    Parameters
    ----------
    inner, errors : Q, shape ``(cuts, cuts)``, and e, shape ``(cuts,)``.
    weights : :math:`\alpha`, shape ``(cuts,)``, of which the first ``used`` count; brought to the minimum.
    step : t.
    gap, scale : slopes that differ by at most a thousandth of ``gap``, or by 1e-12 of ``scale``, are equal.
    """
    total = sum_of(weights[:used])
    for k in range(used):
        weights[k] /= total
    slope, members = np.empty(used), np.empty(used, np.int64)
    _slopes(inner, errors, weights, used, step, slope)
    for turn in range(_PAIRS + _SETS):
        up, down, least, most, moved = 0, -1, 0.0, 0.0, 0.0
        for k in range(1, used):
            if slope[k] < slope[up]:
                up = k
        row = inner[up]
        for k in range(used):
            if weights[k] <= 0.0 or slope[k] <= slope[up]:
                continue
            less, curve = slope[k] - slope[up], step * (row[up] + inner[k, k] - 2.0 * row[k])
            move = weights[k] if curve * weights[k] <= less else less / curve
            least = max(least, less)
            if move * (less - 0.5 * curve * move) > most:
                down, moved, most = k, move, move * (less - 0.5 * curve * move)
        if down < 0 or least <= 1e-3 * gap or least <= 1e-12 * scale:
            break
        if turn < _PAIRS:
            weights[up] += moved
            weights[down] -= moved
            if weights[down] < 1e-12:
                weights[down] = 0.0
            rise, other_row = step * moved, inner[down]
            for k in range(used):
                slope[k] += rise * (row[k] - other_row[k])
            continue
        count = 0
        for k in range(used):
            if weights[k] > 0.0 or k == up:
                members[count] = k
                count += 1
        _minimise(inner, errors, weights, step, members[:count])
        _slopes(inner, errors, weights, used, step, slope)


@no_refcount
def _slopes(
    inner: FloatArray, errors: FloatArray, weights: FloatArray, used: int, step: float, slope: FloatArray
) -> None:
    for k in range(used):
        slope[k] = errors[k]
    for other in range(used):
        if weights[other] > 0.0:
            rise, row = step * weights[other], inner[other]
            for k in range(used):
                slope[k] += rise * row[k]


@compiled
def _minimise(inner: FloatArray, errors: FloatArray, weights: FloatArray, step: float, members: IntArray) -> None:
    """The least value over weights of the members alone that add up to one; those that it takes away have none."""
    count = len(members)
    square, one, other = np.empty((count, count)), np.empty(count), np.empty(count)
    while count > 0:
        most = 1e-300
        for k in range(count):
            most = max(most, step * inner[members[k], members[k]])
        # One more times the sum's square, which is the same for all of these weights, makes it definite.
        for i in range(count):
            for k in range(count):
                square[i, k] = step * inner[members[i], members[k]] + most
            square[i, i] += 1e-13 * most
            one[i], other[i] = 1.0, -errors[members[i]]
        _solve(square, one, other, count, 1e-14 * most)
        level = (1.0 - sum_of(other[:count])) / sum_of(one[:count])
        share, first = 1.0, -1
        for k in range(count):
            aim, now = other[k] + level * one[k], weights[members[k]]
            if aim <= 0.0 and now < share * (now - aim):
                share, first = now / (now - aim), k
        for k in range(count):
            weights[members[k]] += share * (other[k] + level * one[k] - weights[members[k]])
        if first < 0:
            return
        weights[members[first]] = 0.0
        count -= 1
        members[first] = members[count]


@no_refcount
def _solve(square: FloatArray, one: FloatArray, other: FloatArray, count: int, least: float) -> None:
    """Two right sides of a positive definite matrix, in place; pivots are no less than ``least``."""
    for i in range(count):
        pivot = 1.0 / max(square[i, i], least)
        row = square[i]
        for below in range(i + 1, count):
            factor, into = square[below, i] * pivot, square[below]
            for k in range(i, count):
                into[k] -= factor * row[k]
            one[below] -= factor * one[i]
            other[below] -= factor * other[i]
    for i in range(count - 1, -1, -1):
        row, first, second = square[i], one[i], other[i]
        for k in range(i + 1, count):
            first -= row[k] * one[k]
            second -= row[k] * other[k]
        pivot = 1.0 / max(row[i], least)
        one[i], other[i] = first * pivot, second * pivot
