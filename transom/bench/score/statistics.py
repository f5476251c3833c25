"""Statistical comparison of solvers: wins and losses, medians with limits, rank tests.

The sample is the instances. The runs of a solver on one instance with several seeds are averaged before; more seeds
make an instance's figure sharper, they are no further instances.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom.bench.score.limits import median_limits
from transom.models.arrays import FloatArray

LEVEL = 0.05
"""Below this a p-value, corrected where there are several, counts as a difference."""
FEWEST = 6
"""Differing instances that a signed-rank test needs: with five even the clearest outcome has p = 2/32 > 0.05."""
EXACT = 50
"""Up to so many differing instances a signed-rank test is exact; for more the normal approximation is as good."""
TOLERANCE = {"primal_gap": 1e-4, "primal_integral": 1e-2}
"""Two solvers tie on an instance where they differ by no more: 0.01 points of the gap, 1 % of the budget."""


class Pair(NamedTuple):
    """Two solvers on the instances that both met; lower figures are better.

    Attributes
    ----------
    first, second : the solvers.
    instances : how many both met.
    wins, ties, losses : of the first, on instances.
    difference, median : mean and median of first minus second; below 0 the first is better; None without instances.
    median_low, median_high : 95 % limits of the median (:func:`~transom.bench.score.limits.median_limits`); None with
        fewer than six instances.
    p : of the Wilcoxon signed-rank test over the instances without a tie; None where fewer than
        :data:`FEWEST` are left.
    p_corrected : after Holm, for all pairs that were tested together.
    verdict : ``better``, ``worse`` (the way that the test finds), ``no difference shown``, ``all ties`` or ``too few
        instances``.
    """

    first: str
    second: str
    instances: int
    wins: int
    ties: int
    losses: int
    difference: float | None
    median: float | None
    median_low: float | None
    median_high: float | None
    p: float | None
    p_corrected: float | None
    verdict: str


class Friedman(NamedTuple):
    """All solvers at once, on the instances that all of them met.

    Attributes
    ----------
    instances : how many these are.
    ranks : mean rank of each solver, 1 is the best; ties share.
    p : of the Friedman test that all are equal; None where it says nothing, ``why`` then says why.
    why : None if there is a p-value.
    """

    instances: int
    ranks: dict[str, float]
    p: float | None
    why: str | None


def shifted_geometric_mean(values: ArrayLike, shift: float, axis: int = -1) -> FloatArray:
    r"""The shifted geometric mean :math:`\prod_i (v_i + s)^{1/n} - s`: small values do not rule it, nor large ones.

    Parameters
    ----------
    values : >= 0, of any shape; that of the means lacks ``axis``.
    shift : s > 0, in their unit.
    axis : to average over.

    References
    ----------
    Achterberg, Constraint integer programming, PhD thesis, TU Berlin 2007, appendix A.3.
    """
    mean: FloatArray = np.exp(np.log(np.asarray(values, np.float64) + shift).mean(axis=axis)) - shift
    return np.maximum(mean, 0.0)  # what is left of the shift by rounding


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number, in their order.

    Five lines of our own: scipy corrects for the false discovery rate alone.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6 (1979).
    """
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, position in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[position]))
        corrected[position] = largest
    return corrected


def signed_rank(differences: ArrayLike) -> float | None:
    """The two-sided p-value of the Wilcoxon signed-rank test, zeros left out; exact up to :data:`EXACT` others.

    ``differences`` has the shape ``(n,)``.
    None where fewer than :data:`FEWEST` differ from zero: no outcome is then beyond chance. Counting is our
    own: with equal differences scipy goes through all signs one by one up to 13 (0.4 s a test, minutes for a report of
    many solvers), and approximates from 14 on.
    """
    from scipy.stats import rankdata, wilcoxon

    left = np.asarray(differences, np.float64)
    left = left[left != 0]
    if len(left) < FEWEST:
        return None
    if len(left) > EXACT:
        return float(wilcoxon(left, method="approx").pvalue)
    ranks = (2 * rankdata(np.abs(left))).astype(int)  # equal ones share a rank, which may be a half
    ways = np.zeros(int(ranks.sum()) + 1)  # of giving signs so that the positive ranks come to that sum
    ways[0] = 1.0
    for rank in ranks:
        ways[rank:] += ways[: len(ways) - rank].copy()
    positive = int(ranks[left > 0].sum())
    tail = min(ways[: positive + 1].sum(), ways[positive:].sum())
    return float(min(1.0, 2 * tail / ways.sum()))


