"""What the three ways of updating an agent share: decisions as tensors, the masked softmax, Adam and its state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom.errors import DocumentError, SpecError

if TYPE_CHECKING:
    from torch import Tensor, nn

    from transom.learned.dras.updates.collect import Batch

Figures = dict[str, float]
"""What an update reports, by name."""

Arrays = dict[str, NDArray[Any]]
"""State by name."""


def check_ranges(rule: str, settings: object, **ranges: tuple[float, float]) -> None:
    """Refuse settings of a rule that no update can work with.

    Parameters
    ----------
    rule : its name.
    settings : has an attribute for each range.
    ranges : the least and the largest value of a setting; both are allowed, what is no number is not.

    Raises
    ------
    SpecError : a setting is out of its range.
    """
    for name, (least, most) in ranges.items():
        value = getattr(settings, name)
        if not least <= value <= most:
            raise SpecError(f"{rule}: {name} must be from {least:g} to {most:g}, got {value}")


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
        arrays = {f"weights.{name}": _plain(weight) for name, weight in self.network.state_dict().items()}
        for name, weight in self.network.named_parameters():
            for kind, value in self._optimiser.state.get(weight, {}).items():
                arrays[f"adam.{kind}.{name}"] = _plain(value)
        return arrays

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take over what :meth:`state` gave.

        Raises
        ------
        DocumentError : these are not the weights of such a network.
        """
        import torch

        named = {
            name.removeprefix("weights."): torch.from_numpy(array.copy())
            for name, array in arrays.items()
            if name.startswith("weights.")
        }
        try:
            self.network.load_state_dict(named)
        except RuntimeError as error:
            raise DocumentError(f"weights do not fit the network: {' '.join(str(error).split())}") from None
        for name, weight in self.network.named_parameters():
            kept = {kind: arrays.get(f"adam.{kind}.{name}") for kind in ("step", "exp_avg", "exp_avg_sq")}
            if all(array is not None for array in kept.values()):
                self._optimiser.state[weight] = {
                    # Adam keeps the number of its steps on the processor, wherever the weights are.
                    kind: torch.from_numpy(np.array(array)).to("cpu" if kind == "step" else weight.device)
                    for kind, array in kept.items()
                }

    def descend(self, loss: Tensor, learning_rate: float | None = None) -> float:
        """One step of Adam down a loss; returns the norm of its gradient before it was cut."""
        import torch

        for group in self._optimiser.param_groups:
            group["lr"] = self._learning_rate if learning_rate is None else learning_rate
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._largest_gradient)
        self._optimiser.step()
        return float(norm)


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


def log_chances(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Logarithms of the softmax over valid candidates, minus infinity for the others, and the entropies ``(T,)``."""
    import torch

    logs = torch.log_softmax(scores, dim=1)
    entropy = -(logs.exp() * logs.masked_fill(scores == -torch.inf, 0.0)).sum(dim=1)
    return logs, entropy


def relative_entropy(entropy: Tensor, count: Tensor) -> float:
    """Mean entropy over the logarithm of the number of candidates: 1 if all are equally likely."""
    import torch

    return float((entropy / torch.log(count.to(entropy.dtype))).mean())


def minibatches(number: int, size: int, rng: np.random.Generator) -> Iterator[Any]:
    """All positions below ``number`` in random order, in parts of about ``size``."""
    import torch

    order = torch.from_numpy(rng.permutation(number))
    return iter(torch.tensor_split(order, max(1, round(number / size))))


def _plain(value: Tensor) -> NDArray[Any]:
    return np.array(value.detach().cpu().numpy())
