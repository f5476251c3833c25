"""Settings of a training of MARS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from transom._system.settings import Natural, Positive, Several, Share, check_settings
from transom.learned.mars.cards import SLOTS, Learning
from transom.simulation import make_policy

_Rate = Annotated[float, Meta(gt=0, lt=10)]


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

    learner: Learning = "ppo"
    updates: Positive = 200
    batch: Positive = 16
    length: Several = 256
    validation: Positive = 20
    validation_length: Several = 1024
    validate_every: Positive = 5
    slots: Annotated[int, Meta(ge=1, le=SLOTS)] = 128
    relative_to: str = ""
    learning_rate: _Rate = 1e-3
    critic_rate: _Rate = 3e-3
    passes: Positive = 4
    minibatch: Positive = 512
    clip: _Rate = 0.2
    lam: Share = 0.97
    entropy: Annotated[float, Meta(ge=0, lt=10)] = 0.0
    seed: Natural = 0

    def __post_init__(self) -> None:
        check_settings("mars", self)
        if self.relative_to:
            make_policy(f"{self.relative_to}-easy")
