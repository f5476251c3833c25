"""The networks of DeepJS: fully connected, tanh, one score for each pair of task and machine.

Weights are one vector of float32; :func:`forward` computes the scores of many pairs within kernels, :func:`gradient`
what a weighted sum of scores gains by each weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import no_refcount
from transom.errors import DocumentError
from transom.learned.checkpoints import Card, Weights, must
from transom.models.arrays import IntArray, SingleArray

SCHEMA = "deepjs/1"
"""Name and version of the features."""

NETWORKS = {"paper": (6, 3, 9, 6, 1), "code": (6, 3, 9, 18, 9, 1)}
"""Units by layer: Table 1 of the paper, and the network of its public code."""

FEATURES = ("free cpu", "free memory", "cpu", "memory", "duration", "waiting instances")
"""What a pair is to the network: cores, shares of a machine's memory, seconds and instances."""

MEAN = np.array([0, 0, 0.65, 0.009, 74, 80.3], np.float32)
SCALE = np.array([64, 1, 0.23, 0.005, 108, 643.5], np.float32)
"""Features enter as ``(x - MEAN) / SCALE``."""


class Network(NamedTuple):
    """``weights``: the matrix ``(inputs, units)`` and the bias of one layer after another; ``sizes``: of layers."""

    weights: SingleArray
    sizes: IntArray


def first_network(name: str, rng: np.random.Generator) -> Network:
    """An untrained network: matrices uniform as Glorot and Bengio (2010) have them, biases 0."""
    sizes = NETWORKS[name]
    parts = []
    for inputs, units in pairwise(sizes):
        ends = (6 / (inputs + units)) ** 0.5
        parts += [rng.uniform(-ends, ends, inputs * units), np.zeros(units)]
    return Network(np.concatenate(parts).astype(np.float32), np.array(sizes))


@cache
def layers(sizes: tuple[int, ...]) -> dict[str, tuple[slice, tuple[int, ...]]]:
    """Where in the vector each matrix and bias is, and its shape, by name."""
    found: dict[str, tuple[slice, tuple[int, ...]]] = {}
    at = 0
    for layer, (inputs, units) in enumerate(pairwise(sizes), 1):
        for name, shape in ((f"layer-{layer}", (inputs, units)), (f"bias-{layer}", (units,))):
            size = int(np.prod(shape))
            found[name] = slice(at, at + size), shape
            at += size
    return found


def named(network: Network) -> dict[str, SingleArray]:
    """The weights by name, as a checkpoint has them."""
    parts = layers(tuple(network.sizes.tolist()))
    return {name: network.weights[part].reshape(shape) for name, (part, shape) in parts.items()}


