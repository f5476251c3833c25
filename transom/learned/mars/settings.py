"""Settings of a training of MARS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from msgspec import Meta

from transom._system.settings import Positive, Several, Share, check_settings, setting
from transom.learned.mars.cards import SLOTS
from transom.learned.training.settings import Minibatch, Passes, Seed
from transom.simulation import make_policy

_Rate = Annotated[float, Meta(gt=0, lt=10)]


@dataclass(frozen=True, slots=True)
class MarsTraining:
    """Settings of a training.

    ``relative_to`` a rule, the reward is 1 - slowdown / that of the rule with EASY backfilling; without, minus the
    slowdown, in units of what the network had before training on the validation. ``validation`` sequences choose the
    snapshot and what the decision maker asks.

    Raises
    ------
    SpecError : a setting is out of its range, or there is no such rule.
    """

    learner: Annotated[
        Literal["ppo", "actor-critic"],
        setting("PPO with clipped ratios, or an actor-critic that learns from every decision (Algorithm 2)."),
    ] = "ppo"
    updates: Annotated[Positive, setting("Number of updates at most.")] = 200
    batch: Annotated[Positive, setting("Sequences of an update.")] = 16
    length: Annotated[Several, setting("Consecutive jobs of a sequence.")] = 256
    validation: Annotated[Positive, setting("Other sequences, which choose weights and what the policy asks.")] = 20
    validation_length: Annotated[Several, setting("Consecutive jobs of those.")] = 1024
    validate_every: Annotated[Positive, setting("Number of updates between two validations.")] = 5
    slots: Annotated[int, Meta(ge=1, le=SLOTS), setting("How many waiting jobs the network is shown.")] = 128
    relative_to: Annotated[
        str, setting("Reward sequences relative to a priority rule with EASY backfilling, such as sjf.", "RULE")
    ] = ""
    learning_rate: Annotated[_Rate, setting("Initial learning rate; it falls to a tenth.")] = 1e-3
    critic_rate: Annotated[_Rate, setting("Initial learning rate of the critic; it falls to a tenth.")] = 3e-3
    passes: Passes = 4
    minibatch: Minibatch = 512
    clip: Annotated[_Rate, setting("PPO: how far a ratio of chances may move from 1 before it stops counting.")] = 0.2
    lam: Annotated[Share, setting("PPO: lambda of the generalised advantage estimate.")] = 0.97
    entropy: Annotated[float, Meta(ge=0, lt=10), setting("PPO: weight of the entropy bonus.")] = 0.0
    seed: Seed = 0

    def __post_init__(self) -> None:
        check_settings("mars", self)
        if self.relative_to:
            make_policy(f"{self.relative_to}-easy")
