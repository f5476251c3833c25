"""What a training of priorities depends on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from transom._system.settings import Above, Natural, Positive, check_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The same settings and the same workload give the same weights on the same machine.

    Parameters
    ----------
    seed : of everything that is random, >= 0.
    generations : of the search, > 0.
    population : scorers of a generation, > 3.
    windows : replays of each of them, > 0.
    chunks : consecutive jobs of a window, > 0.
    step : standard deviation of the weights at first, > 0.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    seed: Natural = 0
    generations: Positive = 60
    population: Annotated[int, Meta(gt=3)] = 16
    windows: Positive = 150
    chunks: Positive = 10
    step: Above = 0.3

    def __post_init__(self) -> None:
        check_settings("learned-priority", self)
