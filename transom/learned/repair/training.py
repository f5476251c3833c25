"""Training of a learned repair: proximal policy optimisation with masked actions.

References
----------
Lan et al. (2023), section V-B. The algorithm is that of sb3-contrib (``MaskablePPO``); what is here resumes it where it
stopped, number for number, for the library itself keeps neither generators nor environments.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from transom.errors import DocumentError, SpecError
from transom.learned.checkpoints import require
from transom.learned.repair.pool import CLUSTERS, WindowPool
from transom.learned.repair.task import RepairTask
from transom.learned.repair.training_settings import Training
from transom.learned.training.devices import chosen_device
from transom.learned.training.state import (
    STATE,
    check_settings,
    generators,
    optimizer_arrays,
    read_state,
    set_generators,
    set_optimizer,
    under,
    write_progress,
)

if TYPE_CHECKING:
    from sb3_contrib import MaskablePPO

_PACKAGES = ("torch", "gymnasium", "stable_baselines3", "sb3_contrib", "tensorboard")


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


class Trainer:
    """A training that lives in a folder: ``training.safetensors`` (its state), ``curve.csv`` and ``tensorboard/``.

    Parameters
    ----------
    settings : what is trained, and how.
    folder : where; a training of the same settings that stopped there goes on.
    device : ``cpu``, ``cuda`` or any other of torch; ``auto`` takes ``cuda`` where there is one.

    Attributes
    ----------
    curve : the updates so far.
    model : the library's algorithm.

    Raises
    ------
    SpecError : the extra ``learned`` is not installed, or the device is unknown.
    DocumentError : the folder holds a training of other settings, or what is there cannot be read.
    """

    def __init__(self, settings: Training, folder: Path, device: str = "auto") -> None:
        require("training a repair", *_PACKAGES)
        import torch
        from stable_baselines3.common.logger import configure

        self.settings, self.folder = settings, folder
        self.curve: list[Update] = []
        self._state = folder / STATE
        held = read_state(self._state) if self._state.is_file() else None
        if held is not None:
            self._compare(held[1])
        torch.set_num_threads(settings.threads)
        # Where the device is another one, sums may still be taken in any order.
        torch.backends.cudnn.deterministic = True
        self.model = _algorithm(settings, chosen_device(device))
        self.model.set_logger(configure(str(folder / "tensorboard"), ["tensorboard"]))
        if held is not None:
            self._restore(*held)

    @property
    def decisions(self) -> int:
        """Decisions so far."""
        return int(self.model.num_timesteps)

    @property
    def seconds(self) -> float:
        """Time spent so far, over all starts of the command [s]."""
        return self.curve[-1].seconds if self.curve else 0.0

    @property
    def done(self) -> bool:
        """Whether all decisions are taken."""
        return self.decisions >= self.settings.decisions

    def update(self) -> Update:
        """Let the policy decide ``envs * length`` times and learn from it.

        Raises
        ------
        SpecError : the weights are no longer finite.
        """
        began, model, settings = time.perf_counter(), self.model, self.settings
        left = max(0.0, 1 - self.decisions / settings.decisions)
        model.lr_schedule = lambda _: settings.learning_rate * (0.1 + 0.9 * left)
        try:
            model.learn(settings.envs * settings.length, log_interval=None, reset_num_timesteps=False)
        except ValueError:
            self._check()  # what torch cannot draw from
            raise
        self._check()
        self.curve.append(self._row(self.seconds + time.perf_counter() - began))
        for name, value in asdict(self.curve[-1]).items():
            model.logger.record(f"repair/{name}", value)
        model.logger.dump(self.decisions)
        return self.curve[-1]

    def _check(self) -> None:
        import torch

        if not all(bool(torch.isfinite(value).all()) for value in self.model.policy.parameters()):
            raise SpecError(
                f"repair: after {self.decisions} decisions weights are not finite; take a lower learning rate"
            )

    def save(self) -> None:
        """Write the state and the curve."""
        model = self.model
        assert model.env is not None
        parts = {
            "policy": {name: value.cpu().numpy() for name, value in model.policy.state_dict().items()},
            "optimizer": optimizer_arrays(model.policy.optimizer),
            "generators": generators(),
            "env": model.env.state(),
            "seen": {"observation": model._last_obs, "begins": model._last_episode_starts},
        }
        arrays = {f"{part}.{name}": array for part, held in parts.items() for name, array in held.items()}
        facts = {"decisions": self.decisions, "updates": model._n_updates}
        write_progress(self.folder, self.settings, self.curve, Update, arrays, **facts)

    def _compare(self, facts: Any) -> None:
        others = facts.get("settings") if isinstance(facts, dict) else None
        if not isinstance(others, dict) or "network" not in others:
            raise DocumentError(f"{self._state}: does not hold such a training; take another folder")
        check_settings(self._state, others, asdict(self.settings), "decisions")

    def _restore(self, arrays: dict[str, Any], facts: dict[str, Any]) -> None:
        import torch

        model = self.model
        assert model.env is not None
        try:
            model.policy.load_state_dict({name: torch.tensor(a) for name, a in under("policy.", arrays).items()})
            set_optimizer(model.policy.optimizer, under("optimizer.", arrays))
            model.env.reset()
            model.env.restore(under("env.", arrays))
            model._last_obs, model._last_episode_starts = arrays["seen.observation"], arrays["seen.begins"]
            model.num_timesteps, model._n_updates = facts["decisions"], facts["updates"]
            self.curve = [Update(*row) for row in facts["curve"]]
            set_generators(under("generators.", arrays))
        except (KeyError, TypeError, ValueError, RuntimeError) as error:
            raise DocumentError(f"{self._state}: does not hold such a training: {str(error).splitlines()[0]}") from None

    def _row(self, seconds: float) -> Update:
        model = self.model
        rewards, log = model.rollout_buffer.rewards, model.logger.name_to_value
        assert model._last_episode_starts is not None
        ended = np.vstack((model.rollout_buffer.episode_starts[1:], model._last_episode_starts)) > 0
        total = (1 / rewards[ended]).sum() if self.settings.reward == "reciprocal" else -rewards.sum()
        valid = model.rollout_buffer.action_masks.sum(axis=1)
        entropy = -float(log["train/entropy_loss"])
        return Update(
            decisions=self.decisions,
            seconds=seconds,
            cost=float(total / ended.sum()) * model.env.task.unit,
            entropy=entropy,
            share=entropy / max(float(np.log(valid).mean()), 1e-9),
            value_loss=float(log["train/value_loss"]),
            explained_variance=float(log["train/explained_variance"]),
            divergence=float(log["train/approx_kl"]),
            clipped=float(log["train/clip_fraction"]),
        )


def window_pool(settings: Training) -> WindowPool:
    """The windows that are trained on: whole ones, not the public code's of at most two jobs."""
    model, cost = CLUSTERS[settings.cluster]
    return WindowPool.generate(model, cost, settings.seed, settings.streams)


def _algorithm(settings: Training, device: str) -> MaskablePPO:
    from sb3_contrib import MaskablePPO

    from transom.learned.repair.actor_critic import RepairPolicy
    from transom.learned.repair.dense_reward import DenseRewardVecEnv
    from transom.learned.repair.vector_env import RepairVecEnv

    env = DenseRewardVecEnv if settings.reward == "each" else RepairVecEnv
    task = RepairTask(rows=settings.rows, reward="reciprocal" if settings.reward == "reciprocal" else "cost")
    return MaskablePPO(
        RepairPolicy,
        env(window_pool(settings), task, settings.envs, settings.seed),
        learning_rate=settings.learning_rate,
        n_steps=settings.length,
        batch_size=settings.minibatch,
        n_epochs=settings.passes,
        gamma=settings.discount,
        clip_range=settings.clip,
        ent_coef=settings.entropy,
        policy_kwargs={"network": settings.network, "rows": settings.rows},
        seed=settings.seed,
        device=device,
    )
