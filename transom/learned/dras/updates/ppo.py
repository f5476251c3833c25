"""Proximal policy optimisation on recorded decisions: the third way of updating an agent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom.learned.dras.updates.discounting import advantages
from transom.learned.dras.updates.learner import (
    Arrays,
    Figures,
    Learner,
    check_ranges,
    discounts,
    log_chances,
    minibatches,
    observed,
    relative_entropy,
)

if TYPE_CHECKING:
    from torch import nn

    from transom.learned.dras.updates.collect import Batch


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

    learning_rate: float = 3e-3
    discount: float = 0.999
    lam: float = 0.97
    clip: float = 0.2
    passes: int = 1
    minibatch: int = 1024
    entropy: float = 0.0
    value: float = 0.5
    outlier: float = 4.0

    def __post_init__(self) -> None:
        rates = {"learning_rate": (0, 1), "discount": (0, 1), "lam": (0, 1), "clip": (0, 1000)}
        passes = {"passes": (1, 10**6), "minibatch": (1, 10**9)}
        check_ranges("ppo", self, **rates, **passes, entropy=(-1000, 1000), value=(0, 1000), outlier=(0, 10**6))


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
        advantage = ((advantage - advantage.mean()) / (advantage.std() + 1e-8)).clip(-s.outlier, s.outlier)

        def tensor(array: NDArray[np.float64]) -> torch.Tensor:
            return torch.from_numpy(array.astype(np.float32)).to(self.device)

        gains, targets = tensor(advantage), tensor(returns / self._spread)
        before = tensor(batch.log_probability[:learnt])
        left = 1 - 0.9 * progress
        losses: list[tuple[float, ...]] = []
        for _ in range(s.passes):
            for part in minibatches(learnt, s.minibatch, rng):
                some = data.at(part)
                logs, entropy = log_chances(self.network(some.features, some.context, some.count))
                log = logs.gather(1, some.action.unsqueeze(1)).squeeze(1)
                ratio = (log - before[part]).exp()
                clipped = ratio.clamp(1 - s.clip, 1 + s.clip)
                gain = torch.minimum(ratio * gains[part], clipped * gains[part]).mean()
                error = (self.network.values(some.features, some.context, some.count) - targets[part]).square().mean()
                loss = -gain + s.value * error - s.entropy * left * entropy.mean()
                norm = self.descend(loss, s.learning_rate * left)
                losses.append(
                    (
                        float(error.detach()),
                        relative_entropy(entropy.detach(), some.count),
                        norm,
                        float((ratio != clipped).float().mean()),
                    )
                )
        names = "value_error", "entropy", "gradient", "clipped"
        self._updates += 1
        return dict(zip(names, np.mean(losses, axis=0).tolist(), strict=True))

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
