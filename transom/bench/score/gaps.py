r"""Primal and proved gaps, and their integrals over time.

With :math:`v` the value of a run and :math:`v^*` the reference value of its instance, the *primal gap* is

.. math::

    \gamma = \begin{cases}
        0 & v = v^* \\
        1 & \text{no solution, or } v v^* < 0 \\
        |v - v^*| / \max(|v|, |v^*|) & \text{else}
    \end{cases}

and the *primal integral* of a run under a budget of :math:`T` seconds is :math:`\frac{1}{T} \int_0^T \gamma(t)\,dt`,
where :math:`\gamma(t)` is the gap of the best value found by then: a step function, 1 before the first solution. It is
the mean gap of someone who comes for the answer at a random moment. The *proved gap* is the same between the value
and the run's own proved bound.

References
----------
Berthold, Measuring the impact of primal heuristics, Operations Research Letters 41 (2013), section 2. There the
integral is not divided by the budget.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from transom.models.arrays import BoolArray, FloatArray

SAME = 1e-9
"""Values that differ by no more than this share of the larger one are the same value: sums in another order."""


def primal_gap(value: ArrayLike, reference: ArrayLike, maximise: ArrayLike) -> FloatArray:
    """The primal gap of values, from 0 to 1.

    Parameters
    ----------
    value : of each run, nan without a solution.
    reference : the best value known of each instance, nan where there is none: the gap is then 1.
    maximise : whether larger values are better; one that is better than its reference has no gap.

    All may have any shapes that go together; the result has at least one dimension.
    """
    value, reference = np.asarray(value, np.float64), np.asarray(reference, np.float64)
    gap = _relative(value, reference)
    better = np.where(maximise, value >= reference, value <= reference)
    return np.where(better, 0.0, gap)


def proved_gap(value: ArrayLike, bound: ArrayLike) -> FloatArray:
    """The gap between values and proved bounds of one shape, from 0 to 1; 1 where one is missing (nan)."""
    return _relative(np.asarray(value, np.float64), np.asarray(bound, np.float64))


def same(a: ArrayLike, b: ArrayLike) -> BoolArray:
    """Whether numbers, of shapes that go together, are the same value (:data:`SAME`); nan is no value."""
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # inf - inf; what overflows is not the same
        close: BoolArray = np.abs(a - b) <= SAME * np.maximum(np.abs(a), np.abs(b))
    return close


def mean_over_time(run: ArrayLike, seconds: ArrayLike, gap: ArrayLike, budget: ArrayLike) -> FloatArray:
    """The mean over the budget of step functions, one for each run.

    Parameters
    ----------
    run : the position of the run that a step belongs to, ascending; each run has a step at 0 s.
    seconds : when the step happens, ascending within a run [s].
    gap : the level from then on.
    budget : of each run, shape ``(runs,)``, > 0 [s]; nan where there is none.

    Returns
    -------
    Shape ``(runs,)``, nan where there is no budget.
    """
    run, seconds = np.asarray(run, np.int64), np.asarray(seconds, np.float64)
    horizon = np.asarray(budget, np.float64)
    if not len(run):
        return np.full(len(horizon), np.nan)
    end = np.append(seconds[1:], np.inf)
    end[np.append(run[1:] != run[:-1], True)] = np.inf
    lasts = np.minimum(end, horizon[run]) - np.minimum(seconds, horizon[run])
    areas = np.zeros(len(horizon))
    np.add.at(areas, run, lasts * np.asarray(gap, np.float64))
    mean: FloatArray = areas / horizon
    return mean


def _relative(a: FloatArray, b: FloatArray) -> FloatArray:
    a, b = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        gap: FloatArray = np.abs(a - b) / np.maximum(np.abs(a), np.abs(b))
    gap[np.isnan(gap)] = 1.0
    gap[np.sign(a) * np.sign(b) < 0] = 1.0
    gap[same(a, b)] = 0.0
    return gap
