"""What the trainings of both repairs depend on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from transom.errors import SpecError
from transom.learned.repair import networks
from transom.learned.repair.pool import CLUSTERS, ClusterName

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
    seed: int = 0
    envs: int = 256
    length: int = 32
    passes: int = 4
    minibatch: int = 1024
    learning_rate: float = 1e-3
    decisions: int = 400_000
    clip: float = 0.2
    discount: float = 0.99
    entropy: float = 0.01
    streams: int = 100
    reward: Reward = "each"
    threads: int = 1

    def __post_init__(self) -> None:
        networks.check(self.network, self.rows)
        if self.cluster not in CLUSTERS:
            raise SpecError(f"repair: cluster must be one of {', '.join(CLUSTERS)}, got {self.cluster!r}")
        if self.reward not in get_args(Reward):
            raise SpecError(f"repair: reward must be one of {', '.join(get_args(Reward))}, got {self.reward!r}")
        for name in ("envs", "length", "passes", "decisions", "clip", "streams", "threads"):
            if not 0 < getattr(self, name) < float("inf"):
                raise SpecError(f"repair: {name} must be > 0, got {getattr(self, name)}")
        if not 0 < self.learning_rate <= 1:
            raise SpecError(f"repair: learning_rate must be > 0 and at most 1, got {self.learning_rate}")
        if self.minibatch < 2:
            raise SpecError(f"repair: minibatch must be > 1, got {self.minibatch}")
        if not 0 < self.discount <= 1:
            raise SpecError(f"repair: discount must be > 0 and at most 1, got {self.discount}")
        if not 0 <= self.entropy < float("inf"):
            raise SpecError(f"repair: entropy must be >= 0, got {self.entropy}")
        if self.seed < 0:
            raise SpecError(f"repair: seed must be >= 0, got {self.seed}")


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

    seed: int = 0
    updates: int = 80
    windows: int = 16
    runs: int = 6
    search_steps: int = 250
    candidates: int = 32
    hidden: tuple[int, int] = (24, 16)
    discount: float = 0.98
    batch: int = 24_576
    minibatch: int = 4096
    passes: int = 2
    learning_rate: float = 2e-3
    streams: int = 20
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("updates", "windows", "search_steps", "batch", "minibatch", "passes", "streams", "threads"):
            if getattr(self, name) <= 0:
                raise SpecError(f"nsa-cost: {name} must be > 0, got {getattr(self, name)}")
        for name in ("runs", "candidates"):
            if getattr(self, name) <= 1:
                raise SpecError(f"nsa-cost: {name} must be > 1, got {getattr(self, name)}")
        if len(self.hidden) != 2 or min(self.hidden) < 2:
            raise SpecError(f"nsa-cost: hidden must be two numbers > 1, got {self.hidden}")
        if not 0 <= self.discount <= 1:
            raise SpecError(f"nsa-cost: discount must be in [0, 1], got {self.discount}")
        if not 0 < self.learning_rate <= 1:
            raise SpecError(f"nsa-cost: learning_rate must be > 0 and at most 1, got {self.learning_rate}")
        if self.seed < 0:
            raise SpecError(f"nsa-cost: seed must be >= 0, got {self.seed}")
