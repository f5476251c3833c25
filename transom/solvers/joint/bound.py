"""A quick bound on joint choices: each job as if it were alone, the idle nodes as one fractional knapsack."""

from __future__ import annotations

import math

import numpy as np

from transom.models.arrays import IntArray
from transom.models.hop_cost import hops_cost
from transom.models.joint import Joint

_SLACK = 1e-9  # relative, of sums in floating point


def joint_bound(problem: Joint) -> tuple[float, float]:
    """A bound, infinite where mandatory jobs do not fit, and the price of a node at which it is reached.

    On each level a job shares the most pairs if it fills the switches with the most idle nodes, which bounds its cost
    from below. Mandatory jobs are taken with that gain, the others fill what is left by falling gain per node, the
    last one in part (Dantzig 1957).
    """
    hops, gains = problem.hop_weights, problem.weights.astype(float)
    savings = [
        (int(saves), np.sort(np.unique(level, return_counts=True)[1])[::-1])
        for saves, level in zip(problem.savings, problem.levels, strict=True)
    ]
    for job, size in enumerate(problem.sizes.tolist()):
        if 1 < size <= len(problem.idle):
            saved = sum(saves * _pairs(size, idle) for saves, idle in savings)
            least = max(0, int(hops[0]) * (size * (size - 1) // 2) - saved)
            gains[job] -= problem.cost_weight * hops_cost(size, least, hops)
    must = problem.must
    room = len(problem.idle) - sum(problem.sizes[must].tolist())
    if room < 0:
        return math.inf, 0.0
    total, price = math.fsum(gains[must]), 0.0
    open_ = np.flatnonzero(~must & (gains > 0) & (problem.sizes <= room))
    for job in open_[np.argsort(-gains[open_] / problem.sizes[open_], kind="stable")].tolist():
        share = min(1.0, room / int(problem.sizes[job]))
        total += share * float(gains[job])
        room -= min(room, int(problem.sizes[job]))
        if room == 0:
            price = float(gains[job]) / int(problem.sizes[job])
            break
    scale = float(np.abs(gains).sum())
    return (math.floor(total + _SLACK * scale) if problem.whole else total + _SLACK * scale), price


def _pairs(size: int, idle: IntArray) -> int:
    """The most pairs that so many nodes share below switches with these numbers of idle nodes, falling."""
    last = int(np.searchsorted(np.cumsum(idle), size))
    whole = idle[:last]
    rest = size - int(whole.sum())
    return int((whole * (whole - 1) // 2).sum()) + rest * (rest - 1) // 2
