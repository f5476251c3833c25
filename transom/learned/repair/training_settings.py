"""What the trainings of both repairs depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from transom._system.settings import Above, AtLeast, Natural, Positive, Rate, Several, Share, check_settings
from transom.errors import SpecError
from transom.learned.repair import networks
from transom.learned.repair.pool import ClusterName

Reward = Literal["each", "end", "reciprocal"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What a training depends on: the same settings give the same weights on the same machine.

    Parameters
    ----------
    network, rows : of actor and critic, as in :func:`~transom.learned.repair.networks.network`.
    cluster : ``authors``, pods of 40 nodes and the cost model of the public code, with which the paper's tables
        were made; or ``paper``, pods of 100 and eq. (1) as printed.
    seed : of everything that is random, >= 0.
    envs : repairs that are stepped together, > 0.
    length : decisions of each of them between two updates, > 0.
    passes : how often an update goes over these decisions, > 0; the public code's 80 take 20 times as long.
    streams : how many streams of 100 periods the windows come from, > 0.
    minibatch : decisions of a step of the optimiser, > 1.
    learning_rate : at the beginning, > 0, at most 1; it falls to a tenth along a straight line over ``decisions``.
    decisions : of the whole training, > 0; the last update may go beyond.
    clip : largest change of a chance that is rewarded (eq. 8), > 0.
    discount : of rewards per decision, in (0, 1].
    entropy : weight of the entropy in the loss, >= 0.
    reward : ``end``, minus the cost of all jobs when the last one is placed (section V-B3); ``each``, minus the cost of
        each when it is placed, the same sum with less noise; or ``reciprocal``, of the cost of all.
    threads : of torch, > 0.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    network: str = "cnn-3"
    rows: int = 5
    cluster: ClusterName = "authors"
    seed: Natural = 0
    envs: Positive = 256
    length: Positive = 32
    passes: Positive = 4
    minibatch: Several = 1024
    learning_rate: Rate = 1e-3
    decisions: Positive = 400_000
    clip: Above = 0.2
    discount: Rate = 0.99
    entropy: AtLeast = 0.01
    streams: Positive = 100
    reward: Reward = "each"
    threads: Positive = 1

    def __post_init__(self) -> None:
        networks.check(self.network, self.rows)
        check_settings("repair", self)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostTraining:
    """What a training depends on: the same settings give the same weights on the same machine.

    Parameters
    ----------
    seed : of everything that is random, >= 0.
    updates : of the weights, > 0.
    windows : that are searched for an update, > 0; half of them of each cluster of the repair.
    runs : searches of each window, > 1.
    search_steps : of a search, > 0.
    candidates : cheapest starts that are chosen among, > 1.
    hidden : units of the two hidden layers, > 1.
    discount : of an improvement per step by which it comes later, in [0, 1].
    batch : decisions of all searches that an update learns from, drawn at random, > 0.
    minibatch : decisions of a step of the optimiser, > 0.
    passes : how often an update goes over them, > 0.
    learning_rate : at the beginning, > 0, at most 1; it falls to a tenth along a straight line.
    streams : how many streams of 100 periods on each cluster the windows come from, > 0.
    threads : of torch, > 0.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    seed: Natural = 0
    updates: Positive = 80
    windows: Positive = 16
    runs: Several = 6
    search_steps: Positive = 250
    candidates: Several = 32
    hidden: tuple[int, int] = (24, 16)
    discount: Share = 0.98
    batch: Positive = 24_576
    minibatch: Positive = 4096
    passes: Positive = 2
    learning_rate: Rate = 2e-3
    streams: Positive = 20
    threads: Positive = 1

    def __post_init__(self) -> None:
        check_settings("nsa-cost", self)
        if len(self.hidden) != 2 or min(self.hidden) < 2:
            raise SpecError(f"nsa-cost: hidden must be two numbers > 1, got {self.hidden}")
