"""The state and the learning curve of a training: written together, read back as they were."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pytest

from transom.errors import DocumentError
from transom.learned.training.state import STATE, check_settings, read_state, write_progress


@dataclass(frozen=True)
class Settings:
    seed: int = 3
    hidden: tuple[int, int] = (4, 2)


@dataclass(frozen=True)
class Step:
    number: int
    mean: float
    best: float | None = None


def test_a_training_comes_back_with_its_curve(tmp_path: Path) -> None:
    curve = [Step(1, 1 / 3), Step(1_234_567, 2e-9, 0.5)]
    write_progress(tmp_path, Settings(), curve, Step, {"weights": np.arange(6.0).reshape(2, 3).T}, left=None)
    arrays, facts = read_state(tmp_path / STATE)
    assert arrays["weights"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert facts["left"] is None
    assert [Step(*row) for row in facts["curve"]] == curve
    check_settings(tmp_path / STATE, facts["settings"], asdict(Settings()), "")
    with pytest.raises(DocumentError, match=r"was begun with hidden \[4, 2\], not \[4, 3\]"):
        check_settings(tmp_path / STATE, facts["settings"], asdict(Settings(hidden=(4, 3))), "")
    assert (tmp_path / "curve.csv").read_text() == "number,mean,best\n1,0.333333,\n1234567,2e-09,0.5\n"


def test_a_curve_without_rows_has_its_columns(tmp_path: Path) -> None:
    write_progress(tmp_path, Settings(), [], Step, {})
    assert (tmp_path / "curve.csv").read_text() == "number,mean,best\n"
    assert read_state(tmp_path / STATE) == ({}, {"settings": {"seed": 3, "hidden": [4, 2]}, "curve": []})
