"""Training of a learned repair: proximal policy optimisation with masked actions.

References
----------
Lan et al. (2023), section V-B.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom.learned.checkpoints import require
from transom.learned.repair.networks import network
from transom.learned.repair.pool import CLUSTERS, WindowPool
from transom.learned.repair.process import SEEN
from transom.learned.repair.repair_batch import RepairBatch
from transom.learned.repair.task import RepairTask
from transom.learned.repair.training_settings import Training
from transom.learned.training.devices import chosen_device
from transom.learned.training.returns import advantages
from transom.learned.training.state import Arrays, network_arrays, set_network, under
from transom.learned.training.trainer import Trainer
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.rng import stream

_PACKAGES = ("torch", "tensorboard")
_LAM = 0.95  # of generalised advantages
_VALUE = 0.5  # weight of the critic's error
_GRADIENT = 0.5  # norm to which gradients are cut


@dataclass(frozen=True, slots=True)
class Update:
    """What one update saw and did: a row of the learning curve.

    Parameters
    ----------
    decisions : so far.
    seconds : of the training so far [s].
    cost : mean cost of the jobs that a repair placed; the mean episode reward of figure 4 is minus this.
    entropy : of the policy, mean over decisions.
    share : entropy as a share of that of the uniform policy over the valid first nodes.
    value_loss, explained_variance : of the critic.
    divergence, clipped : between the policies before and after (approximately), and the share of chances at the limit.
    """

    decisions: int
    seconds: float
    cost: float
    entropy: float
    share: float
    value_loss: float
    explained_variance: float
    divergence: float
    clipped: float


class Recording(NamedTuple):
    """Decisions of all repairs side by side, in order of time.

    ``seen`` ``(length, repairs, rows, 100)``, ``allowed`` ``(length, repairs, 100)``, ``values``
    ``(length + 1, repairs)`` with what the critic says of the last state, the others ``(length, repairs)``.
    """

    seen: NDArray[np.float32]
    allowed: BoolArray
    action: IntArray
    log_chance: FloatArray
    reward: FloatArray
    done: BoolArray
    values: FloatArray


class RepairTrainer(Trainer):
    """A training of a network that chooses first nodes.

    Parameters
    ----------
    settings : what is trained, and how.
    folder : see :class:`~transom.learned.training.trainer.Trainer`.
    device : ``cpu``, ``cuda`` or any other of torch; ``auto`` takes ``cuda`` where there is one.

    Attributes
    ----------
    actor, critic : networks of one architecture that share nothing.
    env : the repairs.

    Raises
    ------
    SpecError : the extra ``learned`` is not installed, or the device is unknown.
    DocumentError : the folder holds a training of other settings, or what is there cannot be read.
    """

    columns, length, board = Update, "decisions", "repair"

    def __init__(self, settings: Training, folder: Path, device: str = "auto") -> None:
        require("training a repair", *_PACKAGES)
        import torch

        self._device = chosen_device(device)
        pool = window_pool(settings)
        super().__init__(settings, folder, pool.digest())
        torch.set_num_threads(settings.threads)
        # Where the device is another one, sums may still be taken in any order.
        torch.backends.cudnn.deterministic = True
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(settings.seed)
            self.actor, self.critic = (network(settings.network, settings.rows, outputs) for outputs in (SEEN, 1))
        self._networks = torch.nn.ModuleDict({"actor": self.actor, "critic": self.critic}).to(self._device)
        self._optimizer = torch.optim.Adam(self._networks.parameters(), lr=settings.learning_rate, eps=1e-5)
        task = RepairTask(rows=settings.rows, reward="reciprocal" if settings.reward == "reciprocal" else "cost")
        self.env = RepairBatch(pool, task, settings.envs, settings.seed, settings.reward == "each")
        self.env.reset()
        self.resume()

    @property
    def decisions(self) -> int:
        """Decisions so far."""
        return int(self.updates * self.settings.envs * self.settings.length)

    def made(self) -> float:
        """See :class:`~transom.learned.training.trainer.Trainer`."""
        return self.decisions / float(self.settings.decisions)

    def place(self) -> int:
        """Logs count decisions."""
        return self.decisions

    def step(self) -> Update:
        """Let the policy decide ``envs * length`` times and learn from it."""
        import torch

        from transom.learned.training.ppo import Recorded, Weights, improve, standardised

        s = self.settings
        recording = self._record(stream(s.seed, "repair draws", self.updates))
        advantage = np.empty(recording.reward.shape)
        kept, found = np.full(s.length, s.discount), np.empty(s.length)
        for at in range(s.envs):
            reward, done = recording.reward[:, at].copy(), recording.done[:, at].copy()
            values = recording.values[:, at].copy()
            advantages(reward, kept, done, values[:-1], float(values[-1]), _LAM, found)
            advantage[:, at] = found
        returns = advantage + recording.values[:-1]

        def flat(array: NDArray[Any]) -> torch.Tensor:
            return torch.from_numpy(array.reshape(-1, *array.shape[2:])).to(self._device)

        seen, allowed = flat(recording.seen), flat(recording.allowed)

        def forward(part: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return self.log_chances(seen[part], allowed[part]), self._values(seen[part])

        recorded = Recorded(
            flat(recording.action),
            flat(recording.log_chance.astype(np.float32)),
            flat(standardised(advantage, np.inf)),
            flat(returns.astype(np.float32)),
        )
        for group in self._optimizer.param_groups:
            group["lr"] = s.learning_rate * (1 - 0.9 * min(1.0, self.made()))
        ppo = Weights(s.clip, s.passes, s.minibatch, _VALUE, s.entropy, _GRADIENT)
        figures = improve(self._optimizer, forward, recorded, ppo, stream(s.seed, "repair learning", self.updates))
        total = -recording.reward.sum()
        if s.reward == "reciprocal":
            total = (1 / recording.reward[recording.done]).sum()
        elif s.reward == "end":
            total = -recording.reward[recording.done].sum()
        explained = 1 - advantage.var() / max(float(returns.var()), 1e-30)
        return Update(
            decisions=self.decisions + recording.reward.size,
            seconds=0.0,
            cost=float(total / recording.done.sum()) * self.env.task.unit,
            entropy=figures["entropy"],
            share=figures["share"],
            value_loss=figures["value_error"],
            explained_variance=float(explained),
            divergence=figures["divergence"],
            clipped=figures["clipped"],
        )

    def row(self, seen: Update) -> Update:
        """What the update saw."""
        return seen

    def arrays(self) -> Arrays:
        """Networks, moments, and where the repairs stand."""
        env = {f"env.{name}": array for name, array in self.env.state().items()}
        return {**network_arrays(self._networks, self._optimizer), **env}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        """Take over a state."""
        set_network(self._networks, self._optimizer, arrays)
        self.env.restore(under("env.", arrays))

    def log_chances(self, seen: Any, allowed: Any) -> Any:
        """Logarithms of the chances of first nodes ``(states, 100)``, minus infinity where a mask forbids them."""
        import torch

        return torch.log_softmax(self.actor(self._shaped(seen)).masked_fill(~allowed, -torch.inf), 1)

    def _values(self, seen: Any) -> Any:
        return self.critic(self._shaped(seen)).squeeze(1)

    def _shaped(self, seen: Any) -> Any:
        return seen if self.settings.network.startswith("cnn") else seen.flatten(1)

    def _record(self, rng: np.random.Generator) -> Recording:
        """Go on with the repairs, with first nodes that are drawn by their chances."""
        import torch

        columns: list[tuple[Any, ...]] = []
        for turn in range(self.settings.length + 1):
            seen, allowed = self.env.seen, self.env.action_masks()
            there = torch.from_numpy(seen).to(self._device)
            with torch.no_grad():
                logs = self.log_chances(there, torch.from_numpy(allowed).to(self._device)).double().cpu().numpy()
                values = self._values(there).double().cpu().numpy()
            if turn == self.settings.length:
                break
            action = drawn(np.exp(logs), rng)
            chance = np.take_along_axis(logs, action[:, None], 1)[:, 0]
            _, reward, done = self.env.step(action)
            columns.append((seen, allowed, action, chance, reward, done, values))
        recorded = Recording(*(np.array(column) for column in zip(*columns, strict=True)))
        return recorded._replace(values=np.concatenate((recorded.values, values[None])))


def drawn(chances: FloatArray, rng: np.random.Generator) -> IntArray:
    """A column of each row by its chance, shape ``(rows,)``; one that has none is never drawn."""
    upto = np.cumsum(chances, axis=1)
    picked = (upto <= rng.random(len(chances))[:, None] * upto[:, -1:]).sum(axis=1)
    last = chances.shape[1] - 1 - np.argmax(chances[:, ::-1] > 0, axis=1)
    return np.asarray(np.minimum(picked, last), np.int64)


def window_pool(settings: Training) -> WindowPool:
    """The windows that are trained on: whole ones, not the public code's of at most two jobs."""
    model, cost = CLUSTERS[settings.cluster]
    return WindowPool.generate(model, cost, settings.seed, settings.streams)
