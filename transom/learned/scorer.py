"""The shared encoder: candidates scored one by one by the same small network, whatever their number and order.

The score of a candidate with features x among candidates with the common context g is

.. math:: w^T a(U^T a(V^T x + C^T g + b) + c), \\quad a(y) = \\max(y, y / 100).

Permuting the candidates permutes their scores, and there may be any number of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.errors import DocumentError
from transom.models.arrays import FloatArray, SingleArray

ACTOR = "actor."
"""What the names of a scorer's weights begin with in a checkpoint."""

LEAK = np.float32(0.01)
"""Slope of the activation below zero (leaky rectifier)."""


class ScorerWeights(NamedTuple):
    """Weights of a scorer, float32, of F features, G numbers of context and two hidden layers of H and K units."""

    features: NDArray[np.float32]
    """V, shape ``(F, H)``."""
    context: NDArray[np.float32]
    """C, shape ``(G, H)``."""
    bias: NDArray[np.float32]
    """b, shape ``(H,)``."""
    hidden: NDArray[np.float32]
    """U, shape ``(H, K)``."""
    hidden_bias: NDArray[np.float32]
    """c, shape ``(K,)``."""
    out: NDArray[np.float32]
    """w, shape ``(K,)``."""


def scorer_weights(weights: Mapping[str, NDArray[np.float32]], features: int, context: int) -> ScorerWeights:
    """The scorer in the weights of a checkpoint, as kernels want it: ``actor.features``, ``actor.context`` ....

    Parameters
    ----------
    weights : by name; those that do not begin with ``actor.`` are of something else, such as a critic.
    features, context : F and G.

    Raises
    ------
    DocumentError : names are absent or others, or shapes do not fit.
    """
    found = {name.removeprefix(ACTOR): array for name, array in weights.items() if name.startswith(ACTOR)}
    if found.keys() != set(ScorerWeights._fields):
        text = ", ".join(map(ascii, sorted(found)))
        raise DocumentError(
            f"not the weights of a scorer: {text or 'none'}; wanted: {', '.join(ScorerWeights._fields)}"
        )
    made = ScorerWeights(**found)
    first, second = made.bias.size, made.hidden_bias.size
    shapes = [(features, first), (context, first), (first,), (first, second), (second,), (second,)]
    if [array.shape for array in made] != shapes:
        raise DocumentError(f"its weights have shapes {[array.shape for array in made]}, not {shapes}")
    # Copies: arrays out of a file are read-only, for which kernels would be compiled once more.
    return ScorerWeights(*(np.array(array) for array in made))


@compiled
def score(weights: ScorerWeights, features: SingleArray, context: SingleArray, count: int, scores: SingleArray) -> None:
    """Fill ``scores[:count]`` for the candidates ``features[:count]``, float32, shape ``(at least count, F)``."""
    v, c, b, u, d, w = weights
    first, second = len(b), len(d)
    common = b.copy()
    for i in range(len(context)):
        x = context[i]
        for k in range(first):
            common[k] += x * c[i, k]
    one, two = np.empty(first, np.float32), np.empty(second, np.float32)
    for row in range(count):
        put(one, common)
        for i in range(v.shape[0]):
            x = features[row, i]
            for k in range(first):
                one[k] += x * v[i, k]
        put(two, d)
        for i in range(first):
            x = max(one[i], one[i] * LEAK)
            for k in range(second):
                two[k] += x * u[i, k]
        total = np.float32(0)
        for k in range(second):
            total += w[k] * max(two[k], two[k] * LEAK)
        scores[row] = total


@compiled
def softmax(scores: SingleArray, count: int, chances: FloatArray) -> None:
    """Fill ``chances[:count]`` with the softmax of the scores, float64."""
    highest = scores[0]
    for k in range(1, count):
        highest = max(highest, scores[k])
    total = 0.0
    for k in range(count):
        chances[k] = np.exp(np.float64(scores[k] - highest))
        total += chances[k]
    for k in range(count):
        chances[k] /= total


@compiled
def sample(rng: np.random.Generator, chances: FloatArray, count: int) -> int:
    """Draw a candidate by its chance."""
    left = rng.random()
    for k in range(count):
        left -= chances[k]
        if left < 0:
            return k
    # Rounding may leave a rest: the last one that has a chance at all.
    for k in range(count - 1, -1, -1):
        if chances[k] > 0:
            return k
    return 0


@compiled
def highest(scores: SingleArray, count: int) -> int:
    """The candidate with the highest score, the first of equals."""
    best = 0
    for k in range(1, count):
        if scores[k] > scores[best]:
            best = k
    return best


def scored(weights: ScorerWeights, features: NDArray[np.float32], context: NDArray[np.float32]) -> FloatArray:
    """The scores of candidates in plain numpy, shape ``(candidates,)``: what :func:`score` is tested against."""
    one = features @ weights.features + context @ weights.context + weights.bias
    two = np.maximum(one, one * LEAK) @ weights.hidden + weights.hidden_bias
    return np.asarray(np.maximum(two, two * LEAK) @ weights.out, np.float64)
