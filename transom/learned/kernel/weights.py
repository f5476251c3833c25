"""Weights of the network: before training, as one vector that a search moves, and out of a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError
from transom.learned.checkpoints import Card, must
from transom.learned.kernel.scoring import FEATURES, HIDDEN, SCHEMA, KernelWeights
from transom.models.arrays import FloatArray

NETWORK = f"kernel-{'x'.join(map(str, HIDDEN))}"
"""What cards call the architecture."""

_ONE, _TWO, _THREE = HIDDEN
SHAPES = ((len(FEATURES), _ONE), (_ONE,), (_ONE, _TWO), (_TWO,), (_TWO, _THREE), (_THREE,), (_THREE,))
"""Shapes of the fields of :class:`~transom.learned.kernel.scoring.KernelWeights`."""

STARTS: dict[str, tuple[float, ...]] = {
    "walltime and delay": (0, -1, 0, 0, 0, -5, 0, 0),
    "walltime": (0, -1, 0, 0, 0, 0, 0, 0),
    "area": (0, 0, 0, -1, 0, 0, 0, 0),
    "fitting area": (0, 0, 0, -1, 10, 0, 0, 0),
    "fitting area, wait and delay": (1, 0, 0, -1, 10, -1, 0, 0),
    "wfp3": (3, -4, 0, 1, 0, 0, 0, 0),
    "wfp3 and delay": (3, -4, 0, 1, 0, -5, 0, 0),
}
"""Linear scores that a training may begin with: a factor for each feature."""


def kernel_weights(vector: FloatArray) -> KernelWeights:
    """The weights that a vector of all their numbers holds, rounded to float32."""
    ends = np.cumsum([prod(shape) for shape in SHAPES])
    parts = np.split(np.asarray(vector).astype(np.float32), ends[:-1])
    return KernelWeights(*(part.reshape(shape).copy() for part, shape in zip(parts, SHAPES, strict=True)))


def vector_of(weights: KernelWeights) -> FloatArray:
    """What :func:`kernel_weights` takes."""
    return np.concatenate([array.ravel() for array in weights]).astype(np.float64)


def first_weights(rng: np.random.Generator, start: str) -> KernelWeights:
    """Weights whose scores are those of a start of :data:`STARTS`.

    Two units of each layer carry the positive and the negative part of it; the others are drawn, and do not count yet.
    """
    arrays = [rng.normal(size=shape) / shape[0] ** 0.5 if len(shape) == 2 else np.zeros(shape) for shape in SHAPES]
    made = KernelWeights(*(array.astype(np.float32) for array in arrays))
    made.first[:, 0], made.first[:, 1] = STARTS[start], np.negative(STARTS[start])
    for layer in (made.second, made.third):
        layer[:, :2] = 0
        layer[0, 0] = layer[1, 1] = 1
    made.out[:2] = 1, -1
    return made


def check(card: Card, weights: Mapping[str, NDArray[np.float32]]) -> None:
    """Refuse a card of other observations, or whose weights are of another network.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    read_weights(weights)


def read_weights(weights: Mapping[str, NDArray[np.float32]]) -> KernelWeights:
    """The weights of a checkpoint.

    Raises
    ------
    DocumentError : names or shapes are others.
    """
    found = {name: array.shape for name, array in weights.items()}
    if found != dict(zip(KernelWeights._fields, SHAPES, strict=True)):
        raise DocumentError(f"not the weights of a kernel policy: {found!a:.200}")
    # Copies: arrays out of a file are read-only, for which kernels would be compiled once more.
    return KernelWeights(*(np.array(weights[name]) for name in KernelWeights._fields))