def check(card: Card, weights: Weights) -> None:
    """Refuse a card whose settings no agent can act by, or whose weights are of another network.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    network_of(card.network, weights)
    greedy = card.settings.get("greedy")
    must("settings.greedy", greedy, type(greedy) is bool, "true or false")


def network_of(name: str, weights: Mapping[str, NDArray[np.float32]]) -> Network:
    """The network of a name with the weights of a checkpoint.

    Raises
    ------
    DocumentError : there is no such network, or the weights are of another one.
    """
    if name not in NETWORKS:
        raise DocumentError(f"card: network must be one of {', '.join(NETWORKS)}, got {name!a:.60}")
    sizes = NETWORKS[name]
    wanted = {each: shape for each, (_, shape) in layers(sizes).items()}
    if {each: array.shape for each, array in weights.items()} != wanted:
        raise DocumentError(f"card: network is {name!r}, and the weights are of another one")
    return Network(np.concatenate([np.ravel(weights[each]) for each in wanted]), np.array(sizes))


_MOST = np.float32(7.90531110763549805)
_ABOVE = (
    np.float32(-2.76076847742355e-16), np.float32(2.00018790482477e-13), np.float32(-8.60467152213735e-11),
    np.float32(5.12229709037114e-08), np.float32(1.48572235717979e-05), np.float32(6.37261928875436e-04),
    np.float32(4.89352455891786e-03),
)  # fmt: skip
_BELOW = (
    np.float32(1.19825839466702e-06), np.float32(1.18534705686654e-04), np.float32(2.26843463243900e-03),
    np.float32(4.89352518554385e-03),
)  # fmt: skip


@no_refcount
def forward(network: Network, inputs: SingleArray, values: SingleArray, count: int) -> int:
    """Put the pairs ``inputs[:count]``, shape ``(count, 6)``, through the network.

    ``values``, of :func:`room`, is filled layer by layer and unit by unit, ``count`` pairs for each, so that one
    operation does several pairs. The hyperbolic tangent is a quotient of polynomials, exact but for the last bits of
    float32.

    Returns
    -------
    Where in ``values`` the scores begin.
    """
    weights, sizes = network.weights, network.sizes
    for i in range(sizes[0]):
        out = values[i * count : (i + 1) * count]
        for n in range(count):
            out[n] = inputs[n, i]
    at, before, last = 0, 0, len(sizes) - 2
    for layer in range(last + 1):
        given, units = sizes[layer], sizes[layer + 1]
        here = before + given * count
        for unit in range(units):
            out = values[here + unit * count : here + (unit + 1) * count]
            bias = weights[at + given * units + unit]
            for n in range(count):
                out[n] = bias
            for i in range(given):
                weight, x = weights[at + i * units + unit], values[before + i * count : before + (i + 1) * count]
                for n in range(count):
                    out[n] += weight * x[n]
            if layer < last:
                for n in range(count):
                    z = min(max(out[n], -_MOST), _MOST)
                    y = z * z
                    above = _ABOVE[0] * y + _ABOVE[1]
                    above = above * y + _ABOVE[2]
                    above = above * y + _ABOVE[3]
                    above = above * y + _ABOVE[4]
                    above = above * y + _ABOVE[5]
                    above = above * y + _ABOVE[6]
                    below = _BELOW[0] * y + _BELOW[1]
                    below = below * y + _BELOW[2]
                    below = below * y + _BELOW[3]
                    out[n] = np.divide(z * above, below)  # `/` looks for zero, one number at a time
        at += (given + 1) * units
        before = here
    return before


def room(network: Network, pairs: int) -> SingleArray:
    """Room for what a network makes of so many pairs."""
    return np.empty(int(network.sizes.sum()) * pairs, np.float32)


def gradient(network: Network, values: SingleArray, factors: SingleArray) -> SingleArray:
    """The gradient of the sum of ``factors x score`` over N pairs, by weight.

    Parameters
    ----------
    values : what :func:`forward` left of these pairs, shape ``(units of all layers x N,)``.
    factors : of each pair, shape ``(N,)``.
    """
    parts, sizes = named(network), network.sizes.tolist()
    made, at = [], 0
    for units in sizes:
        made.append(values[at : at + units * len(factors)].reshape(units, -1))
        at += units * len(factors)
    errors, gained = factors[None, :], []
    for layer in range(len(sizes) - 1, 0, -1):
        given = made[layer - 1]
        gained += [errors.sum(axis=1), (given @ errors.T).ravel()]
        if layer > 1:
            errors = (parts[f"layer-{layer}"] @ errors) * (1 - given * given)
    return np.concatenate(gained[::-1])


def scored(network: Network, inputs: SingleArray) -> SingleArray:
    """The scores of pairs ``(N, 6)`` in plain numpy, shape ``(N,)``: what :func:`forward` is tested against."""
    parts, inputs = named(network), inputs.T
    number = len(network.sizes) - 1
    for layer in range(1, number + 1):
        inputs = parts[f"layer-{layer}"].T @ inputs + parts[f"bias-{layer}"][:, None]
        if layer < number:
            inputs = np.tanh(inputs)
    return np.asarray(inputs[0])
