"""The six networks of Lan et al. (2023), Table II, compiled: observation in, a score for each of 100 first nodes out.

A pass costs some ten microseconds, less than calling a library for it would: all inner loops add a multiple of one
contiguous row to another, and where nothing stands between two linear layers they are multiplied out beforehand.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.learned.checkpoints import Weights
from transom.learned.repair.networks import layers
from transom.learned.repair.process import SEEN
from transom.models.arrays import IntArray, SingleArray

# Columns of what is known about a layer. Inputs and outputs of a convolution are channels, all of the same length.
_LENGTH, _INPUTS, _OUTPUTS, _KERNEL, _STRIDE, _TANH, _WEIGHTS, _BIAS = range(8)


class Network(NamedTuple):
    """A network as the kernel wants it.

    ``layers``: shape ``(layers, 8)``, by the columns above; ``values``: all weights, shape ``(weights,)``.
    """

    layers: IntArray
    values: NDArray[np.float32]


class _Layer(NamedTuple):
    """Weights of a layer: of a convolution as torch has them, of a linear one with the inputs first."""

    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    tanh: bool
    stride: int = 0
    """0: linear."""


def prepare(weights: Weights, name: str, rows: int) -> Network:
    """Lay the weights of an actor out for :func:`forward`.

    Parameters
    ----------
    weights : of such shapes as :func:`~transom.learned.repair.networks.shapes` says.
    name, rows : of the network, and of an observation.
    """
    table, parts, at, length = [], [], 0, SEEN
    for layer in _joined(weights, name, rows):
        if layer.stride:
            outputs, inputs, kernel = layer.weight.shape
            stride, after = layer.stride, (length - kernel) // layer.stride + 1
        else:
            inputs, outputs = layer.weight.shape
            length = kernel = stride = after = 1
        size = layer.weight.size
        table.append((length, inputs, outputs, kernel, stride, layer.tanh, at, at + size))
        parts += [layer.weight.ravel(), layer.bias]
        at += size + outputs
        length = after
    return Network(np.array(table, np.int64), np.concatenate(parts).astype(np.float32))


def room(network: Network) -> NDArray[np.float32]:
    """What a pass writes into, shape ``(3, largest layer)``; passes one after the other may share it."""
    layers = network.layers
    length = layers[:, _LENGTH]
    # Read with a stride, a channel is split into parts that may be one longer than it together.
    before = layers[:, _INPUTS] * (length + layers[:, _STRIDE])
    after = layers[:, _OUTPUTS] * length
    return np.empty((3, int(max(before.max(), after.max()))), np.float32)


@compiled
def forward(network: Network, seen: SingleArray, space: SingleArray) -> SingleArray:
    """The scores of the first nodes for an observation, a part of ``space``, shape ``(100,)``.

    Parameters
    ----------
    network : of :func:`prepare`.
    seen : the observation, float32, shape ``(rows, 100)``.
    space : of :func:`room`; the scores are lost with the next pass.
    """
    layers, values = network
    x, y, parts = space[0], space[1], space[2]
    for row in range(seen.shape[0]):
        put(x[row * seen.shape[1] : (row + 1) * seen.shape[1]], seen[row])
    count = seen.size
    for i in range(len(layers)):
        layer = layers[i]
        weight = values[layer[_WEIGHTS] : layer[_BIAS]]
        bias = values[layer[_BIAS] : layer[_BIAS] + layer[_OUTPUTS]]
        if layer[_KERNEL] > 1:
            count = _convolve(layer, weight, bias, x, y, parts)
        else:
            count = _multiply(weight, bias, x, y)
        if layer[_TANH]:
            _tanh(y[:count])
        x, y = y, x
    scores: SingleArray = x[:count]
    return scores


@compiled
def _multiply(weight: SingleArray, bias: SingleArray, x: SingleArray, y: SingleArray) -> int:
    outputs = len(bias)
    target = y[:outputs]
    put(target, bias)
    for i in range(len(weight) // outputs):
        # Behind the last idle node observations are 0.
        if x[i] != 0:
            _add(target, weight[i * outputs : (i + 1) * outputs], x[i])
    return outputs


@compiled
def _convolve(
    layer: IntArray, weight: SingleArray, bias: SingleArray, x: SingleArray, y: SingleArray, parts: SingleArray
) -> int:
    length, channels, outputs, kernel, stride = layer[0], layer[1], layer[2], layer[3], layer[4]
    after = (length - kernel) // stride + 1
    # Every stride-th entry of a channel side by side, so that what meets one weight lies in a row.
    part = (length + stride - 1) // stride
    for channel in range(channels):
        for first in range(stride):
            begin = (channel * stride + first) * part
            for t in range((length - first + stride - 1) // stride):
                parts[begin + t] = x[channel * length + first + t * stride]
    for output in range(outputs):
        target = y[output * after : (output + 1) * after]
        target[:] = bias[output]
        for channel in range(channels):
            taps = weight[(output * channels + channel) * kernel : (output * channels + channel + 1) * kernel]
            k = 0
            while k + 5 <= kernel:
                _add_five(
                    target,
                    _row(parts, channel, k, stride, part, after),
                    _row(parts, channel, k + 1, stride, part, after),
                    _row(parts, channel, k + 2, stride, part, after),
                    _row(parts, channel, k + 3, stride, part, after),
                    _row(parts, channel, k + 4, stride, part, after),
                    taps[k : k + 5],
                )
                k += 5
            while k < kernel:
                _add(target, _row(parts, channel, k, stride, part, after), taps[k])
                k += 1
    return int(outputs * after)


@compiled
def _row(parts: SingleArray, channel: int, k: int, stride: int, part: int, after: int) -> SingleArray:
    """What meets weight ``k`` of a channel."""
    begin = (channel * stride + k % stride) * part + k // stride
    return parts[begin : begin + after]


@compiled
def _add_five(
    target: SingleArray,
    a: SingleArray,
    b: SingleArray,
    c: SingleArray,
    d: SingleArray,
    e: SingleArray,
    factors: SingleArray,
) -> None:
    """As :func:`_add`, of five rows at once, which spares four of five ways to the memory and back."""
    u, v, w, x, y = factors[0], factors[1], factors[2], factors[3], factors[4]
    for t in range(len(target)):
        target[t] += u * a[t] + v * b[t] + w * c[t] + x * d[t] + y * e[t]


@compiled
def _add(target: SingleArray, row: SingleArray, factor: float) -> None:
    for t in range(len(target)):
        target[t] += factor * row[t]


@compiled
def _tanh(values: SingleArray) -> None:
    """Replace numbers by their hyperbolic tangents, to seven digits.

    The library's function takes them one by one and longer than all the rest of a pass. Lambert's continued fraction,
    cut off behind the 13, is exact to eight digits below 2.5; the tangent of twice an argument, taken twice, brings
    all others there, and beyond 9 it is 1.
    """
    one, two = np.float32(1), np.float32(2)
    for t in range(len(values)):
        x = min(max(values[t], np.float32(-9)), np.float32(9)) * np.float32(0.25)
        s = x * x
        above = x * (np.float32(135135) + s * (np.float32(17325) + s * (np.float32(378) + s)))
        below = np.float32(135135) + s * (np.float32(62370) + s * (np.float32(3150) + s * np.float32(28)))
        q = above / below
        q = two * q / (one + q * q)
        values[t] = two * q / (one + q * q)


def _joined(weights: Weights, name: str, rows: int) -> list[_Layer]:
    """The layers, where linear ones that follow each other with nothing between are one if that is less work."""
    joined: list[_Layer] = []
    for each in layers(name, rows):
        weight, bias = weights[f"actor.{each.place}.weight"], weights[f"actor.{each.place}.bias"]
        layer = _Layer(weight if each.kernel else weight.T, bias, each.tanh, each.stride if each.kernel else 0)
        before = joined[-1] if joined else None
        if before and not before.tanh and not before.stride and not layer.stride:
            a, b = before.weight.astype(np.float64), layer.weight.astype(np.float64)
            if a.shape[1] == b.shape[0] and a.size + b.size > a.shape[0] * b.shape[1]:
                together = before.bias @ b + layer.bias
                joined[-1] = _Layer((a @ b).astype(np.float32), together.astype(np.float32), layer.tanh)
                continue
        joined.append(layer)
    return joined
