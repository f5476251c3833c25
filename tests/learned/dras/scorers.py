"""Scorers for the tests of the decision process."""

from __future__ import annotations

import numpy as np

from transom.learned.dras.process.features import CONTEXT, FEATURES
from transom.learned.scorer import ScorerWeights


def shapes(hidden: int) -> list[tuple[int, ...]]:
    """Shapes of the weights of a scorer of these observations."""
    f, g, h = len(FEATURES), len(CONTEXT), hidden
    return [(f, h), (g, h), (h,), (h, h), (h,), (h,)]


def drawn(seed: int, hidden: int = 8) -> ScorerWeights:
    """A scorer with random weights."""
    rng = np.random.default_rng(seed)
    return ScorerWeights(*(rng.normal(size=shape).astype(np.float32) for shape in shapes(hidden)))


def prefers(feature: str, sign: int = 1, hidden: int = 8) -> ScorerWeights:
    """A scorer that likes a feature, or with ``sign`` -1 dislikes it."""
    weights = ScorerWeights(*(np.zeros(shape, np.float32) for shape in shapes(hidden)))
    weights.features[FEATURES.index(feature), 0] = sign
    weights.hidden[0, 0] = weights.out[0] = 1
    return weights
