"""The two ways of learning: PPO-clip on recorded sequences, and the one-step actor-critic of Algorithm 2.

The reward is 0 until the sequence is over, then what the
training makes of its mean bounded slowdown; nothing is discounted.

References
----------
Schulman et al., Proximal policy optimization algorithms, arXiv 1707.06347; MARS, Algorithm 2, whose update by the cost
is left out: section V-C adds costs after training.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from transom.learned.kernel.scoring import FEATURES, observe
from transom.learned.mars.network import MarsNetwork, padded
from transom.learned.mars.process import Sequence as Jobs
from transom.learned.mars.process import advance, begin, mean_slowdown, take, visible_jobs
from transom.learned.mars.rollouts import TAU, Episode, drawn
from transom.learned.mars.settings import MarsTraining
from transom.learned.training.ppo import Recorded, Weights, descend, improve, standardised
from transom.learned.training.returns import advantages
from transom.learned.training.state import Arrays, network_arrays, set_network
from transom.models.arrays import FloatArray

Reward = Callable[[int, float], float]
"""What a slowdown earns, of the sequence at a place of the batch."""

_OUTLIER = 4.0  # largest advantage that counts, in deviations


class Learner:
    """A network with its optimiser.

    Parameters
    ----------
    network, settings : what learns, and how.
    """

    def __init__(self, network: MarsNetwork, settings: MarsTraining) -> None:
        self.network, self.settings = network, settings
        groups = [{"params": list(part.parameters())} for part in (network.actor, network.critic)]
        self.optimizer: torch.optim.Optimizer = (
            torch.optim.Adam(groups) if settings.learner == "ppo" else torch.optim.SGD(groups, lr=0.0)
        )

    def update(self, sequences: Sequence[Jobs], reward: Reward, rng: np.random.Generator, left: float) -> FloatArray:
        """Play sequences, learn from them, and give their mean bounded slowdowns.

        ``left`` multiplies the learning rates.
        """
        for group, rate in zip(
            self.optimizer.param_groups, (self.settings.learning_rate, self.settings.critic_rate), strict=True
        ):
            group["lr"] = rate * left
        learn = self._ppo if self.settings.learner == "ppo" else self._actor_critic
        return np.array(learn(sequences, reward, rng))

    def arrays(self) -> Arrays:
        """Weights and moments."""
        return network_arrays(self.network, self.optimizer)

    def load(self, arrays: Arrays) -> None:
        """Take what :meth:`arrays` gave."""
        set_network(self.network, self.optimizer, arrays)

    def _ppo(self, sequences: Sequence[Jobs], reward: Reward, rng: np.random.Generator) -> list[float]:
        s, weights = self.settings, self.network.weights()
        episodes: list[Episode] = [drawn(weights, each, s.slots, rng) for each in sequences]
        slowdowns = [episode.slowdown for episode in episodes]
        rewards = [reward(at, slowdown) for at, slowdown in enumerate(slowdowns)]
        played = [(episode, each) for episode, each in zip(episodes, rewards, strict=True) if len(episode.counts)]
        if not played:  # nobody ever waited
            return slowdowns
        counts = np.concatenate([episode.counts for episode, _ in played])
        rows = np.concatenate([episode.features for episode, _ in played])
        ends = np.cumsum(counts)
        actions = torch.from_numpy(np.concatenate([episode.actions for episode, _ in played]))
        before = torch.from_numpy(np.concatenate([episode.logs for episode, _ in played]).astype(np.float32))

        def some(part: NDArray[np.intp]) -> tuple[torch.Tensor, torch.Tensor]:
            return padded(np.concatenate([rows[ends[at] - counts[at] : ends[at]] for at in part]), counts[part])

        whole = np.arange(len(counts))
        with torch.no_grad():
            blocks = [self.network.values(*some(part)) for part in np.split(whole, whole[s.minibatch :: s.minibatch])]
        values, advantage = torch.cat(blocks).double().numpy(), np.empty(len(counts))
        last = np.cumsum([len(episode.counts) for episode, _ in played]) - 1
        paid, over = np.zeros(len(counts)), np.zeros(len(counts), np.bool_)
        paid[last], over[last] = [earned for _, earned in played], True
        advantages(paid, np.ones(len(counts)), over, values, 0.0, s.lam, advantage)
        targets = torch.from_numpy((advantage + values).astype(np.float32))
        recorded = Recorded(actions, before, torch.from_numpy(standardised(advantage, _OUTLIER)), targets)

        def forward(part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            features, mask = some(part.numpy())
            return self.network(features, mask), self.network.values(features, mask)

        ppo = Weights(s.clip, s.passes, s.minibatch, value=1.0, entropy=s.entropy)
        improve(self.optimizer, forward, recorded, ppo, rng)
        return slowdowns

    def _actor_critic(self, sequences: Sequence[Jobs], reward: Reward, rng: np.random.Generator) -> list[float]:
        losses = []
        for at, jobs in enumerate(sequences):
            state = begin(jobs)
            goes_on = advance(state)
            while goes_on:
                shown = visible_jobs(state, self.settings.slots)
                rows = np.empty((len(shown.queue), len(FEATURES)), np.float32)
                observe(shown, rows)
                now = padded(rows, np.array([len(rows)]))
                logs, value = self.network(*now)[0], self.network.values(*now)[0]
                chances = logs.detach().double().exp().numpy()
                row = int(rng.choice(len(rows), p=chances / chances.sum()))
                take(state, row)
                goes_on = advance(state)
                if goes_on:
                    shown = visible_jobs(state, self.settings.slots)
                    rows = np.empty((len(shown.queue), len(FEATURES)), np.float32)
                    observe(shown, rows)
                    with torch.no_grad():
                        target = float(self.network.values(*padded(rows, np.array([len(rows)])))[0])
                else:
                    target = reward(at, float(mean_slowdown(state, TAU)))
                # delta = R + v(S', w) - v(S, w) weighs both gradients; I stays 1, as nothing is discounted
                loss = (float(value.detach()) - target) * (value + logs[row])
                descend(self.optimizer, loss.sum(), list(self.network.parameters()), 1.0)
            losses.append(float(mean_slowdown(state, TAU)))
        return losses
