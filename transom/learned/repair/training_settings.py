"""What the trainings of both repairs depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from transom._system.settings import Above, AtLeast, Positive, Several, Share, check_settings, setting
from transom.learned.repair import networks
from transom.learned.repair.pool import ClusterName
from transom.learned.training.settings import Decisions, Discount, LearningRate, Minibatch, Passes, Seed, Threads

Network = Literal["fcn-1", "fcn-2", "fcn-3", "cnn-1", "cnn-2", "cnn-3"]
Reward = Literal["each", "end", "reciprocal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a training depends on: the same settings give the same weights on the same machine.

    The learning rate falls along a straight line over ``decisions``; the last update may go beyond. The ``passes`` of
    the public code, 80, take 20 times as long. ``clip`` bounds the change of a chance that is rewarded (eq. 8).

    Raises
    ------
    SpecError : a setting is out of its range.
    """

    network: Annotated[Network, setting("Network of Table II.")] = "cnn-3"
    rows: Annotated[int, setting("Rows of an observation: 5 as in the public code, 4 as in the paper.")] = 5
    cluster: Annotated[
        ClusterName,
        setting("authors: pods of 40 nodes, costs of the public code. paper: pods of 100 nodes, equation (1)."),
    ] = "authors"
    seed: Seed = 0
    envs: Annotated[Positive, setting("Number of environments that are stepped together.")] = 256
    length: Annotated[Positive, setting("Decisions of each environment for an update.")] = 32
    passes: Passes = 4
    minibatch: Annotated[Several, setting("Minibatch size, in decisions.")] = 1024
    learning_rate: LearningRate = 1e-3
    decisions: Decisions = 400_000
    clip: Annotated[Above, setting("Clipping range of the probability ratio (equation 8).")] = 0.2
    discount: Discount = 0.99
    entropy: Annotated[AtLeast, setting("Weight of the entropy bonus in the loss.")] = 0.01
    streams: Annotated[Positive, setting("Number of streams of 100 periods that the windows come from.")] = 100
    reward: Annotated[
        Reward,
        setting(
            "each: minus the cost of each job. end: minus the total cost at the end, as in the paper. "
            "reciprocal: 1 / cost."
        ),
    ] = "each"
    threads: Threads = 1

    def __post_init__(self) -> None:
        check_settings("repair", self)
        networks.check(self.network, self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTraining:
    """What a training depends on: the same settings give the same weights on the same machine.

    Half of the ``windows`` of an update are of each cluster of the repair. ``discount`` is of an improvement per step
    by which it comes later. The decisions of a ``batch`` are drawn at random from all searches of an update.

    Raises
    ------
    SpecError : a setting is out of its range.
    """

    seed: Seed = 0
    updates: Annotated[Positive, setting("Number of updates of the weights.")] = 80
    windows: Annotated[Several, setting("Windows searched for an update.")] = 16
    runs: Annotated[Several, setting("Searches of each window.")] = 6
    search_steps: Annotated[Positive, setting("Steps of each search.")] = 250
    candidates: Annotated[Several, setting("Number of cheapest starts to choose from.")] = 32
    hidden: Annotated[tuple[Several, Several], setting("Units of the two hidden layers.", "H,K")] = (24, 16)
    discount: Annotated[Share, setting("Discount factor, in [0, 1].")] = 0.98
    batch: Annotated[Positive, setting("Number of decisions of an update.")] = 24_576
    minibatch: Minibatch = 4096
    passes: Passes = 2
    learning_rate: LearningRate = 2e-3
    streams: Annotated[Positive, setting("Number of streams of 100 periods on each cluster.")] = 20
    threads: Threads = 1

    def __post_init__(self) -> None:
        check_settings("nsa-cost", self)
