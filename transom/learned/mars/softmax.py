r"""The chances of waiting jobs: a softmax of their scores, masked, and moved by what jobs cost; compiled.

.. math:: p_i \propto m_i \, \mathrm{softmax}(z)_i \, g(c_i)^\lambda, \quad g(c) = 1 - \Phi((c - \mu) / \sigma)

with the mask m, the scores z, the costs c of the jobs that are not masked, their mean and standard deviation, and the
distribution function of the standard normal law. Costs count when jobs are picked and never in training.

References
----------
MARS, section V-C: costs enter as a Gaussian factor of the softmax after training.
"""

from __future__ import annotations

import math

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.learned.kernel.scoring import FEATURES, KernelWeights, VisibleJobs, observe, score_rows
from transom.models.arrays import BoolArray, FloatArray, SingleArray

_LEAST = 1e-300  # of a factor g, whose logarithm is taken
_WIDTH = len(FEATURES)


@compiled
def log_chances(scores: SingleArray, mask: BoolArray, costs: FloatArray, weight: float) -> FloatArray:
    r"""Logarithms of the chances, float64; those of masked slots are minus infinity.

    Parameters
    ----------
    scores, mask, costs : of the slots, shape ``(slots,)``; what a masked slot holds does not count.
    weight : :math:`\lambda \ge 0`; with 0 costs do not count.
    """
    logs = np.full(len(scores), -np.inf)
    for k in range(len(scores)):
        if mask[k]:
            logs[k] = np.float64(scores[k])
    if weight > 0:
        _add_costs(logs, mask, costs, weight)
    highest = -np.inf
    for k in range(len(logs)):
        highest = max(highest, logs[k])
    total = 0.0
    for k in range(len(logs)):
        if mask[k]:
            total += np.exp(logs[k] - highest)
    for k in range(len(logs)):
        if mask[k]:
            logs[k] -= highest + np.log(total)
    return logs


@compiled
def node_seconds(shown: VisibleJobs) -> FloatArray:
    """Of the jobs that are shown, by walltime: what they cost where they state nothing else."""
    costs = np.empty(len(shown.queue))
    for row in range(len(shown.queue)):
        costs[row] = np.float64(shown.queue[row, 1]) * shown.queue[row, 2]
    return costs


@compiled
def logs_of(weights: KernelWeights, shown: VisibleJobs, costs: FloatArray, slots: int, weight: float) -> FloatArray:
    """Logarithms of the chances of jobs that are shown, at most ``slots``, padded to so many slots.

    Parameters
    ----------
    costs : of the jobs, in the order in which they are shown, shape ``(jobs,)``; those behind are passed over.
    """
    count = len(shown.queue)
    features, mask = np.zeros((slots, _WIDTH), np.float32), np.zeros(slots, np.bool_)
    scores, padded = np.zeros(slots, np.float32), np.zeros(slots)
    observe(shown, features)
    score_rows(weights, features, scores[:count])
    for row in range(count):
        mask[row] = True
        padded[row] = costs[row]
    return log_chances(scores, mask, padded, weight)


@compiled
def likeliest(weights: KernelWeights, shown: VisibleJobs, costs: FloatArray, slots: int, weight: float) -> int:
    """The row of the job with the highest chance, the first of equals; arguments are those of :func:`logs_of`."""
    return int(np.argmax(logs_of(weights, shown, costs, slots, weight)))


@no_refcount
def _add_costs(logs: FloatArray, mask: BoolArray, costs: FloatArray, weight: float) -> None:
    """Add the logarithms of the factors; with equal costs there are none."""
    count, total, square = 0, 0.0, 0.0
    for k in range(len(logs)):
        if mask[k]:
            count += 1
            total += costs[k]
    for k in range(len(logs)):
        if mask[k]:
            square += (costs[k] - total / count) ** 2
    if square <= 0:
        return
    deviation = math.sqrt(square / count)
    for k in range(len(logs)):
        if mask[k]:
            far = (costs[k] - total / count) / deviation
            logs[k] += weight * math.log(max(0.5 * math.erfc(far / math.sqrt(2.0)), _LEAST))
