"""The six networks of Lan et al. (2023), Table II: what observes a destroyed window and scores the first nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from transom.errors import SpecError
from transom.learned.repair.process import SCHEMAS, SEEN

if TYPE_CHECKING:
    from torch import nn

_DENSE = {"fcn-1": (64, 64), "fcn-2": (64, 64, 64), "fcn-3": (96, 64)}
_CHANNELS = {"cnn-1": (4, 4), "cnn-2": (8, 4), "cnn-3": (16, 8)}
_KERNELS, _STRIDES = (10, 5), (1, 2)
_JOINED = 256  # units of the layer that joins the channels of a convolution
_SHARPER = 20.0  # how much larger than others the first weights of leaf switches and pods begin

NETWORKS = (*_DENSE, *_CHANNELS)
"""Names of the networks."""


def check(name: str, rows: int) -> None:
    """Check the name of a network and the number of rows.

    Raises
    ------
    SpecError : the paper has no such network, or observations no such number of rows.
    """
    if name not in NETWORKS:
        raise SpecError(f"repair: network must be one of {', '.join(NETWORKS)}, got {name!r}")
    if rows not in SCHEMAS.values():
        raise SpecError(f"repair: rows must be one of {', '.join(map(str, SCHEMAS.values()))}, got {rows}")


def shapes(name: str, rows: int, outputs: int = SEEN) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights of :func:`network`, by the names that a checkpoint gives them."""
    check(name, rows)
    found: dict[str, tuple[int, ...]] = {}

    def layer(place: int, *weight: int) -> None:
        found[f"actor.{place}.weight"], found[f"actor.{place}.bias"] = weight, weight[:1]

    if name in _DENSE:
        inputs = rows * SEEN
        for k, units in enumerate(_DENSE[name]):
            layer(2 * k, units, inputs)
            inputs = units
        layer(2 * len(_DENSE[name]), outputs, inputs)
        return found
    first, second = _CHANNELS[name]
    layer(0, first, rows, _KERNELS[0])
    layer(2, second, first, _KERNELS[1])
    layer(4, _JOINED, second * _length())
    layer(5, outputs, _JOINED)
    return found


def _length() -> int:
    """Entries of a channel behind both convolutions."""
    length = SEEN
    for kernel, stride in zip(_KERNELS, _STRIDES, strict=True):
        length = (length - kernel) // stride + 1
    return length


def network(name: str, rows: int = 5, outputs: int = SEEN) -> nn.Sequential:
    """A network with weights drawn by torch: orthogonal, without bias, filters of switches sharper than the others.

    Parameters
    ----------
    name : one of :data:`NETWORKS`.
    rows : rows of an observation; Table II prints 4, its numbers of parameters belong to 5.
    outputs : units of the last layer, 100 for the actor and 1 for the critic (section VI-B).

    Returns
    -------
    Layers that take observations of shape ``(batch, rows, 100)`` (``cnn``) or ``(batch, rows * 100)`` (``fcn``)
    to ``(batch, outputs)``.

    Raises
    ------
    SpecError : there is no such network.

    References
    ----------
    Lan et al. (2023), Table II, layer by layer as printed: between the two last layers of the ``cnn`` stands nothing.
    """
    import torch
    from torch import nn

    check(name, rows)
    layers: list[nn.Module] = []
    if name in _DENSE:
        inputs = rows * SEEN
        for units in _DENSE[name]:
            layers += [nn.Linear(inputs, units), nn.Tanh()]
            inputs = units
    else:
        first, second = _CHANNELS[name]
        layers += [nn.Conv1d(rows, first, _KERNELS[0], _STRIDES[0]), nn.Tanh()]
        layers += [nn.Conv1d(first, second, _KERNELS[1], _STRIDES[1]), nn.Flatten()]
        inputs = _JOINED
        layers.append(nn.Linear(second * _length(), _JOINED))
    layers.append(nn.Linear(inputs, outputs))
    # What PPO is usually begun with: all first nodes nearly alike, and values near zero.
    weighty = [layer for layer in layers if hasattr(layer, "weight")]
    for layer in weighty:
        last = layer is weighty[-1]
        nn.init.orthogonal_(layer.weight, gain=(0.01 if outputs > 1 else 1.0) if last else 2**0.5)
        nn.init.zeros_(layer.bias)
    if name in _CHANNELS:
        # Neighbouring leaf switches differ by a hundredth, and where a job crosses from one to the next is all that
        # matters: filters begin with differences of switches, not with sums, and with large ones.
        with torch.no_grad():
            switches = layers[0].weight[:, :2]
            switches.copy_(_SHARPER * (switches - switches.mean(2, keepdim=True)))
    return nn.Sequential(*layers)


def weights_of(actor: nn.Sequential) -> dict[str, NDArray[np.float32]]:
    """Weights of an actor as a checkpoint holds them: ``actor.<i>.weight`` and ``.bias``, i the place of the layer."""
    return {f"actor.{name}": value.detach().cpu().numpy() for name, value in actor.state_dict().items()}
