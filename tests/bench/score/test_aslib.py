"""Scenarios of ASlib: what other programs read of a bench's rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench.made_rows import curve, row
from transom.bench.plan.task import Row
from transom.bench.score.aslib import write_scenarios
from transom.bench.score.score import references, scored
from transom.bench.store.frame import to_frame
from transom.stop import Stop


def data(path: Path) -> tuple[list[str], list[list[str]]]:
    """Names of the columns and the cells of an ARFF file."""
    head, _, rows = path.read_text().partition("\n@DATA\n")
    names = [line.split()[1] for line in head.splitlines() if line.startswith("@ATTRIBUTE")]
    return names, [line.split(",") for line in rows.splitlines()]


def runs(**facts: Any) -> list[Row]:
    return [
        each
        for number in range(12)
        for common in [{"instance": f"i{number}", "size": number + 3, **facts}]
        for each in (
            row("exact", **common, **curve((0.1, 8.0, 8.0)), status="optimal", reason="proof", seconds=0.25),
            row("it's:a=1", **common, value=6.0),
            row("huge", **common, outcome="memory", seconds=0.4),
        )
    ]


def test_a_scenario_for_each_problem_and_budget(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="no YAML here, which comes with Dask")
    rows = [*runs(), *runs(stop=Stop(seconds=2.0), seed=0), *runs(stop=Stop(seconds=2.0), seed=1)]
    frame = to_frame(rows)
    folders = write_scenarios(scored(frame, references(frame)), tmp_path / "all")
    assert sorted(folder.name for folder in folders) == ["knapsack-1s", "knapsack-2s"]
    one, two = sorted(folders)
    stated = yaml.safe_load((one / "description.txt").read_text())
    assert stated["algorithms_deterministic"] == sorted(["exact", "huge", "it's:a=1"])
    assert (stated["algorithms_stochastic"], stated["algorithm_cutoff_time"]) == ([], 1)
    assert yaml.safe_load((two / "description.txt").read_text())["algorithms_stochastic"] == sorted(
        ["exact", "huge", "it's:a=1"]
    )
    names, cells = data(one / "algorithm_runs.arff")
    assert names == ["instance_id", "repetition", "algorithm", "runtime", "gap", "runstatus"]
    assert cells[:3] == [
        ["i0", "1", "exact", "0.25", "0", "ok"],
        ["i0", "1", "huge", "1", "1", "memout"],
        ["i0", "1", r"'it\'s:a=1'", "0.5", "0.25", "timeout"],
    ]
    assert {row[1] for row in data(two / "algorithm_runs.arff")[1]} == {"1", "2"}
    assert ["i11", "1", "14"] in data(one / "feature_values.arff")[1]
    assert {row[2] for row in data(one / "cv.arff")[1]} == {str(fold) for fold in range(1, 11)}
    assert len(data(one / "feature_runstatus.arff")[1]) == 12


def test_runs_without_a_budget_in_seconds_are_left_out(tmp_path: Path) -> None:
    frame = to_frame(runs(stop=Stop(iterations=5)))
    assert write_scenarios(scored(frame, references(frame)), tmp_path) == []
