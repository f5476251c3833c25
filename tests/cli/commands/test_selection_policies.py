"""Selection policies from the command line: figures and decisions of every resource, recorded and checked."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from transom.cli import run
from transom.generate import generate_lublin
from transom.traces import write_swf

RESOURCES = ["--resources", "bb=[normal:mean=40,deviation=20,load=0.9],gpu=300"]
POLICY = "mine=selection:solver=weighted,seconds=none,bound=3"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("trace") / "small.swf.gz"
    write_swf(generate_lublin(250, 64, np.random.default_rng(1), load=0.9), path)
    return path


def test_every_resource_has_a_column_and_every_decision_a_row(
    trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    given = ["simulate", str(trace), *RESOURCES, "--policy", "fcfs-easy", "--policy", POLICY, "--out", str(out)]
    assert run([*given, "--no-figures"]) == 0
    table = capsys.readouterr().out
    assert "bb used [%]" in table
    assert "gpu used [%]" in table
    rows = pl.read_parquet(out / "mine" / "decisions.parquet")
    added = ["window", "pruned", "barred", "points", "status", "seconds", "cut", "promised"]
    assert rows.columns == [
        "time", "queued", "free", "started", "backfilled", "reserved_job", "reserved_start", *added,
        "promised_jobs", "promised_starts",
    ]  # fmt: skip
    assert rows["promised"].sum() > 0
    assert (rows["window"] <= 20).all()
    assert set(rows["status"]) <= {"optimal", "feasible", "none"}
    assert run([*given, "--no-figures", "--json"]) == 0
    mine = json.loads(capsys.readouterr().out)["policies"][1]["metrics"]
    assert 0 < mine["utilisation_bb"] <= mine["utilisation_submitting_bb"] <= 1
    assert 0 < mine["utilisation_gpu"] <= 1
    assert run(["check", str(trace), str(out)]) == 0
    assert "all sound" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("policy", "says"),
    [
        ("selection:objectives=nodes/memory", "unknown objective or resource 'memory'"),
        ("selection:solver=weighted,k=2", "k must be from 0 to 1"),
        ("weighted:weights=1/2", "2 weights for 3 objectives: nodes, bb, gpu"),
    ],
)
def test_bad_policies_are_one_line(policy: str, says: str, trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["simulate", str(trace), *RESOURCES, "--policy", policy]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert says in told[-1]