def leaning(differences: ArrayLike) -> float:
    """Which way the signed-rank test finds differences to go: below 0 or above, by the sum of their signed ranks.

    ``differences`` has the shape ``(n,)``.
    Neither the mean nor the number of instances shows that: sixteen small losses beside fourteen large wins are
    significant, as wins.
    """
    from scipy.stats import rankdata

    left = np.asarray(differences, np.float64)
    left = left[left != 0]
    return float((np.sign(left) * rankdata(np.abs(left))).sum())


def pairs(figures: Mapping[str, Mapping[str, float]], tolerance: float) -> list[Pair]:
    """Every two solvers against each other.

    Parameters
    ----------
    figures : per solver its figure on each instance that it met, over which lower is better.
    tolerance : differences up to it are ties.
    """
    found = [
        _pair(first, second, figures[first], figures[second], tolerance) for first, second in combinations(figures, 2)
    ]
    tested = [i for i, pair in enumerate(found) if pair.p is not None]
    for i, corrected in zip(tested, holm([found[i].p or 0.0 for i in tested]), strict=True):
        verdict = found[i].verdict if corrected < LEVEL else "no difference shown"
        found[i] = found[i]._replace(p_corrected=corrected, verdict=verdict)
    return found


def friedman(figures: Mapping[str, Mapping[str, float]], tolerance: float) -> Friedman:
    """Whether several solvers differ at all; parameters as of :func:`pairs`.

    References
    ----------
    Friedman, The use of ranks to avoid the assumption of normality implicit in the analysis of variance, Journal of
    the American Statistical Association 32 (1937).
    """
    from scipy.stats import friedmanchisquare, rankdata

    shared = _shared(*figures.values())
    # Ranks of what is within the tolerance are shared, which rounding to it comes near to.
    matrix = np.array([[round(each[instance] / tolerance) for each in figures.values()] for instance in shared])
    if not len(matrix):
        return Friedman(0, {}, None, "no instance was met by all")
    ranks = dict(zip(figures, rankdata(matrix, axis=1).mean(axis=0).tolist(), strict=True))
    if len(figures) < 3:
        return Friedman(len(shared), ranks, None, "it takes three solvers")
    if len(shared) < FEWEST:
        return Friedman(len(shared), ranks, None, f"it takes {FEWEST} instances that all met, there are {len(shared)}")
    if (matrix == matrix[:, :1]).all():
        return Friedman(len(shared), ranks, None, "all tie on every instance")
    return Friedman(len(shared), ranks, float(friedmanchisquare(*matrix.T).pvalue), None)


def _shared(*figures: Mapping[str, float]) -> list[str]:
    """Instances that all met, in the order of the first."""
    return [instance for instance in figures[0] if all(instance in each for each in figures)] if figures else []


def _pair(first: str, second: str, a: Mapping[str, float], b: Mapping[str, float], tolerance: float) -> Pair:
    shared = _shared(a, b)
    differences = np.array([a[instance] - b[instance] for instance in shared])
    wins, losses = int((differences < -tolerance).sum()), int((differences > tolerance).sum())
    limits = median_limits(differences)
    untied = np.where(np.abs(differences) <= tolerance, 0.0, differences)
    p = signed_rank(untied)
    verdict = "too few instances" if wins + losses or not shared else "all ties"
    if p is not None:
        verdict = "better" if leaning(untied) < 0 else "worse"
    return Pair(
        first=first,
        second=second,
        instances=len(shared),
        wins=wins,
        ties=len(shared) - wins - losses,
        losses=losses,
        difference=float(differences.mean()) if shared else None,
        median=float(np.median(differences)) if shared else None,
        median_low=None if limits is None else float(limits.low),
        median_high=None if limits is None else float(limits.high),
        p=p,
        p_corrected=None,
        verdict=verdict,
    )
