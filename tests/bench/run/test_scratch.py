"""Runs work in folders of their own, and find the files that a plan names all the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.faulty import knapsack, task
from transom.bench.plan.plan import InstanceSet, Plan, read_plan
from transom.bench.plan.rooted_specs import rooted
from transom.bench.run.isolation import Isolation
from transom.bench.run.local_engine import LocalEngine
from transom.bench.run.running import run_plan
from transom.bench.store.store import read_results
from transom.io import write_documents

pytestmark = pytest.mark.usefixtures("faulty_solvers")


def test_what_a_solver_writes_is_gone_after_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    isolation = Isolation()
    try:
        rows = [isolation.run_one(task("faulty:how=write-files", seed=seed)) for seed in range(3)]
        assert [row.outcome for row in rows] == ["ok"] * 3
        assert [row.parameters["found"] for row in rows] == [[]] * 3
        (folder,) = {row.parameters["folder"] for row in rows}  # of one worker, which is not replaced
        assert list(Path(folder).iterdir()) == []
        assert isolation.run_one(task("faulty:how=write-files,first=answers", memory=4096)).outcome == "ok"
    finally:
        isolation.close()
    assert list(tmp_path.iterdir()) == []
    assert not Path(folder).exists()
    assert Path("/etc").exists()


def test_what_a_solver_wrote_before_it_died_is_gone_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    isolation = Isolation()
    try:
        assert isolation.run_one(task("faulty:how=write-then-die")).outcome == "crash"
        assert isolation.run_one(task("faulty:how=write-files")).parameters["found"] == []
        assert len(list(isolation._folder.glob("process-*"))) == 1
    finally:
        isolation.close()
    assert list(tmp_path.iterdir()) == []


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
