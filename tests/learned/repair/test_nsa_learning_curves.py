"""The figure of learning curves: its averages, its table, and what is drawn."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import nsa_learning_curves as curves
from transom.learned.repair.networks import NETWORKS


def test_averages_are_of_the_last_values() -> None:
    values = np.random.default_rng(0).normal(size=25)
    expected = [values[max(0, i - 6) : i + 1].mean() for i in range(25)]
    assert curves.moving_average(values, 7) == pytest.approx(expected)
    assert curves.moving_average(values, 1) == pytest.approx(values)


def test_curves_go_out_and_come_back_and_are_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    made = {
        name: np.column_stack([np.arange(1, 31) * 8192, rng.uniform(5e4, 6e4, 30).round(), rng.random(30).round(4)])
        for name in NETWORKS
    }
    table = tmp_path / "curves.csv"
    curves.write_curves(table, made)
    again = curves.read_curves(table)
    assert list(again) == list(NETWORKS)
    assert all(np.array_equal(again[name], made[name]) for name in NETWORKS)
    picture = tmp_path / "curves.png"
    assert curves.main(["--from", str(table), "--figure", str(picture)]) == 0
    assert str(picture) in capsys.readouterr().out
    assert picture.stat().st_size > 10_000
    above = curves.figure(made, 5).axes[0]
    assert [line.get_label() for line in above.lines] == list(NETWORKS)
    assert above.lines[2].get_ydata() == pytest.approx(-curves.moving_average(made["fcn-3"][:, 1], 5) / 1000)
