"""Files of classes on the command line: replays, solutions, runs of the bench; plans and logs that name one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Ran
from tests.test_class_files import CONTENT
from transom.bench.store.store import read_results
from transom.io import write_documents
from transom.models import Knapsack
from transom.slurm.audit import Audit

Command = Callable[..., Ran]
PLAN = """format = "transom/plan/1"
solvers = ["./mine.py:Dense"]
budgets = [{iterations = 10}]

[[instances]]
files = ["one.json"]
"""
REFUSED = "run only where the command line itself names it, or with --trust"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a file of classes, an instance, and a plan that names both."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "beside", raising=False)
    monkeypatch.setattr("transom.class_files._trusted", {})
    (tmp_path / "beside.py").write_text("BIG = 10**9\n")
    (tmp_path / "mine.py").write_text(CONTENT)
    (tmp_path / "plan.toml").write_text(PLAN)
    write_documents(tmp_path / "one.json", [Knapsack([6, 5, 4], [3, 3, 2], 5)])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_replay_is_that_of_the_registered_policy(transom: Command, trace: Path, mine: Path) -> None:
    names = ("sjf", "./mine.py:Shortest", "mine=./mine.py:Rule-easy", "sjf-easy")
    policies = [word for name in names for word in ("--policy", name)]
    ran = transom("simulate", trace, *policies, "--no-figures", "--out", "runs", "--json")
    assert ran.status == 0, ran.err
    starts = {path.parent.name: pl.read_parquet(path)["start"] for path in (mine / "runs").glob("*/jobs.parquet")}
    assert starts.keys() == {"sjf", "Shortest", "mine", "sjf-easy"}
    assert (starts["Shortest"] == starts["sjf"]).all()
    assert (starts["mine"] == starts["sjf-easy"]).all()


@pytest.mark.parametrize("spec", ["Shortest", "Rule-easy", "widest-easy", "made", "wrapped"])
def test_a_replay_is_kept_until_the_file_changes(transom: Command, trace: Path, mine: Path, spec: str) -> None:
    content = CONTENT + "\nfrom transom.simulation import RulePolicy\n\nwrapped = RulePolicy('sjf', 'easy')\n"
    (mine / "mine.py").write_text(content)
    words = ("simulate", trace, "--policy", f"kept=./mine.py:{spec}", "--no-figures", "--out", "runs")
    assert transom(*words).status == 0
    jobs = mine / "runs" / "kept" / "jobs.parquet"
    written = jobs.stat().st_mtime_ns
    assert transom(*words).status == 0
    assert jobs.stat().st_mtime_ns == written
    (mine / "mine.py").write_text(content + "# changed\n")
    assert transom(*words).status == 0
    assert jobs.stat().st_mtime_ns > written


def test_a_solver_answers(transom: Command, mine: Path) -> None:
    ran = transom("solve", "one.json", "--solver", "./mine.py:Dense", "--json")
    assert ran.status == 0, ran.err
    assert [(line["solver"], line["value"]) for line in ran.lines] == [("dense", 10)]
    assert transom("solve", "one.json", "--solver", "./mine.py:Sparse").err.startswith(
        "error: ./mine.py has no 'Sparse'"
    )


def test_runs_of_the_bench_in_processes_of_their_own(transom: Command, mine: Path) -> None:
    words = (
        "bench",
        "run",
        "--instances",
        "one.json",
        "--solver",
        "./mine.py:Dense",
        "--iterations",
        10,
        "--out",
        "out",
    )
    ran = transom(*words)
    assert ran.status == 0, ran.err
    (row,) = read_results(mine / "out").iter_rows(named=True)
    assert (row["name"], row["outcome"], row["value"]) == ("Dense", "ok", 10.0), row["cause"]
    assert len(row["weights"]) == 32
    assert "nothing was left to do" in transom(*words).err
    (mine / "mine.py").write_text(CONTENT + "# changed\n")
    assert "1 run in" in transom(*words).err


def test_a_plan_that_names_a_file_needs_trust(transom: Command, mine: Path) -> None:
    refused = transom("bench", "run", "plan.toml", "--out", "out")
    assert refused.status == 2
    assert REFUSED in refused.err
    ran = transom("bench", "run", "plan.toml", "--out", "out", "--trust")
    assert ran.status == 0, ran.err
    assert read_results(mine / "out")["outcome"].to_list() == ["ok"]
    assert transom("bench", "plan", "--instances", "one.json", "--solver", "dp", "--trust").status == 2


def test_a_log_that_names_a_file_needs_trust(transom: Command, mine: Path) -> None:
    Audit(mine / "audit.jsonl").write("begin", policy="./mine.py:Shortest", allocate=None, seed=0)
    refused = transom("slurm", "replay", "audit.jsonl")
    assert refused.status == 2
    assert REFUSED in refused.err
    assert transom("slurm", "replay", "audit.jsonl", "--trust").status == 0
