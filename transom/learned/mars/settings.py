"""Settings of a training of MARS."""

from __future__ import annotations

from dataclasses import dataclass

from transom.errors import SpecError
from transom.learned.mars.cards import LEARNERS, SLOTS
from transom.simulation import make_policy


@dataclass(frozen=True, slots=True)
class MarsTraining:
    """Settings of a training.

    Parameters
    ----------
    learner : ``ppo``: PPO-clip; ``actor-critic``: one step at a time, as in Algorithm 2.
    updates : at most, > 0.
    batch : sequences of an update, > 0.
    length : jobs of a sequence to learn from, > 1.
    validation : sequences that choose the snapshot and what the decision maker asks, > 0.
    validation_length : jobs of those, > 1.
    validate_every : updates between two looks at them, > 0.
    slots : how many waiting jobs the network is shown, from 1 to 512.
    relative_to : a priority rule; the reward is then 1 - slowdown / that of the rule with EASY backfilling. Empty:
        minus the slowdown, in units of what the network had before training on the validation.
    learning_rate : of the actor at the beginning, > 0; it falls to a tenth.
    critic_rate : of the critic, likewise.
    passes, minibatch : of PPO over the decisions of an update, > 0.
    clip : of PPO: how far a ratio of chances may move from 1 before it stops counting, > 0.
    lam : of PPO's generalised advantage estimate, in [0, 1].
    entropy : weight of PPO's bonus, >= 0.
    seed : >= 0.
    """

    learner: str = "ppo"
    updates: int = 200
    batch: int = 16
    length: int = 256
    validation: int = 20
    validation_length: int = 1024
    validate_every: int = 5
    slots: int = 128
    relative_to: str = ""
    learning_rate: float = 1e-3
    critic_rate: float = 3e-3
    passes: int = 4
    minibatch: int = 512
    clip: float = 0.2
    lam: float = 0.97
    entropy: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.learner not in LEARNERS:
            raise SpecError(f"--learner must be {' or '.join(LEARNERS)}, got {self.learner!r}")
        for name in ("updates", "batch", "validation", "validate_every", "passes", "minibatch"):
            self._must(name, getattr(self, name) > 0, "> 0")
        for name in ("length", "validation_length"):
            self._must(name, getattr(self, name) > 1, "> 1")
        self._must("slots", 0 < self.slots <= SLOTS, f"from 1 to {SLOTS}")
        for name in ("learning_rate", "critic_rate", "clip"):
            self._must(name, 0 < getattr(self, name) < 10, "> 0 and < 10")
        self._must("lam", 0 <= self.lam <= 1, "from 0 to 1")
        self._must("entropy", 0 <= self.entropy < 10, ">= 0 and < 10")
        if self.relative_to:
            make_policy(f"{self.relative_to}-easy")

    def _must(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise SpecError(f"--{name.replace('_', '-')} must be {wanted}, got {getattr(self, name)}")
