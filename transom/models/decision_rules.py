r"""Decision rules: which point of a front to take. Named and registered.

With :math:`u_{ik}` the share of point :math:`i` in objective :math:`k`: utilisation (value over the resource's total)
where the objective is a resource, else value over its ceiling. The first objective (the nodes, as a rule) is
:math:`k = 1`, and :math:`s_i = \sum_{k > 1} u_{ik}`. Ties go to the larger :math:`u_{i1}`, then to the earlier point.
Sums of shares and bounds on them are compared to twelve digits: a tie must not hang on how tenths are rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from transom._system.wording import real_number
from transom.errors import SpecError
from transom.models.arrays import BoolArray, FloatArray
from transom.models.hypervolume import directions
from transom.models.pareto_front import EXACT_OBJECTIVES, ParetoFront, hypervolume_share
from transom.models.selection import Selection

_DIGITS = 12


class DecisionRule(Protocol):
    """Anything that takes one point of a front: its index."""

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int: ...


def shares(front: ParetoFront, problem: Selection) -> FloatArray:
    """:math:`u`, shape ``(points, objectives)``."""
    utilisation = problem.in_display_units(front.values)
    ceiling = np.maximum(problem.ceiling, 1)
    for k, term in enumerate(problem.terms):
        if term not in problem.resources:
            utilisation[:, k] = front.values[:, k] / ceiling[k]
    return utilisation


@dataclass(frozen=True, slots=True)
class TradeOff:
    r"""The published rule: give up a little of the first objective for much of the others.

    From the point :math:`b` with the largest :math:`u_{b1}`, go to the :math:`i` with the largest :math:`s_i` among
    those with :math:`u_{b1} - u_{i1} < g` and :math:`s_i - s_b > h s_b`, if there is one.

    Parameters
    ----------
    give : :math:`g`, >= 0.
    gain : :math:`h`, >= 0.
    relative : whether the gain is a share of :math:`s_b`; otherwise :math:`s_i - s_b > h`.

    Raises
    ------
    SpecError : a number is negative or not finite.

    References
    ----------
    Fan, Lan, MultiSched; the numbers are those of its public code.
    """

    give: float = 0.10
    gain: float = 0.30
    relative: bool = True

    def __post_init__(self) -> None:
        _refuse_negative("trade-off", give=self.give, gain=self.gain)

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        u, rest, best = _from_the_best(front, problem)
        needed = self.gain * rest[best] if self.relative else self.gain
        allowed = _above(self.give, u[best] - u) & _above(rest - rest[best], needed)
        return _replaced(u, rest, best, allowed)


@dataclass(frozen=True, slots=True)
class TwiceOver:
    r"""BBSched's rule: the others have to gain twice what the first objective loses.

    From the point :math:`b` with the largest :math:`u_{b1}`, go to the :math:`i` with the largest :math:`s_i` among
    those with :math:`s_i - s_b > f (u_{b1} - u_{i1})`, if there is one.

    Parameters
    ----------
    factor : :math:`f`, >= 0.

    Raises
    ------
    SpecError : it is negative or not finite.

    References
    ----------
    Fan et al., Scheduling beyond CPUs for HPC, HPDC 2019.
    """

    factor: float = 2.0

    def __post_init__(self) -> None:
        _refuse_negative("2x", factor=self.factor)

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        u, rest, best = _from_the_best(front, problem)
        return _replaced(u, rest, best, _above(rest - rest[best], self.factor * (u[best] - u)))


@dataclass(frozen=True, slots=True)
class Knee:
    r"""The point farthest above the plane through the extremes of the front.

    With :math:`z_{ik}` the value scaled to 0 ... 1 over the points of the front (1 where all are
    equal), the :math:`i` with the largest :math:`\sum_k z_{ik}`.

    References
    ----------
    Das, On characterizing the "knee" of the Pareto curve, Structural Optimization 18 (1999).
    """

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        low, high = front.values.min(axis=0), front.values.max(axis=0)
        scaled = np.where(high > low, (front.values - low) / np.maximum(high - low, 1), 1.0)
        return _largest(_summed(scaled), shares(front, problem)[:, 0])


@dataclass(frozen=True, slots=True)
class WeightedSum:
    r"""The largest weighted sum :math:`\sum_k w_k u_{ik}`.

    Parameters
    ----------
    weights : :math:`w`, >= 0 and not all 0, one for each objective with a slash between; equal by default.

    Raises
    ------
    SpecError : they are not such numbers; when it is used: there are not as many as objectives.
    """

    weights: str = ""

    def __post_init__(self) -> None:
        parse_weights("weighted", self.weights)

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        u = shares(front, problem)
        weights = weights_for(problem, "weighted", self.weights)
        return _largest(_summed(u * (weights / weights.max())), u[:, 0])


@dataclass(frozen=True, slots=True)
class Lexicographic:
    """The best in one objective, among equals the best in the next, and so on.

    Parameters
    ----------
    order : names of objectives with slashes between, most important first; those left out follow in their own order.

    Raises
    ------
    SpecError : when it is used: the problem has no such objective.
    """

    order: str = ""

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        columns = lexicographic_order(problem, self.order)
        return int(np.lexsort(-front.values[:, columns[::-1]].T)[0])


@dataclass(frozen=True, slots=True)
class Contribution:
    """The point without which the front would dominate the least.

    The volume is that of :func:`~transom.models.pareto_front.hypervolume_share`, over fixed directions
    where there are more than five objectives.

    References
    ----------
    Emmerich, Beume, Naujoks, SMS-EMOA, EMO 2005.
    """

    def __call__(self, front: ParetoFront, problem: Selection, /) -> int:
        points = (front.values + 1.0) / (problem.ceiling + 1.0)
        count, objectives = points.shape
        if count == 1:
            return 0
        if objectives <= EXACT_OBJECTIVES:
            every = np.arange(count)
            lost = np.array([-hypervolume_share(front.values[every != i], problem.ceiling) for i in every])
        else:
            lost = _lost_along_directions(points)
        return _largest(lost, shares(front, problem)[:, 0])


def parse_weights(what: str, text: str) -> list[float]:
    """Numbers with slashes between, >= 0 and not all 0; none for an empty text.

    Raises
    ------
    SpecError : they are not such numbers.
    """
    try:
        weights = [real_number(part) for part in text.split("/")] if text else []
    except ValueError:
        raise SpecError(f"{what}: weights must be numbers with slashes between, got {text!r}") from None
    if weights and not (all(0 <= weight < math.inf for weight in weights) and any(weights)):
        raise SpecError(f"{what}: weights must be finite, >= 0 and not all 0, got {text!r}")
    return weights


def weights_for(problem: Selection, what: str, text: str) -> FloatArray:
    """The weights that a text states for the objectives of a problem, shape ``(objectives,)``, 1 each if it is empty.

    Raises
    ------
    SpecError : there are not as many as objectives.
    """
    weights = parse_weights(what, text) or [1.0] * len(problem.terms)
    if len(weights) != len(problem.terms):
        raise SpecError(
            f"{what}: {len(weights)} weights for {len(problem.terms)} objectives: {', '.join(problem.terms)}"
        )
    return np.array(weights)


def lexicographic_order(problem: Selection, text: str) -> list[int]:
    """The objectives that a text names with slashes between, then the others, as positions.

    Raises
    ------
    SpecError : the problem has no such objective, or one stands twice.
    """
    named = [name for name in text.split("/") if name]
    for name in named:
        if name not in problem.terms or named.count(name) > 1:
            raise SpecError(f"lexicographic: no objective {name!r}, or twice. Known: {', '.join(problem.terms)}")
    return [problem.terms.index(name) for name in named] + [
        k for k, term in enumerate(problem.terms) if term not in named
    ]


def _from_the_best(front: ParetoFront, problem: Selection) -> tuple[FloatArray, FloatArray, int]:
    """Shares in the first objective, sums of the others, and the point with the largest share."""
    u = shares(front, problem)
    rest = _summed(u[:, 1:])
    return u[:, 0], rest, _largest(u[:, 0], rest)


def _replaced(u: FloatArray, rest: FloatArray, best: int, allowed: BoolArray) -> int:
    others = np.flatnonzero(allowed)
    return int(others[_largest(rest[others], u[others])]) if len(others) else best


def _largest(first: FloatArray, then: FloatArray) -> int:
    return int(np.lexsort((-then, -first))[0])


def _summed(terms: FloatArray) -> FloatArray:
    total: FloatArray = np.round(terms.sum(axis=1), _DIGITS)
    return total


def _above(larger: FloatArray | float, smaller: FloatArray | float) -> BoolArray:
    above: BoolArray = np.round(np.subtract(larger, smaller), _DIGITS) > 0
    return above


def _lost_along_directions(points: FloatArray) -> FloatArray:
    """How much farther the front reaches with each point, to the power that makes a volume of it."""
    count, objectives = points.shape
    lost = np.zeros(count)
    for chunk in np.array_split(directions(objectives), 16, axis=1):
        reach = (points[:, :, None] * chunk).min(axis=1)
        second, best = np.partition(reach, -2, axis=0)[-2:]
        np.add.at(lost, reach.argmax(axis=0), best**objectives - second**objectives)
    return lost


def _refuse_negative(what: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not 0 <= number < math.inf:
            raise SpecError(f"{what}: {name} must be finite and >= 0, got {number}")
