"""What a training of DeepJS depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from transom._system.settings import Positive, Rate, Several, check_settings, setting
from transom.learned.training.settings import Seed

UpdateRule = Literal["code", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The same settings give the same weights on the same machine.

    ``update`` ``text`` is Algorithm 2 as printed: plain steps along the sum over the decisions of each episode; by
    ``code`` advantages are normalised to mean 0 and deviation 1. ``network`` is one of
    :data:`~transom.learned.deepjs.network.NETWORKS`. From the mean of the ``episodes`` of a step, decision by decision,
    advantages are counted.

    Raises
    ------
    SpecError : a setting is out of its range.
    """

    update: Annotated[
        UpdateRule,
        setting("code: Adam, mean over decisions, advantages normalised. text: Algorithm 2 as printed; it collapses."),
    ] = "code"
    network: Annotated[Literal["code", "paper"], setting("code: 6-3-9-18-9-1. paper: 6-3-9-6-1, Table 1.")] = "code"
    seed: Seed = 0
    chunks: Annotated[Positive, setting("Consecutive jobs of a chunk.")] = 10
    steps: Annotated[Positive, setting("Steps on each chunk.")] = 10
    episodes: Annotated[Several, setting("Replays of a step.")] = 12
    batch: Annotated[Positive, setting("Decisions of an episode for a step of Adam.")] = 1000
    learning_rate: Annotated[Rate, setting("It stays the same.")] = 1e-3
    compare_every: Annotated[Positive, setting("Chunks between comparisons with the best network so far.")] = 40

    def __post_init__(self) -> None:
        check_settings("deepjs", self)
