"""What a training of priorities depends on."""

from __future__ import annotations

from dataclasses import dataclass

from transom.errors import SpecError


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

    seed: int = 0
    generations: int = 60
    population: int = 16
    windows: int = 150
    chunks: int = 10
    step: float = 0.3

    def __post_init__(self) -> None:
        least = {"seed": 0, "generations": 1, "population": 4, "windows": 1, "chunks": 1}
        for name, value in least.items():
            if getattr(self, name) < value:
                raise SpecError(f"learned-priority: {name} must be >= {value}, got {getattr(self, name)}")
        if not 0 < self.step < float("inf"):
            raise SpecError(f"learned-priority: step must be > 0, got {self.step}")
