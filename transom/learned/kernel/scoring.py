"""What the network sees of a waiting job, and the score that it gives it; compiled, float32."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.models.arrays import IntArray, SingleArray

SCHEMA = "transom/kernel/1"
"""Name and version of the observations."""

FEATURES = ("wait", "walltime", "nodes", "area", "fits", "delay", "free", "queued")
"""What the network sees of each job: waiting time, walltime, node-seconds and the delay until it fits by walltimes, as
logarithms; nodes and free nodes as shares of the machine; whether it fits now; jobs shown as a share of the slots."""

SLOTS = 128
"""How many waiting jobs the network scores: the first ones by submission."""

HIDDEN = (32, 16, 8)
"""Units of the hidden layers."""

_DECADES = 7.0  # logarithms of seconds are divided by it


class KernelWeights(NamedTuple):
    """Weights of the network that all slots share, float32."""

    first: NDArray[np.float32]
    """Shape ``(8, 32)``."""
    first_bias: NDArray[np.float32]
    second: NDArray[np.float32]
    """Shape ``(32, 16)``."""
    second_bias: NDArray[np.float32]
    third: NDArray[np.float32]
    """Shape ``(16, 8)``."""
    third_bias: NDArray[np.float32]
    out: NDArray[np.float32]
    """Shape ``(8,)``."""


class VisibleJobs(NamedTuple):
    """What a decision is made on: int64.

    ``queue`` ``(jobs, 3)``: submission [s], walltime [s] and nodes of the waiting jobs that are shown; ``ends``
    ``(running, 2)``: when running jobs end by their walltimes [s], ascending, and their nodes; ``at`` ``(3,)``: now
    [s], free nodes, nodes of the machine.
    """

    queue: IntArray
    ends: IntArray
    at: IntArray


@no_refcount
def delay(shown: VisibleJobs, nodes: int) -> int:
    """How long until so many nodes are free by walltimes [s]; 0 if they are free."""
    free, now = shown.at[1], shown.at[0]
    if nodes <= free:
        return 0
    for i in range(len(shown.ends)):
        free += shown.ends[i, 1]
        if nodes <= free:
            return max(int(shown.ends[i, 0] - now), 1)
    return 1


@compiled
def observe(shown: VisibleJobs, features: SingleArray) -> None:
    """Fill ``features`` ``(at least jobs, 8)`` with what the network sees of the jobs that are shown."""
    now, free, total = shown.at
    count = len(shown.queue)
    known = np.full(total + 1, -1.0, np.float32)  # delays by size
    for row in range(count):
        submit, walltime, nodes = shown.queue[row]
        if known[nodes] < 0:
            known[nodes] = np.log10(1.0 + delay(shown, nodes)) / _DECADES
        x = features[row]
        x[0] = np.log10(1.0 + (now - submit)) / _DECADES
        x[1] = np.log10(np.float64(walltime)) / _DECADES
        x[2] = nodes / total
        x[3] = np.log10(np.float64(walltime) * nodes) / _DECADES
        x[4] = 1.0 if nodes <= free else 0.0
        x[5] = known[nodes]
        x[6] = free / total
        x[7] = count / SLOTS


@compiled
def score_rows(weights: KernelWeights, features: SingleArray, scores: SingleArray) -> None:
    """Fill ``scores`` for as many rows of ``features`` as it is long."""
    v, b, u, c, t, d, w = weights
    one, two, three = np.empty(len(b), np.float32), np.empty(len(c), np.float32), np.empty(len(d), np.float32)
    for row in range(len(scores)):
        x = features[row]
        put(one, b)
        for i in range(len(x)):
            for k in range(len(one)):
                one[k] += x[i] * v[i, k]
        put(two, c)
        for i in range(len(one)):
            if one[i] > 0:
                for k in range(len(two)):
                    two[k] += one[i] * u[i, k]
        put(three, d)
        for i in range(len(two)):
            if two[i] > 0:
                for k in range(len(three)):
                    three[k] += two[i] * t[i, k]
        total_score = np.float32(0)
        for k in range(len(three)):
            if three[k] > 0:
                total_score += w[k] * three[k]
        scores[row] = total_score


@compiled
def scores_of(weights: KernelWeights, shown: VisibleJobs, scores: SingleArray) -> None:
    """Fill ``scores`` for the jobs that are shown; the highest is picked."""
    features = np.empty((len(shown.queue), weights.first.shape[0]), np.float32)
    observe(shown, features)
    score_rows(weights, features, scores[: len(shown.queue)])


@compiled
def best(weights: KernelWeights, shown: VisibleJobs) -> int:
    """The row of the job with the highest score, the first of equals."""
    scores = np.empty(len(shown.queue), np.float32)
    scores_of(weights, shown, scores)
    row = 0
    for i in range(1, len(scores)):
        if scores[i] > scores[row]:
            row = i
    return row
