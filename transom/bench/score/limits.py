r"""Distribution-free 95 % confidence limits of a population figure, from a sample of instances.

Gaps are mostly 0 with a long tail, and a bootstrap or Student's interval of their mean then holds the true one far less
often than it says. What stands here holds it at least that often for every law, for every number of instances:

- a share: Clopper and Pearson's limits, from the binomial law;
- a median: two of the sorted values, from the binomial law, too;
- a mean of figures that have bounds, such as gaps: what bets against it show. If :math:`m` is the mean, then
  :math:`\prod_i (1 - c + c x_i / m)` has the expectation 1 for every stake :math:`0 \le c \le 1`, and so has its mean
  over stakes; by Markov's inequality it is :math:`2/\alpha` or more with a chance of at most :math:`\alpha/2`. Means
  for which it is as large are left out, from below and, with :math:`1 - x_i`, from above.

How much few instances leave open about a mean cannot be mended by a better formula: of 60 instances without any gap it
is 7 points, since one in fifteen others may be without a solution. Below :data:`FEWEST_FOR_MEAN` nothing is said.

References
----------
Clopper, Pearson, The use of confidence or fiducial limits illustrated in the case of the binomial, Biometrika 26
(1934). David, Nagaraja, Order statistics (2003), section 7.1. Waudby-Smith, Ramdas, Estimating means of bounded random
variables by betting, Journal of the Royal Statistical Society B 86 (2024), section 4. Bahadur, Savage, The
nonexistence of certain statistical procedures in nonparametric problems, Annals of Mathematical Statistics 27 (1956):
why figures without bounds have no limits of their mean.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from transom.models.arrays import FloatArray

CONFIDENCE = 0.95
FEWEST_FOR_MEDIAN = 6
"""Values of which the least and the largest are limits of the median: five leave it out with 2/32 > 5 %."""
FEWEST_FOR_MEAN = 60
"""Instances from which on limits of a mean are stated: 60 without any gap leave open up to 7 points."""

_STEPS = 40  # of halving the interval that a limit lies in
_SPREAD = 15  # stakes below 1
_STAKES = np.append(np.sin(np.pi * (2 * np.arange(_SPREAD) + 1) / (4 * _SPREAD)) ** 2, 1.0)
_MONEY = np.log(np.append(np.full(_SPREAD, 0.5 / _SPREAD), 0.5))  # on each of them


class Limits(NamedTuple):
    """The ends of a 95 % confidence interval; arrays where several samples were given."""

    low: FloatArray
    high: FloatArray


def share_limits(count: int, of: int) -> Limits | None:
    """Limits of a share that was seen in ``count`` of ``of`` cases; None where there are none."""
    from scipy.stats import binomtest

    if not of:
        return None
    found = binomtest(count, of).proportion_ci(CONFIDENCE, method="exact")
    return Limits(np.asarray(found.low), np.asarray(found.high))


def median_limits(values: ArrayLike) -> Limits | None:
    """Limits of a median: two of the values, shape ``(n,)``. None for fewer than :data:`FEWEST_FOR_MEDIAN`."""
    from scipy.stats import quantile_test

    sample = np.asarray(values, np.float64)
    if len(sample) < FEWEST_FOR_MEDIAN:
        return None
    low, high = quantile_test(sample, p=0.5).confidence_interval(CONFIDENCE)
    return Limits(low, high)


def mean_limits(values: ArrayLike, least: float = 0.0, most: float = 1.0) -> Limits | None:
    """Limits of a mean of values that are never beyond ``least`` and ``most``.

    Parameters
    ----------
    values : the sample, shape ``(instances,)`` or ``(instances, samples)``.
    least, most : what the law of the values is within, least < most.

    Returns
    -------
    The limits, or None for fewer than :data:`FEWEST_FOR_MEAN` values.
    """
    sample = (np.asarray(values, np.float64) - least) / (most - least)
    if len(sample) < FEWEST_FOR_MEAN:
        return None
    sample = np.clip(sample, 0.0, 1.0)  # what rounding put beyond
    low, high = _lower(sample), 1 - _lower(1 - sample)
    return Limits(least + (most - least) * low, least + (most - least) * high)


def _lower(sample: FloatArray) -> FloatArray:
    """The largest mean that a sample shows to be too small, from 0 to 1; never above its own mean."""
    refuted, mean = np.zeros(sample.shape[1:]), sample.mean(axis=0)
    open_ = mean.copy()
    enough = np.log(2 / (1 - CONFIDENCE))
    for _ in range(_STEPS):
        middle = (refuted + open_) / 2
        shown = _evidence(sample, middle) >= enough
        refuted, open_ = np.where(shown, middle, refuted), np.where(shown, open_, middle)
    return refuted


def _evidence(sample: FloatArray, mean: FloatArray) -> FloatArray:
    """The logarithm of what bets won that the mean is larger.

    Half of the money is on the stake 1, for which a sample of zeros has Clopper and Pearson's limits, but for that
    half; the other half is spread evenly over Chebyshev's nodes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):  # log 0 is the loss of a stake of 1; 0/0 for a sample of zeros
        won = np.log1p(np.multiply.outer(_STAKES, sample / mean - 1)).sum(axis=1)
        won += _MONEY.reshape(-1, *(1,) * (won.ndim - 1))
        most = won.max(axis=0)  # never log 0: the other stakes lose less
        found: FloatArray = most + np.log(np.exp(won - most).sum(axis=0))
    return found
