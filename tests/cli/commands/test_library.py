from __future__ import annotations

import csv
import io
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

from tests.cli.conftest import Ran
from transom.bench.best_known.library import INDEX, Library, read_library, write_library
from transom.bench.plan.task import Row
from transom.bench.store.store import Store
from transom.generate import generate_knapsack
from transom.io import read_documents, write_documents
from transom.models import Knapsack
from transom.result import Result
from transom.solving import solve
from transom.stop import Stop

Transom = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three knapsacks in a folder of their own."""
    path = tmp_path / "mine" / "packs.jsonl"
    rng = np.random.default_rng(0)
    write_documents(path, [generate_knapsack("weakly-correlated", 25, 100, rng) for _ in range(3)])
    return path.parent


@pytest.fixture
def library(transom: Transom, folder: Path) -> Path:
    assert transom("library", "add", folder / "packs.jsonl", "--library", folder).status == 0
    return folder


@pytest.fixture
def solved(transom: Transom, folder: Path, tmp_path: Path) -> Path:
    path = tmp_path / "dp.jsonl"
    assert transom("solve", folder / "packs.jsonl", "--solver", "dp", "--out", path).status == 0
    return path


def index(folder: Path) -> list[dict[str, object]]:
    return pl.read_parquet(folder / INDEX).to_dicts()


def results(path: Path) -> list[Result]:
    return [document for _, document in read_documents(path) if isinstance(document, Result)]


def test_from_nothing_to_proved(transom: Transom, library: Path, solved: Path) -> None:
    assert [line["line"] for line in index(library)] == [1, 2, 3]
    ran = transom("library", "verify", "--library", library)
    assert (ran.status, ran.out) == (0, f"{library}: all sound: 3 entries, 0 proved\n")
    ran = transom("library", "update", solved, "--library", library)
    assert (ran.status, ran.err) == (0, "")
    first, *_, last = ran.out.splitlines()
    value = results(solved)[0].value
    assert first == f"packs.jsonl:1: knapsack: value unknown -> {value}, bound unknown -> {value}, proved by dp"
    assert last == f"{library}: 3 of 3 entries updated"
    before = (library / INDEX).read_bytes()
    ran = transom("library", "update", solved, "--library", library)
    assert ran.out == f"{library}: 0 of 3 entries updated\n"
    assert (library / INDEX).read_bytes() == before
    ran = transom("library", "verify", "--library", library, "--solve", "20")
    assert ran.out.splitlines() == [
        f"{library}: 3 of 3 proofs repeated within 20 s, 3 by another method",
        f"{library}: all sound: 3 entries, 3 proved",
    ]


def test_list(transom: Transom, library: Path, solved: Path) -> None:
    transom("library", "update", solved, "--library", library)
    table = transom("library", "list", "--library", library).out
    assert table.rstrip().splitlines()[-1].split() == ["packs.jsonl", "knapsack", "dp", "3", "3", "3"]
    rows = list(csv.DictReader(io.StringIO(transom("library", "list", "--csv", "--library", library).out)))
    lines = transom("library", "list", "--json", "--library", library).lines
    assert (
        [row["digest"] for row in rows] == [line["digest"] for line in lines] == [r.instance for r in results(solved)]
    )
    assert (
        [float(row["value"]) for row in rows] == [line["value"] for line in lines] == [r.value for r in results(solved)]
    )
    assert (rows[0]["proved_by"], rows[0]["solver"], rows[0]["proved"]) == ("dp", "dp", "yes")
    ran = transom("library", "list", "--csv", "--json", "--library", library)
    assert (ran.status, ran.err) == (2, "error: either --csv or --json\n")


def test_what_is_wrong_has_a_line_and_a_status(transom: Transom, library: Path, solved: Path) -> None:
    transom("library", "update", solved, "--library", library)
    first, second, _ = read_library(library).entries
    assert second.best is not None
    forged = msgspec.structs.replace(second, best=msgspec.structs.replace(second.best, value=1))
    write_library(Library(library, [first, forged]))
    ran = transom("library", "verify", "--library", library)
    assert ran.status == 1
    told = ran.out.splitlines()
    assert any(line.startswith("packs.jsonl:2: knapsack: gap 0.0 does not fit value 1") for line in told)
    assert f"{library}/packs.jsonl:3: has no entry" in told
    assert told[-1] == f"{library}: 1 of 2 entries wrong; further faults: 1"


def test_contradictions_change_nothing(transom: Transom, library: Path, solved: Path, tmp_path: Path) -> None:
    transom("library", "update", solved, "--library", library)
    before = (library / INDEX).read_bytes()
    first = results(solved)[0]
    (_, problem), *_ = read_documents(library / "packs.jsonl")
    assert isinstance(problem, Knapsack)
    poor = solve(problem, "greedy", Stop(iterations=1))
    assert poor.value is not None
    fewer = poor.solution.copy()
    fewer[np.flatnonzero(fewer)[0]] = False
    below = problem.value(fewer)
    lie = replace(poor, solution=fewer, value=below, bound=below, status="optimal", reason="proof", solver="liar")
    write_documents(tmp_path / "lie.jsonl", [lie])
    ran = transom("library", "update", tmp_path / "lie.jsonl", "--library", library)
    assert ran.status == 1
    told, last = ran.out.splitlines()
    assert told.startswith(
        f"packs.jsonl:1: knapsack: dp (the library) found {first.value}, but liar (lie.jsonl:1, row "
    )
    assert told.endswith(f"proved that nothing is better than {below}")
    assert last == f"{library}: nothing was changed"
    assert (library / INDEX).read_bytes() == before


def test_a_result_that_does_not_stand_is_left_out(
    transom: Transom, library: Path, solved: Path, tmp_path: Path
) -> None:
    first, second, _ = results(solved)
    write_documents(tmp_path / "some.jsonl", [replace(first, solution=~first.solution), second])
    ran = transom("library", "update", tmp_path / "some.jsonl", "--library", library)
    assert ran.status == 1
    assert "packs.jsonl:1: knapsack:" in ran.err
    assert "is not taken" in ran.err
    assert ran.out.splitlines()[-1] == f"{library}: 1 of 3 entries updated"


def test_results_of_other_instances_are_counted(transom: Transom, library: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.json"
    write_documents(other, [generate_knapsack("uncorrelated", 9, 100, np.random.default_rng(5))])
    transom("solve", other, "--out", tmp_path / "other.jsonl")
    ran = transom("library", "update", tmp_path / "other.jsonl", "--library", library)
    assert ran.status == 0
    assert ran.err == f"{tmp_path}/other.jsonl: 1 of 1 results are for instances that {library} does not have\n"


def test_remove(transom: Transom, library: Path) -> None:
    (library / "packs.jsonl").unlink()
    assert transom("library", "verify", "--library", library).status == 1
    ran = transom("library", "remove", "nothing.jsonl", "--library", library)
    assert (ran.status, ran.err) == (2, f"error: nothing.jsonl: {library} has no entry of such a file\n")
    ran = transom("library", "remove", library / "packs.jsonl", "--library", library)
    assert ran.out == f"{library}: 3 entries removed, 0 left\n"
    assert transom("library", "verify", "--library", library).status == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("verify",), "best_known.parquet: no such file"),
        (("list",), "best_known.parquet: no such file"),
        (("update", "x.jsonl"), "best_known.parquet: no such file"),
        (("remove", "x.jsonl"), "best_known.parquet: no such file"),
        (("add", "x.jsonl"), "does not lie in"),
        (("verify", "--solve", "0"), "--solve must be > 0"),
        (("update", "x.jsonl", "--seconds", "-1"), "--seconds must be > 0"),
        (("add", "packs.jsonl", "--problem", "tsp"), "unknown problem 'tsp'"),
        (("add", "packs.jsonl", "--cost-model", "paper"), "--cost-model is for allocations or constrained paths"),
    ],
)
def test_bad_input(
    transom: Transom, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    command, *further = arguments
    given = [str(folder / word) if word == "packs.jsonl" else word for word in further]
    ran = transom("library", command, *given, "--library", folder)
    assert ran.status == 2
    assert ran.err.startswith("error: ")
    assert told in ran.err
    assert ran.err.count("\n") == 1
    assert not (folder / INDEX).exists()


def test_ctrl_c_keeps_what_was_repeated(library: Path, tmp_path: Path) -> None:
    (_, first), (_, second), _ = read_documents(library / "packs.jsonl")
    assert isinstance(first, Knapsack)
    assert isinstance(second, Knapsack)
    facts = {"set": "s", "label": "l", "problem": "knapsack", "seed": 0, "threads": 1, "sense": "max", "size": 25}
    with Store(tmp_path / "runs") as store:
        for problem, solver, stop in ((first, "dp", Stop(seconds=30.0)), (second, "sa", Stop(seconds=600.0))):
            claim = {"value": 1.0, "name": solver, "spec": solver, "stop": stop, "outcome": "ok", "key": solver}
            store.append(Row(instance=problem.digest(), **facts, **claim))
    command = [sys.executable, "-u", "-c", "from transom.cli import main; main()", "library", "update"]
    process = subprocess.Popen(
        [*command, tmp_path / "runs", "--library", library], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline().startswith("packs.jsonl:1: knapsack: value unknown -> ")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=600)
    assert (process.returncode, told.splitlines()[-1]) == (130, "interrupted: what was finished is kept")
    assert [line["best"] is not None for line in index(library)] == [True, False, False]
