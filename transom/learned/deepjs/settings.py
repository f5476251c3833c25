"""What a training of DeepJS depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from transom._system.settings import Natural, Positive, Rate, Several, check_settings
from transom.errors import SpecError
from transom.learned.deepjs.network import NETWORKS

UpdateRule = Literal["code", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The same settings give the same weights on the same machine.

    Parameters
    ----------
    update : ``code``: as the public code has it: Adam, the mean over decisions, advantages normalised to mean 0 and
        deviation 1; ``text``: Algorithm 2 as printed: plain steps along the sum over the decisions of each episode.
    network : ``code`` or ``paper`` (:data:`~transom.learned.deepjs.network.NETWORKS`).
    seed : of everything that is random, >= 0.
    chunks : consecutive jobs of a chunk, > 0; the agent trains on one chunk after another.
    steps : on each chunk, > 0.
    episodes : replays of a step, > 1; from their mean, decision by decision, advantages are counted.
    batch : decisions of an episode that Adam makes a step of, > 0.
    learning_rate : > 0, at most 1.
    compare_every : chunks between two comparisons of the network with the best one so far, on all chunks, > 0.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    update: UpdateRule = "code"
    network: str = "code"
    seed: Natural = 0
    chunks: Positive = 10
    steps: Positive = 10
    episodes: Several = 12
    batch: Positive = 1000
    learning_rate: Rate = 1e-3
    compare_every: Positive = 40

    def __post_init__(self) -> None:
        if self.network not in NETWORKS:
            raise SpecError(f"deepjs: network must be one of {', '.join(NETWORKS)}, got {self.network!r}")
        check_settings("deepjs", self)
