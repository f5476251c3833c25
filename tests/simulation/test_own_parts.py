"""A metric and event rules of another package work in ``simulate``, without a line changed here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.packages import install
from transom.errors import SpecError
from transom.simulation.output import metrics

TRACE = Path(__file__).parents[2] / "instances" / "workloads" / "lublin_5000.swf.gz"


def simulated(folder: Path, *arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-c", "from transom.cli import main; main()", "simulate", str(TRACE), "--jobs", "300"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([*command, *arguments, "--json"], capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_metric_stands_beside_the_others_and_rules_are_found(tmp_path: Path) -> None:
    install("late_jobs", tmp_path)
    plain = simulated(tmp_path, "--policy", "fcfs", "--out", str(tmp_path / "out"))["policies"][0]["metrics"]
    assert list(plain)[-1] == "late_share"
    assert 0 < plain["late_share"] < 1
    alone = simulated(tmp_path, "--policy", "fcfs", "--rules", "one-by-one")
    assert alone["rules"] == "one-by-one"
    assert alone["policies"][0]["metrics"]["mean_wait"] > plain["mean_wait"]
    assert alone["policies"][0]["metrics"]["late_share"] >= plain["late_share"]


@pytest.mark.parametrize("name", ["mean_wait", "mean_hop_cost", "lost_jobs"])
def test_a_metric_with_a_name_that_is_taken_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.registry.names", lambda group: [name])
    metrics.own_metrics.cache_clear()
    with pytest.raises(SpecError, match=f"metric '{name}': a figure of Transom has this name"):
        metrics.own_metrics()
    metrics.own_metrics.cache_clear()


def test_every_figure_is_known() -> None:
    assert {*metrics.METRICS, *metrics.HOP_METRICS, *metrics.OUTAGE_METRICS} <= metrics.known_metrics().keys()
