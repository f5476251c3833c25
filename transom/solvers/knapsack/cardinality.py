"""Bounds of a knapsack that count items: whoever takes at most so many, or more, keeps one more inequality."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.knapsack.remainder import Remainder, scale

_DENOMINATORS = 12
_NEAR = 1e-4  # that multipliers are off by at most where they are fractions of small numbers
_PAIRS = 64  # of items, whose slopes are looked at
_DIFFERENT = 16  # most different levels


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    r"""A valid inequality and the bound that it gives together with the capacity.

    .. math:: \sum_j a_j x_j \le A, \qquad
        L(\mu, \lambda) = \mu W + \lambda A + \sum_j \max(0, v_j - \mu w_j - \lambda a_j)

    Parameters
    ----------
    gains : :math:`v_j - \mu w_j - \lambda a_j` times ``steps``, exact, shape ``(m,)``.
    bound : :math:`L` times ``steps``, exact.
    steps : the scale.
    """

    gains: IntArray
    bound: int
    steps: int


def cuts(rest: Remainder) -> list[Cut] | None:
    r"""Two inequalities of which every solution keeps one, so chosen that the larger of both bounds is small.

    The linear relaxation takes :math:`\alpha` items; a solution at most :math:`\lfloor \alpha \rfloor` or at least one
    more. Either is an inequality that the relaxation breaks. Where values are a multiple of the weights and a few
    small numbers more, the same is tried with the sum of these.

    Returns
    -------
    The inequalities that a better solution can keep, by falling bound; None where numbers are too large for the scale.

    References
    ----------
    Martello, Pisinger, Toth, Dynamic programming and strong bounds for the 0-1 knapsack problem, Management
    Science 45 (1999), section 3 (bounds with minimum and maximum cardinality by surrogate relaxation).
    """
    found: list[Cut] | None = None
    steepest = _relaxed(rest, rest.copies)[0]
    for coefficients in (levels_of(rest.values, rest.weights), rest.copies):
        if coefficients is None:
            continue
        count = _relaxed(rest, coefficients)[1]
        whole = int(np.floor(count + 1e-9))
        both: list[Cut] = []
        for sign, limit in ((1, whole), (-1, -whole - 1)):
            cut = _cut(rest, sign * coefficients, limit, steepest)
            if cut is None:
                return found
            if cut.bound // cut.steps > rest.known:
                both.append(cut)
        both.sort(key=lambda cut: -(cut.bound // cut.steps))
        if found is None or not both or (found and both[0].bound // both[0].steps < found[0].bound // found[0].steps):
            found = both
        if not found:
            break
    return found


def levels_of(values: IntArray, weights: IntArray) -> IntArray | None:
    r"""The numbers :math:`\ell_j \ge 0` of values :math:`q v_j = p w_j + g \ell_j`, if they are few and not all equal.

    Returns
    -------
    Of shape ``(m,)``; None where values are not made so.
    """
    order = np.argsort(weights, kind="stable")
    half = len(order) // 2
    if half < 4:
        return None
    first = np.linspace(0, half - 1, min(half, _PAIRS)).astype(np.int64)
    a, b = order[first], order[first + half]
    apart = weights[b] - weights[a]
    slopes = (values[b] - values[a])[apart > 0] / apart[apart > 0]
    seen: dict[tuple[int, int], int] = {}
    for slope in slopes.tolist():
        for below in range(1, _DENOMINATORS + 1):
            above = round(slope * below)
            if abs(slope * below - above) < 1e-3:
                seen[above, below] = seen.get((above, below), 0) + 1
                break
    if not seen:
        return None
    above, below = max(seen, key=lambda pair: seen[pair])
    if float(values.max()) * below + float(weights.max()) * abs(above) >= 2.0**62:
        return None
    beyond = below * values - above * weights
    different = np.unique(beyond)
    if not 1 < len(different) <= _DIFFERENT or different[0] < 0:
        return None
    levels: IntArray = beyond // int(np.gcd.reduce(different))
    return levels


def _relaxed(rest: Remainder, coefficients: IntArray) -> tuple[float, float]:
    """The multiplier of the capacity alone, and what the linear relaxation adds up to."""
    _, slope, left = _least(
        rest.values.astype(np.float64), rest.weights.astype(np.float64), coefficients.astype(np.float64),
        float(rest.capacity), 0.0, 0.0,
    )  # fmt: skip
    return slope, -left


def _simple(slope: float, price: float) -> tuple[float, float]:
    """The fractions of a small number nearby, if there are any: with them, whole groups of items cost nothing."""
    for below in range(1, _DENOMINATORS + 1):
        if abs(slope * below - round(slope * below)) < _NEAR and abs(price * below - round(price * below)) < _NEAR:
            return round(slope * below) / below, round(price * below) / below
    return slope, price


def _cut(rest: Remainder, coefficients: IntArray, limit: int, steepest: float) -> Cut | None:
    """The bound with one more inequality; None where numbers are too large."""
    values, weights = rest.values, rest.weights
    slope, price = _multipliers(
        values.astype(np.float64), weights.astype(np.float64), coefficients.astype(np.float64), float(rest.capacity),
        float(limit), float(rest.known),
    )  # fmt: skip
    found: Cut | None = None
    for mu, nu in (_simple(slope, price), (slope, price)):
        counted = abs(nu) * float(np.abs(coefficients).sum())
        steps = scale(float(values.sum()) + max(mu, steepest) * float(weights.sum()) + counted)
        if not steps:
            return None
        of_weight, of_count = round(mu * steps), round(nu * steps)
        gains = steps * values - of_weight * weights - of_count * coefficients
        bound = of_weight * rest.capacity + of_count * limit + int(gains[gains > 0].sum())
        if found is None or bound * found.steps < found.bound * steps:
            found = Cut(gains, bound, steps)
    return found


@compiled
def _multipliers(
    values: FloatArray, weights: FloatArray, coefficients: FloatArray, capacity: float, limit: float, best: float
) -> tuple[float, float]:
    """The multipliers of the least bound, nearly, by intersections of tangents; or any where it is below ``best``."""
    low, mu, slope = _least(values, weights, coefficients, capacity, limit, 0.0)
    if slope >= 0 or low < best:
        return mu, 0.0
    left, left_at, left_slope, left_mu = 0.0, low, slope, mu
    right = values.mean() / max(np.abs(coefficients).mean(), 1.0)
    for _ in range(60):
        at, mu, slope = _least(values, weights, coefficients, capacity, limit, right)
        if at < best:
            return mu, right
        if slope >= 0:
            break
        left, left_at, left_slope, left_mu = right, at, slope, mu
        right *= 2
    right_at, right_slope, right_mu = at, slope, mu
    for step in range(60):
        if right_slope <= left_slope or right - left <= 1e-13 * right:
            break
        price = (left_at - right_at + right_slope * right - left_slope * left) / (right_slope - left_slope)
        expected = left_at + left_slope * (price - left)
        if step % 3 == 2:
            price = 0.5 * (left + right)
            expected = -np.inf
        at, mu, slope = _least(values, weights, coefficients, capacity, limit, price)
        if slope < 0:
            left, left_at, left_slope, left_mu = price, at, slope, mu
        else:
            right, right_at, right_slope, right_mu = price, at, slope, mu
        if at < best or at <= expected + 1e-12 * abs(expected):
            return mu, price
    return (left_mu, left) if left_at < right_at else (right_mu, right)


@compiled
def _least(
    values: FloatArray, weights: FloatArray, coefficients: FloatArray, capacity: float, limit: float, price: float
) -> tuple[float, float, float]:
    """The least bound at a price of the inequality, the multiplier of the capacity, and the slope in the price."""
    left, right = 0.0, 0.0
    for j in range(len(values)):
        right = max(right, (values[j] - price * coefficients[j]) / weights[j] * (1 + 1e-9))
    left_at, left_slope, left_count = _bound(values, weights, coefficients, capacity, limit, left, price)
    if left_slope >= 0:
        return left_at, 0.0, left_count
    right_at, right_slope, right_count = _bound(values, weights, coefficients, capacity, limit, right, price)
    for step in range(100):
        mu = (left_at - right_at + right_slope * right - left_slope * left) / (right_slope - left_slope)
        expected = left_at + left_slope * (mu - left)
        ends = right - left <= 1e-15 * right
        if step % 3 == 2 and not ends:
            mu, expected = 0.5 * (left + right), -np.inf
        at, slope, count = _bound(values, weights, coefficients, capacity, limit, mu, price)
        ends = ends or at <= expected + 1e-14 * abs(expected)
        if ends:
            break
        if slope < 0:
            left, left_at, left_slope, left_count = mu, at, slope, count
        else:
            right, right_at, right_slope, right_count = mu, at, slope, count
    # The mixture of both ends that uses the capacity up.
    share = right_slope / (right_slope - left_slope)
    return at, mu, share * left_count + (1 - share) * right_count


@compiled
def _bound(
    values: FloatArray,
    weights: FloatArray,
    coefficients: FloatArray,
    capacity: float,
    limit: float,
    mu: float,
    price: float,
) -> tuple[float, float, float]:
    total, room, left = mu * capacity + price * limit, capacity, limit
    for j in range(len(values)):
        gain = values[j] - mu * weights[j] - price * coefficients[j]
        if gain > 0:
            total += gain
            room -= weights[j]
            left -= coefficients[j]
    return total, room, left
