"""The Q-learning of DRAS-DQL, Fan et al. (2021) eq. 4, with its errors corrected."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from transom._system.settings import Natural, Positive, Share, check_settings
from transom.learned.dras.training.learner import (
    Figures,
    Learner,
    Observations,
    discounts,
    observed,
)
from transom.learned.training.state import Arrays

if TYPE_CHECKING:
    from torch import Tensor, nn

    from transom.learned.dras.training.collect import Batch


@dataclass(frozen=True, slots=True)
class QLearningSettings:
    """How eq. 4 is applied.

    Parameters
    ----------
    learning_rate : alpha, of Adam.
    discount : per scheduling instance, below 1: without one, values of a process that does not end have no bound.
    epsilon, decay, least : chance of a random candidate: at first, its factor after each update, and its least value.
    target : updates after which the network that new values are taken from is replaced; 0: at every update.
    passes, minibatch : over a recording, and decisions in a step.
    dueling : Q is the score less the mean score of the candidates, plus what a critic says of the state. The best
        candidate is the same; what all candidates share need not pass through the scores.
    """

    learning_rate: Share = 1e-3
    discount: Annotated[float, Meta(ge=0, le=0.999999)] = 0.99
    epsilon: Share = 1.0
    decay: Share = 0.995
    least: Share = 0.01
    target: Natural = 0
    passes: Positive = 1
    minibatch: Positive = 512
    dueling: bool = True

    def __post_init__(self) -> None:
        check_settings("dql", self)


class QLearning(Learner):
    r"""Minimises :math:`(r_k + \gamma \max_a Q(s_{k+1}, a) - Q(s_k, a_k))^2`.

    The maximum is over valid candidates, and 0 after the last decision of an episode. Nothing is replayed: every
    recording is used once and dropped, as in the paper.

    References
    ----------
    Fan et al. (2021), section III-B, eq. 4 (which ascends as printed); Wang et al., Dueling network architectures for
    deep reinforcement learning, ICML 2016, eq. 9; van Hasselt et al., Deep reinforcement learning with double
    Q-learning, AAAI 2016, for the network that new values are taken from.
    """

    def __init__(self, network: nn.Module, settings: QLearningSettings) -> None:
        super().__init__(network, settings.learning_rate)
        self.settings = settings
        self._target = deepcopy(network)
        self._updates = 0
        self._scale = 0.0  # root of the mean squared reward: the unit of Q is this over 1 - gamma

    @property
    def exploration(self) -> float:
        """Chance of a random candidate at the present update."""
        return max(self.settings.least, self.settings.epsilon * self.settings.decay**self._updates)

    def update(self, batch: Batch, rng: np.random.Generator, progress: float = 0.0) -> Figures:
        """Learn from recorded decisions; see :meth:`Learner.update`."""
        import torch

        from transom.learned.training.ppo import minibatches

        s, learnt = self.settings, len(batch.action) - 1
        if s.target == 0 or self._updates % s.target == 0:
            self._target.load_state_dict(self.network.state_dict())
        data = observed(batch, self.device)
        reward = batch.reward[:learnt].astype(np.float64)
        share = 1 / min(self._updates + 1, 20)
        self._scale = float((1 - share) * self._scale + share * np.sqrt(np.square(reward).mean() + 1e-24))
        rewards = torch.from_numpy((reward * (1 - s.discount) / self._scale).astype(np.float32)).to(self.device)
        kept = discounts(batch, s.discount) * ~batch.done[:learnt]
        kept = torch.from_numpy(kept.astype(np.float32)).to(self.device)
        with torch.no_grad():
            best = self.values_of(data.at(slice(1, None)), self._target).max(dim=1).values
            new = rewards + kept * best
        losses: list[tuple[float, ...]] = []
        for _ in range(s.passes):
            for part in minibatches(learnt, s.minibatch, rng, self.device):
                some = data.at(part)
                old = self.values_of(some).gather(1, some.action.unsqueeze(1)).squeeze(1)
                error = (new[part] - old).square().mean()
                norm = self.descend(error, s.learning_rate * (1 - 0.9 * progress))
                losses.append((float(error.detach()), float(old.detach().mean()), norm))
        self._updates += 1
        figures = dict(zip(("error", "value", "gradient"), np.mean(losses, axis=0).tolist(), strict=True))
        return {**figures, "epsilon": self.exploration}

    def values_of(self, data: Observations, network: nn.Module | None = None) -> Tensor:
        """Q of every candidate, shape ``(T, W)``, minus infinity beyond the count."""
        import torch

        network = self.network if network is None else network
        scores: Tensor = network(data.features, data.context, data.count)
        if not self.settings.dueling:
            return scores
        mean = scores.masked_fill(scores == -torch.inf, 0.0).sum(dim=1) / data.count
        return scores + (network.values(data.features, data.context, data.count) - mean).unsqueeze(1)

    def state(self) -> Arrays:
        """See :meth:`Learner.state`."""
        target = {f"target.{name}": np.array(w.cpu().numpy()) for name, w in self._target.state_dict().items()}
        return {**super().state(), **target, "q": np.array([self._updates, self._scale])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`Learner.restore`."""
        import torch

        super().restore(arrays)
        target = {n.removeprefix("target."): torch.from_numpy(a) for n, a in arrays.items() if n.startswith("target.")}
        self._target.load_state_dict(target)
        self._updates, self._scale = int(arrays["q"][0]), float(arrays["q"][1])
