"""What the three ways of updating an agent share: decisions as tensors, Adam and its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from transom.learned.training.state import Arrays, network_arrays, set_network

if TYPE_CHECKING:
    from torch import Tensor, nn

    from transom.learned.dras.training.collect import Batch

Figures = dict[str, float]
"""What an update reports, by name."""

Bonus = Annotated[float, Meta(ge=-1000, le=1000)]
"""The weight of a bonus for entropy."""


class Observations(NamedTuple):
    """Recorded decisions as tensors on the network's device: those of a batch, in order."""

    features: Tensor
    context: Tensor
    count: Tensor
    action: Tensor

    def at(self, index: Any) -> Observations:
        """Some of the decisions."""
        return Observations(*(part[index] for part in self))


class Learner:
    """A network, its optimiser and their state.

    Parameters
    ----------
    network : maps (features, context, count) to scores ``(T, W)``, minus infinity beyond the count; PPO and duelling
        Q-learning also ask for ``values``.
    learning_rate : of Adam, to begin with.
    largest_gradient : norm to which gradients are cut.

    References
    ----------
    Kingma and Ba, Adam: a method for stochastic optimization, ICLR 2015.
    """

    looks_ahead = True
    """Whether the last decision of a batch only shows the state that the one before it led to."""

    needs_critic = False
    """Whether the network must have ``values``."""

    def __init__(self, network: nn.Module, learning_rate: float, largest_gradient: float = 1.0) -> None:
        import torch

        self.network = network
        self._learning_rate = learning_rate
        self._largest_gradient = largest_gradient
        self._optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate, eps=1e-5)

    @property
    def device(self) -> Any:
        """Where the network's weights are."""
        return next(self.network.parameters()).device

    @property
    def exploration(self) -> float:
        """Chance of a random action while decisions are recorded; negative: actions are drawn by their chances."""
        return -1.0

    def update(self, batch: Batch, rng: np.random.Generator, progress: float = 0.0) -> Figures:
        """Learn from recorded decisions; ``progress`` is the share of the training that is over."""
        raise NotImplementedError

    def state(self) -> Arrays:
        """All that the next update depends on: weights, moments of the optimiser and what the rule remembers."""
        return network_arrays(self.network, self._optimiser)

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`state` gave.

        Raises
        ------
        RuntimeError : these are not the weights of such a network.
        """
        set_network(self.network, self._optimiser, arrays)

    def at_rate(self, learning_rate: float | None = None) -> Any:
        """The optimiser, at a learning rate; None: that to begin with."""
        for group in self._optimiser.param_groups:
            group["lr"] = self._learning_rate if learning_rate is None else learning_rate
        return self._optimiser

    def descend(self, loss: Tensor, learning_rate: float | None = None) -> float:
        """One step of Adam down a loss; returns the norm of its gradient before it was cut."""
        from transom.learned.training.ppo import descend

        parameters = list(self.network.parameters())
        return descend(self.at_rate(learning_rate), loss, parameters, self._largest_gradient)


def observed(batch: Batch, device: Any) -> Observations:
    """The decisions of a batch as tensors."""
    import torch

    parts = batch.features, batch.context, batch.count, batch.action
    return Observations(*(torch.from_numpy(np.ascontiguousarray(part)).to(device) for part in parts))


def discounts(batch: Batch, gamma: float) -> NDArray[np.float64]:
    """Discounts between decisions, shape ``(T - 1,)``: ``gamma`` for every scheduling instance that lies between.

    How many instances a trace has is settled by its jobs, two for each; how many decisions are taken, an agent can
    change. Decisions of one instance are not discounted against each other.
    """
    return np.asarray(float(gamma) ** np.maximum(np.diff(batch.instant), 0))
