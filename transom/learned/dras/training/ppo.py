"""Proximal policy optimisation on recorded decisions: the third way of updating an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from transom._system.settings import Positive, Share, check_settings
from transom.learned.dras.training.learner import Bonus, Figures, Learner, discounts, observed
from transom.learned.training.returns import advantages
from transom.learned.training.state import Arrays

if TYPE_CHECKING:
    from torch import nn

    from transom.learned.dras.training.collect import Batch


@dataclass(frozen=True, slots=True)
class PpoSettings:
    """How PPO updates.

    Parameters
    ----------
    learning_rate : of Adam, at the beginning; it falls linearly to a tenth.
    discount : per scheduling instance.
    lam : of the generalised advantage estimate.
    clip : how far the ratio of a probability to that of the recording may move from 1 before it stops counting.
    passes, minibatch : over a recording, and decisions in a step.
    entropy : weight of the bonus at the beginning; it falls linearly to a tenth.
    value : weight of the critic's loss.
    outlier : largest advantage that counts, in deviations; a job that waits for weeks may not drown all others.
    """

    learning_rate: Share = 3e-3
    discount: Share = 0.999
    lam: Share = 0.97
    clip: Annotated[float, Meta(ge=0, le=1000)] = 0.2
    passes: Positive = 1
    minibatch: Positive = 1024
    entropy: Bonus = 0.0
    value: Annotated[float, Meta(ge=0, le=1000)] = 0.5
    outlier: Annotated[float, Meta(ge=0, le=10**6)] = 4.0

    def __post_init__(self) -> None:
        check_settings("ppo", self)


class Ppo(Learner):
    """PPO with a critic, generalised advantages and an entropy bonus.

    References
    ----------
    Schulman et al., Proximal policy optimization algorithms, arXiv 1707.06347, eq. 7 and 9.
    """

    needs_critic = True

    def __init__(self, network: nn.Module, settings: PpoSettings) -> None:
        super().__init__(network, settings.learning_rate)
        self.settings = settings
        self._spread = 1.0  # deviation of what decisions were worth: the unit of the critic
        self._updates = 0

    def update(self, batch: Batch, rng: np.random.Generator, progress: float = 0.0) -> Figures:
        """Learn from recorded decisions; see :meth:`Learner.update`."""
        import torch

        from transom.learned.training.ppo import Recorded, Weights, improve, standardised

        s, learnt = self.settings, len(batch.action) - 1
        data = observed(batch, self.device)
        with torch.no_grad():
            values = self.network.values(data.features, data.context, data.count).double().cpu().numpy()
        values *= self._spread
        advantage = np.empty(learnt)
        reward, done = batch.reward[:learnt].astype(np.float64), batch.done[:learnt]
        advantages(reward, discounts(batch, s.discount), done, values[:learnt], values[learnt], s.lam, advantage)
        returns = advantage + values[:learnt]
        self._measure(returns)

        def tensor(array: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(array.astype(np.float32)).to(self.device)

        def forward(part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            features, context, count, _ = data.at(part)
            scores = self.network(features, context, count)
            return torch.log_softmax(scores, dim=1), self.network.values(features, context, count)

        left = 1 - 0.9 * progress
        recorded = Recorded(
            data.action[:learnt],
            tensor(batch.log_probability[:learnt]),
            tensor(standardised(advantage, s.outlier)),
            tensor(returns / self._spread),
        )
        weights = Weights(s.clip, s.passes, s.minibatch, s.value, s.entropy * left, self._largest_gradient)
        figures = improve(self.at_rate(s.learning_rate * left), forward, recorded, weights, rng)
        self._updates += 1
        return {**figures, "entropy": figures.pop("share")}

    def state(self) -> Arrays:
        """See :meth:`Learner.state`."""
        return {**super().state(), "ppo": np.array([self._spread, self._updates])}

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """See :meth:`Learner.restore`."""
        super().restore(arrays)
        self._spread, self._updates = float(arrays["ppo"][0]), int(arrays["ppo"][1])

    def _measure(self, returns: NDArray[np.float64]) -> None:
        """The unit of the critic: the deviation of returns, averaged over updates; the first also gives their mean."""
        import torch

        squared = float(returns.var()) + 1e-12
        if self._updates:
            share = 1 / min(self._updates + 1, 20)
            squared = (1 - share) * self._spread**2 + share * squared
        self._spread = squared**0.5
        if not self._updates:
            with torch.no_grad():
                self.network.critic["offset"].fill_(float(returns.mean()) / self._spread)
