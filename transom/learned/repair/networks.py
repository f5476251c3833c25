"""The six networks of Lan et al. (2023), Table II: what observes a destroyed window and scores the first nodes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

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


class Layer(NamedTuple):
    """A layer of Table II: its place in the sequence, channels or units before and behind it; ``kernel`` and ``stride``
    of a convolution (a linear layer has kernel 0); and whether a hyperbolic tangent follows."""

    place: int
    inputs: int
    outputs: int
    kernel: int = 0
    stride: int = 1
    tanh: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the weights, as torch has it."""
        return (self.outputs, self.inputs, self.kernel) if self.kernel else (self.outputs, self.inputs)


def layers(name: str, rows: int, outputs: int = SEEN) -> list[Layer]:
    """The layers of a network that have weights, in order; arguments are those of :func:`network`."""
    check(name, rows)
    if name in _DENSE:
        units = (rows * SEEN, *_DENSE[name], outputs)
        last = len(units) - 2
        return [Layer(2 * k, one, two, tanh=k < last) for k, (one, two) in enumerate(pairwise(units))]
    first, second = _CHANNELS[name]
    length = SEEN
    for kernel, stride in zip(_KERNELS, _STRIDES, strict=True):
        length = (length - kernel) // stride + 1
    return [
        Layer(0, rows, first, _KERNELS[0], _STRIDES[0], tanh=True),
        Layer(2, first, second, _KERNELS[1], _STRIDES[1]),
        Layer(4, second * length, _JOINED),
        Layer(5, _JOINED, outputs),
    ]


def shapes(name: str, rows: int, outputs: int = SEEN) -> dict[str, tuple[int, ...]]:
    """Shapes of the weights of :func:`network`, by the names that a checkpoint gives them."""
    found: dict[str, tuple[int, ...]] = {}
    for layer in layers(name, rows, outputs):
        found[f"actor.{layer.place}.weight"], found[f"actor.{layer.place}.bias"] = layer.shape, layer.shape[:1]
    return found


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

    made: list[nn.Module] = []
    for layer in layers(name, rows, outputs):
        if layer.kernel:
            made.append(nn.Conv1d(layer.inputs, layer.outputs, layer.kernel, layer.stride))
        else:
            made += [nn.Flatten()] if made and isinstance(made[-1], nn.Conv1d) else []
            made.append(nn.Linear(layer.inputs, layer.outputs))
        made += [nn.Tanh()] if layer.tanh else []
    # What PPO is usually begun with: all first nodes nearly alike, and values near zero.
    weighty = [each for each in made if hasattr(each, "weight")]
    for each in weighty:
        last = each is weighty[-1]
        nn.init.orthogonal_(each.weight, gain=(0.01 if outputs > 1 else 1.0) if last else 2**0.5)
        nn.init.zeros_(each.bias)
    if name in _CHANNELS:
        # Neighbouring leaf switches differ by a hundredth, and where a job crosses from one to the next is all that
        # matters: filters begin with differences of switches, not with sums, and with large ones.
        with torch.no_grad():
            switches = made[0].weight[:, :2]
            switches.copy_(_SHARPER * (switches - switches.mean(2, keepdim=True)))
    return nn.Sequential(*made)


def weights_of(actor: nn.Sequential) -> dict[str, NDArray[np.float32]]:
    """Weights of an actor as a checkpoint holds them: ``actor.<i>.weight`` and ``.bias``, i the place of the layer."""
    return {f"actor.{name}": value.detach().cpu().numpy() for name, value in actor.state_dict().items()}
