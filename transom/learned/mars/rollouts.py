"""Sequences under the network, each in one compiled call: with the likeliest job, or drawn and recorded."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom.learned.kernel.scoring import FEATURES, KernelWeights, observe
from transom.learned.mars.process import Sequence, advance, begin, mean_slowdown, take, visible_jobs
from transom.learned.mars.softmax import likeliest, logs_of, node_seconds
from transom.learned.scorer import sample
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import QUEUED

TAU = 10  # bound of the bounded slowdown [s]
_WIDTH = len(FEATURES)


class Episode(NamedTuple):
    """Decisions of a sequence, and its mean bounded slowdown.

    ``features`` ``(rows, 8)``: of the jobs shown, decision after decision, float32; ``counts`` ``(decisions,)``: how
    many these were; ``actions`` ``(decisions,)``: which was picked; ``logs`` ``(decisions,)``: logarithm of its chance.
    """

    features: NDArray[np.float32]
    counts: IntArray
    actions: IntArray
    logs: FloatArray
    slowdown: float


@compiled
def greedy(weights: KernelWeights, sequence: Sequence, slots: int, weight: float) -> float:
    """Mean bounded slowdown of a sequence under the likeliest picks; ``weight`` is that of costs."""
    state = begin(sequence)
    while advance(state):
        shown = visible_jobs(state, slots)
        take(state, likeliest(weights, shown, node_seconds(shown), weight))
    return mean_slowdown(state, TAU)


@compiled
def drawn(weights: KernelWeights, sequence: Sequence, slots: int, rng: np.random.Generator) -> Episode:
    """Play a sequence with picks drawn by their chances, and record them."""
    most = 3 * len(sequence.jobs)  # a decision starts a job, or is the last one of an instant
    counts, actions, logs = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
    features, rows, made = np.empty((16 * most, _WIDTH), np.float32), 0, 0
    state = begin(sequence)
    while advance(state):
        shown = visible_jobs(state, slots)
        chances = logs_of(weights, shown, node_seconds(shown), 0.0)
        count = min(slots, state.at[QUEUED])
        if rows + count > len(features):
            more = np.empty((2 * len(features) + count, _WIDTH), np.float32)
            more[:rows] = features[:rows]
            features = more
        observe(shown, features[rows : rows + count])
        row = sample(rng, np.exp(chances), count)
        counts[made], actions[made], logs[made] = count, row, chances[row]
        rows, made = rows + count, made + 1
        take(state, row)
    return Episode(
        features[:rows].copy(),
        counts[:made].copy(),
        actions[:made].copy(),
        logs[:made].copy(),
        mean_slowdown(state, TAU),
    )
