"""Runs work in folders of their own, and find the files that a plan names all the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from tests.bench.faulty import knapsack, task
from transom.bench.plan.plan import InstanceSet, Plan, read_plan
from transom.bench.plan.rooted_specs import rooted
from transom.bench.run.isolation import run_isolated
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.running import run_plan
from transom.bench.store.store import read_results
from transom.io import write_documents

pytestmark = pytest.mark.usefixtures("faulty_solvers")


@pytest.mark.parametrize(("how", "outcome"), [("write-files", "ok"), ("write-then-die", "crash")])
def test_what_a_solver_writes_is_gone_after_the_run(
    how: str, outcome: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    row = run_isolated(task(f"faulty:how={how}"))
    assert row.outcome == outcome
    assert row.parameters.get("found", []) == []
    assert [list((tmp_path / name).iterdir()) for name in ("here", "temporary")] == [[], []]
    assert Path("/etc").exists()  # there is a link to everything among the files


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with a file, beside one with a plan and another file of the same name."""
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights.txt").write_text(name)
    write_documents(tmp_path / "there" / "one.json", [knapsack()])
    (tmp_path / "there" / "plan.toml").write_text(
        'format = "transom/plan/1"\nsolvers = ["reading:file=weights.txt"]\n[[instances]]\nfiles = ["one.json"]\n'
    )
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def read(plan: Plan, folder: Path) -> list[object]:
    run_plan(plan, folder, LocalEngine(1))
    rows = read_results(folder)
    assert rows["cause"].to_list() == [None] * len(rows)
    return [text.partition('"read":"')[2].partition('"')[0] for text in rows["parameters"]]


def test_files_of_solvers_in_a_plan_start_at_its_folder(here: Path, tmp_path: Path) -> None:
    assert read(read_plan("../there/plan.toml"), tmp_path / "results") == ["there"]


def test_files_of_solvers_elsewhere_start_at_the_current_folder(here: Path, tmp_path: Path) -> None:
    plan = Plan(
        instances=(InstanceSet(files=(str(tmp_path / "there" / "one.json"),)),), solvers=("reading:file=weights.txt",)
    )
    assert read(plan, tmp_path / "results") == ["here"]


def test_what_looks_like_a_file_and_is_one_is_rooted(here: Path) -> None:
    full = str(here / "weights.txt")
    for spec, expected in {
        "reading:file=weights.txt": f"reading:file={full}",
        "mine=reading:file=./weights.txt": f"mine=reading:file={full}",
        "window:solver=[reading:file=weights.txt,x=3],size=20": f"window:solver=[reading:file={full},x=3],size=20",
        f"reading:file={full}": f"reading:file={full}",
        "reading:file=absent.txt": "reading:file=absent.txt",
        "sa:cooling=0.99": "sa:cooling=0.99",
        "greedy": "greedy",
    }.items():
        assert rooted(spec, here) == expected
    (here / "dp").mkdir()
    assert rooted("window:solver=dp", here) == "window:solver=dp"  # a name
