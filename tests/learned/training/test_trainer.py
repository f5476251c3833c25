"""A training in a folder: state and curve are read back as they were, and another one is refused."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import DocumentError, SpecError
from transom.learned.training.state import STATE, Arrays, read_state
from transom.learned.training.trainer import Trainer, train
from transom.rng import stream


@dataclass(frozen=True)
class Settings:
    seed: int = 3
    hidden: tuple[int, int] = (4, 2)
    updates: int = 6


@dataclass(frozen=True)
class Step:
    number: int
    seconds: float
    mean: float
    best: float | None = None


class Walk(Trainer):
    """A random walk, of which every second position is shown."""

    columns = Step

    def __init__(self, settings: Settings, folder: Path, subject: str = "a", minutes: float | None = None) -> None:
        super().__init__(settings, folder, subject, minutes)
        self.position = np.zeros(2)
        self.resume()

    def step(self) -> float:
        self.position = self.position + stream(self.settings.seed, "walk", self.updates).normal(size=2)
        return float(self.position.mean())

    def row(self, seen: float) -> Step | None:
        return None if self.updates % 2 else Step(self.updates, 0.0, seen / 3)

    def arrays(self) -> Arrays:
        return {"weights": self.position}

    def load(self, arrays: Arrays, facts: dict[str, Any]) -> None:
        self.position = arrays["weights"]


def test_a_training_comes_back_with_its_curve(tmp_path: Path) -> None:
    whole, parts = (Walk(Settings(), tmp_path / name) for name in ("whole", "parts"))
    train(whole)
    parts.update()
    parts.save()
    again = Walk(Settings(), tmp_path / "parts")
    assert (again.updates, again.seconds) == (1, parts.seconds)
    train(again, 1)
    assert np.array_equal(again.position, whole.position)
    assert [replace(row, seconds=0) for row in again.curve] == [replace(row, seconds=0) for row in whole.curve]
    assert [row.number for row in again.curve] == [2, 4, 6]
    lines = (tmp_path / "whole" / "curve.csv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("number,seconds,mean,best", 4)
    assert lines[1].endswith(f",{whole.curve[0].mean:.8g},")
    assert read_state(tmp_path / "whole" / STATE)[1]["settings"] == {"seed": 3, "hidden": [4, 2], "updates": 6}


def test_another_training_is_refused(tmp_path: Path) -> None:
    train(Walk(Settings(), tmp_path))
    with pytest.raises(DocumentError, match=r"was begun with hidden \[4, 2\], not \[4, 3\]; take hidden"):
        Walk(Settings(hidden=(4, 3)), tmp_path)
    with pytest.raises(DocumentError, match=r"was begun with updates 6, not 7, and the learning rate fell"):
        Walk(Settings(updates=7), tmp_path)
    with pytest.raises(DocumentError, match="was begun on other jobs or machines"):
        Walk(Settings(), tmp_path, "b")
    assert Walk(Settings(), tmp_path).done


def test_weights_that_are_no_numbers_end_it(tmp_path: Path) -> None:
    walk = Walk(Settings(), tmp_path)
    walk.position[0] = np.nan
    with pytest.raises(SpecError, match="after update 1 weights are not finite"):
        train(walk)
    assert not (tmp_path / STATE).exists()


def test_time_counts_only_where_it_will_not_suffice(tmp_path: Path) -> None:
    def share(made: float, seconds: float, minutes: float | None) -> float:
        walk = Walk(Settings(updates=100), tmp_path, minutes=minutes)
        walk.updates, walk.seconds = round(100 * made), seconds
        return walk.share()

    assert share(0.25, 1e6, None) == 0.25
    assert {share(0.0, seconds, 10) for seconds in (0.0, 9.1, 58.0)} == {0.0}
    assert share(0.2, 240, 10) == 0.4
    assert share(0.95, 600, 10) == 1.0
    assert share(1.0, 30, 10) == 1.0
