r"""The chances of waiting jobs: a softmax of their scores, moved by what jobs cost; compiled.

.. math:: p_i \propto \mathrm{softmax}(z)_i \, g(c_i)^\lambda, \quad g(c) = 1 - \Phi((c - \mu) / \sigma)

with the scores z and the costs c of the jobs, their mean and standard deviation, and the distribution function of the
standard normal law. Costs count when jobs are picked and never in training.

References
----------
MARS, section V-C: costs enter as a Gaussian factor of the softmax after training.
"""

from __future__ import annotations

import math

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.learned.kernel.scoring import FEATURES, KernelWeights, VisibleJobs, observe, score_rows
from transom.models.arrays import FloatArray, SingleArray

_LEAST = 1e-300  # of a factor g, whose logarithm is taken


@compiled
def log_chances(scores: SingleArray, costs: FloatArray, weight: float) -> FloatArray:
    r"""Logarithms of the chances of jobs, float64, shape ``(jobs,)``.

    Parameters
    ----------
    scores : shape ``(jobs,)``.
    costs : of these jobs, and perhaps of further ones behind, which do not count.
    weight : :math:`\lambda \ge 0`; with 0 costs do not count.
    """
    logs = np.empty(len(scores))
    for k in range(len(scores)):
        logs[k] = np.float64(scores[k])
    if weight > 0:
        _add_costs(logs, costs, weight)
    highest = -np.inf
    for k in range(len(logs)):
        highest = max(highest, logs[k])
    total = 0.0
    for k in range(len(logs)):
        total += np.exp(logs[k] - highest)
    for k in range(len(logs)):
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
def logs_of(weights: KernelWeights, shown: VisibleJobs, costs: FloatArray, weight: float) -> FloatArray:
    """Logarithms of the chances of the jobs that are shown; ``costs`` as of :func:`log_chances`."""
    features = np.empty((len(shown.queue), len(FEATURES)), np.float32)
    scores = np.empty(len(shown.queue), np.float32)
    observe(shown, features)
    score_rows(weights, features, scores)
    return log_chances(scores, costs, weight)


@compiled
def likeliest(weights: KernelWeights, shown: VisibleJobs, costs: FloatArray, weight: float) -> int:
    """The row of the job with the highest chance, the first of equals; arguments are those of :func:`logs_of`."""
    return int(np.argmax(logs_of(weights, shown, costs, weight)))


@no_refcount
def _add_costs(logs: FloatArray, costs: FloatArray, weight: float) -> None:
    """Add the logarithms of the factors; with equal costs there are none."""
    count, total, square = len(logs), 0.0, 0.0
    for k in range(count):
        total += costs[k]
    for k in range(count):
        square += (costs[k] - total / count) ** 2
    if square <= 0:
        return
    deviation = math.sqrt(square / count)
    for k in range(count):
        far = (costs[k] - total / count) / deviation
        logs[k] += weight * math.log(max(0.5 * math.erfc(far / math.sqrt(2.0)), _LEAST))
