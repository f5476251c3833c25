"""What a training of priorities depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from transom._system.settings import Above, Positive, check_settings, setting
from transom.learned.training.settings import Seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The same settings and the same workload give the same weights on the same machine.

    Raises
    ------
    SpecError : a setting is out of its range.
    """

    seed: Seed = 0
    generations: Annotated[Positive, setting("Generations of the search.")] = 60
    population: Annotated[int, Meta(ge=4), setting("Scorers of a generation.")] = 16
    windows: Annotated[Positive, setting("Windows that each of them replays.")] = 150
    chunks: Annotated[Positive, setting("Consecutive jobs of a window.")] = 10
    step: Annotated[Above, setting("Standard deviation of the weights at first.")] = 0.3

    def __post_init__(self) -> None:
        check_settings("learned-priority", self)
