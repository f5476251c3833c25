"""Small inputs that failed once, with their right values: each case states its command and what must come of it."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.traces.trace_file import read_trace_card

pytestmark = pytest.mark.reference

_SHARED = Path(__file__).resolve().parents[3] / "shared"
_CASES = _SHARED / "cases"
_RECORDS = sorted(path.parent.name for path in _CASES.glob("records/*/expected.json"))


@pytest.mark.parametrize("case", _RECORDS or [pytest.param("", marks=pytest.mark.skip(reason="../shared is absent"))])
def test_of_records(
    case: str, transom: Callable[..., Ran], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: Path
) -> None:
    folder = shared / "cases" / "records" / case
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    command, expect, out = expected["command"], expected["expect"], tmp_path / "trace.parquet"
    monkeypatch.chdir(folder)
    ran = transom(*command, *(("-o", out) if command[0] == "import" else ()))
    assert ran.status == expect.get("rc", 0), ran.err
    if command[0] == "import":
        _check_trace(out, expect)
    if "value" in expect:
        assert ran.lines[0]["value"] == expect["value"]


def _check_trace(path: Path, expect: dict[str, Any]) -> None:
    frame = pl.read_parquet(path)
    if "jobs" in expect:
        assert len(frame) == expect["jobs"]
    for label, row in expect.get("rows", {}).items():
        (found,) = frame.filter(pl.col("label") == label).to_dicts()
        assert {name: found[name] for name in row} == row
    machine = read_trace_card(str(path)).machine
    assert {name: machine.get(name) for name in expect.get("machine", {})} == expect.get("machine", {})


@pytest.mark.parametrize("policy", ["fcfs", "fcfs-easy"])
def test_two_partitions_of_one_name(policy: str, transom: Callable[..., Ran], shared: Path, tmp_path: Path) -> None:
    path = shared / "cases" / "replay" / "two_partitions_one_name.swf"
    ran = transom(
        "simulate", path, "--policy", policy, "--partition-nodes", "batch=4", "--out", tmp_path, "--no-figures"
    )
    assert ran.status == 0, ran.err
    jobs = pl.read_parquet(tmp_path / policy / "jobs.parquet")
    assert jobs["job_id"].sort().to_list() == [1, 2]
    assert "batch" in ran.err  # that the name means both is said


def test_a_sparse_path_is_found(transom: Callable[..., Ran], shared: Path) -> None:
    path = shared / "cases" / "solvers" / "csp_feas.jsonl"
    for solver in ("auto", "csp-lagrangian", "csp-dp"):
        (line,) = transom("solve", path, "--problem", "csp", "--solver", solver, "--json").lines
        assert line["value"] == 36, solver


def test_projects_of_psplib(transom: Callable[..., Ran], shared: Path) -> None:
    folder = shared / "cases" / "solvers"
    with (folder / "psplib_j30.optima.csv").open(encoding="utf-8") as file:
        optima = {row["instance"]: int(row["optimum"]) for row in csv.DictReader(file)}
    path = folder / "psplib_j30.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as instances:
        best = [optima[json.loads(line)["name"]] for line in instances]
    lines = transom("solve", path, "--problem", "workflow", "--solver", "auto", "--seconds", "2", "--json").lines
    assert all(line["bound"] <= value <= line["value"] for line, value in zip(lines, best, strict=True))
    # How many are proved in how long is a matter of the machine: `tests/solvers/workflow/test_orders.py` proves them.
