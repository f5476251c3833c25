from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran
from transom.generate import generate_knapsack, hard_knapsack
from transom.io import read_documents, write_documents
from transom.models import Cluster, Job, JobTable, Knapsack, Placement, Window
from transom.result import Result
from transom.solvers.knapsack.dynamic_programming import DynamicProgramming
from transom.stop import Stop

Transom = Callable[..., Ran]
SMALL = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
KEYS = ["instance", "problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "seed"]


def knapsacks(count: int, seed: int = 0) -> list[Knapsack]:
    rng = np.random.default_rng(seed)
    return [generate_knapsack("weakly-correlated", 20, 100, rng) for _ in range(count)]


def results(path: Path) -> list[Result]:
    return [document for _, document in read_documents(path) if isinstance(document, Result)]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.json"
    write_documents(path, [SMALL])
    return path


@pytest.fixture
def many(tmp_path: Path) -> Path:
    path = tmp_path / "many.jsonl"
    write_documents(path, knapsacks(5))
    return path


@pytest.fixture
def window(tmp_path: Path) -> Path:
    queue = JobTable.of([Job(3, 90, 2, 60), Job(4, 0, 2, 7200), Job(5, 50, 3, 600)])
    running = JobTable.of([Job(9, 0, 1, 150)])
    path = tmp_path / "window.json"
    write_documents(path, [Window(100, Cluster(4), queue, running, np.array([150]), np.array([3]))])
    return path


def test_json_has_the_stated_fields(transom: Transom, small: Path) -> None:
    ran = transom("solve", small, "--problem", "knapsack", "--solver", "dp", "--seed", 4, "--json")
    assert ran.status == 0
    assert ran.err == ""
    (line,) = ran.lines
    assert list(line) == KEYS
    assert {**line, "seconds": 0} == {
        "instance": str(small), "problem": "knapsack", "solver": "dp", "status": "optimal", "reason": "proof",
        "value": 220, "bound": 220, "gap": 0.0, "seconds": 0, "seed": 4,
    }  # fmt: skip


def test_instances_are_named_by_file_and_line(transom: Transom, small: Path, many: Path, tmp_path: Path) -> None:
    plib = tmp_path / "three.kp"
    plib.write_text("3\n5\n60 1\n100 2\n120 3\n")
    ran = transom("solve", many, small, plib, "--solver", "dp", "--json", "--solutions")
    assert [line["instance"] for line in ran.lines] == [*(f"{many}:{i}" for i in range(1, 6)), str(small), str(plib)]
    for line, problem in zip(ran.lines, [*knapsacks(5), SMALL, SMALL], strict=True):
        chosen = np.zeros(len(problem), bool)
        chosen[line["solution"]] = True
        assert problem.violations(chosen) == []
        assert problem.value(chosen) == line["value"] == line["bound"]


def test_table_and_totals(transom: Transom, many: Path) -> None:
    ran = transom("solve", many, "--solver", "dp")
    assert "status" in ran.out
    assert ran.out.count("optimal   proof") == 5
    assert "5 x knapsack: 5 optimal" in ran.out.splitlines()[-1]
    assert "\x1b" not in ran.out + ran.err


def test_a_window_is_valued_by_the_objective(transom: Transom, window: Path) -> None:
    def chosen(*more: str) -> dict[str, Any]:
        return transom("solve", window, "--solver", "dp", "--json", "--solutions", *more).lines[0]

    assert (chosen()["value"], chosen()["solution"]) == (3, [2])  # nodes; 3 are free
    waited = chosen("--objective", "wait")
    assert (waited["value"], waited["solution"]) == (2 * 101, [1])
    capacity = chosen("--objective", "dras-capacity")
    assert (capacity["value"], capacity["solution"]) == (60_000_000, [0])  # times 1e6
    table = transom("solve", window, "--solver", "dp", "--objective", "dras-capacity").out
    assert "60.000000" in table


def test_stop_is_one_second_unless_iterations_say_when(transom: Transom, small: Path, tmp_path: Path) -> None:
    for i, (arguments, stop) in enumerate(
        [
            ([], Stop(seconds=1)),
            (["--seconds", 0.5, "--gap", 0.01], Stop(seconds=0.5, gap=0.01)),
            (["--iterations", 7], Stop(iterations=7)),
            (["--stall", 3, "--target", 100], Stop(stall=3, target=100)),
        ]
    ):
        out = tmp_path / f"{i}.jsonl"
        assert transom("solve", small, "--solver", "dp", "--out", out, *arguments).status == 0
        assert results(out)[0].stop == stop


def test_out_is_picked_up(transom: Transom, many: Path, tmp_path: Path) -> None:
    out = tmp_path / "results" / "out.jsonl.gz"
    first = transom("solve", many, "--solver", "dp", "--out", out, "--json")
    kept = results(out)
    assert [result.instance for result in kept] == [problem.digest() for problem in knapsacks(5)]

    write_documents(many, knapsacks(7))
    second = transom("solve", many, "--solver", "dp", "--out", out, "--json")
    assert second.lines[:5] == first.lines  # to the microsecond: they were read, not computed
    assert "5 of 7 were there already" in second.err
    assert [result.curve for result in results(out)[:5]] == [result.curve for result in kept]
    assert len(results(out)) == 7


@pytest.mark.parametrize(
    "changed", [["--seed", 1], ["--seconds", 2], ["--threads", 2], ["--solver", "dp:memory=64"], ["--solver", "greedy"]]
)
def test_other_terms_are_other_results(transom: Transom, many: Path, tmp_path: Path, changed: list[Any]) -> None:
    out = tmp_path / "out.jsonl"
    base = ["solve", many, "--out", out]
    assert transom(*base, "--solver", "dp").status == 0
    assert "already" not in transom(*base, *([] if "--solver" in changed else ["--solver", "dp"]), *changed).err
    assert len(results(out)) == 10
    assert "5 of 5" in transom(*base, "--solver", "dp:memory=512").err  # the default, spelt out


def test_force_replaces(transom: Transom, many: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    transom("solve", many, "--solver", "dp", "--out", out)
    before = results(out)
    assert "already" not in transom("solve", many, "--solver", "dp", "--out", out, "--force").err
    after = results(out)
    assert [r.instance for r in after] == [r.instance for r in before]
    assert [r.seconds for r in after] != [r.seconds for r in before]


def test_a_failure_is_a_result_and_tried_again(
    transom: Transom, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out.jsonl"

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no luck")

    with monkeypatch.context() as patched:
        patched.setattr(DynamicProgramming, "__call__", fail)
        ran = transom("solve", many, "--solver", "dp", "--out", out, "--json")
    assert ran.status == 1
    assert {(line["status"], line["reason"], line["error"]) for line in ran.lines} == {
        ("unknown", "error", "RuntimeError: no luck")
    }
    assert f"{many}:3: the solver failed: RuntimeError: no luck" in ran.err
    judged = transom("check", many, out)
    assert judged.status == 1
    assert f"{out}:3: the solver failed: RuntimeError: no luck\n" in judged.out
    assert f"{out}: 5 of 5 wrong" in judged.out
    ran = transom("solve", many, "--solver", "dp", "--out", out, "--json")
    assert {line["status"] for line in ran.lines} == {"optimal"}
    assert [result.error for result in results(out)] == [None] * 5


def test_a_refusal_comes_before_the_work(transom: Transom, tmp_path: Path) -> None:
    path, out = tmp_path / "set.jsonl", tmp_path / "out.jsonl"
    large = hard_knapsack("uncorrelated", np.random.default_rng(0), 100)
    write_documents(path, [SMALL, large, SMALL])
    ran = transom("solve", path, "--solver", "dp", "--out", out, "--json")
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith(f"error: {path}:2: solver 'dp' cannot take this knapsack: the table of 100 items")
    assert not out.exists()


def test_out_never_replaces_something_else(transom: Transom, small: Path, many: Path) -> None:
    before = many.read_bytes()
    ran = transom("solve", small, "--solver", "dp", "--out", many)
    assert (ran.status, ran.err) == (2, f"error: {many}:1: holds a knapsack, not a result\n")
    assert many.read_bytes() == before


def test_what_was_solved_before_an_interrupt_is_kept(
    transom: Transom, many: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, calls = tmp_path / "out.jsonl", []
    DynamicProgramming().warm_up()  # once in a process, and it calls the solver
    solve = DynamicProgramming.__call__

    def interrupted(self: Any, problem: Any, *rest: Any, **named: Any) -> None:
        calls.append(problem)
        if len(calls) == 3:
            raise KeyboardInterrupt
        solve(self, problem, *rest, **named)

    monkeypatch.setattr(DynamicProgramming, "__call__", interrupted)
    ran = transom("solve", many, "--solver", "dp", "--out", out)
    assert (ran.status, ran.err) == (130, "interrupted: what was finished is kept\n")
    assert len(results(out)) == 2
    assert "2 of 5 were there already" in transom("solve", many, "--solver", "dp", "--out", out).err
    assert len(calls) == 6  # the third one twice


MANY = 150
"""Instances that take longer than any pause of the process that presses Ctrl-C."""


@pytest.mark.parametrize("solver", ["primal-dual", "cpsat"])
def test_ctrl_c_leaves_a_whole_file(tmp_path: Path, solver: str) -> None:
    path, out = tmp_path / "hard.jsonl", tmp_path / "out.jsonl"
    rng = np.random.default_rng(1)
    write_documents(path, [hard_knapsack("strongly-correlated", rng, 2000) for _ in range(MANY)])
    arguments = ["solve", path, "--solver", solver, "--seconds", "0.5", "--json", "--out", out]
    with subprocess.Popen(
        [sys.executable, "-c", "from transom.cli import main; main()", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        printed = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.send_signal(signal.SIGINT)
        printed += [json.loads(line) for line in process.stdout]
        assert process.wait(600) == 130
        assert process.stderr.read().splitlines()[-1] == "interrupted: what was finished is kept"
    kept = results(out)
    assert [result.value for result in kept] == [line["value"] for line in printed]
    assert 2 <= len(kept) < MANY
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_placement_is_valued_by_the_objective(transom: Transom, tmp_path: Path) -> None:
    path, results = tmp_path / "p.jsonl", tmp_path / "r.jsonl"
    write_documents(path, [Placement([[4]], [[3], [1]], [1, 2], durations=[1, 9])])
    asked = ["solve", path, "--solver", "placement-exact", "--json", "--solutions"]
    assert transom(*asked).lines[0]["value"] == 2
    (line,) = transom(*asked, "--objective", "area", "--out", results).lines
    assert (line["value"], line["placed"]) == (1_000_000, [[[0, 1]], [[0, 1]]])
    assert "all sound" in transom("check", path, results, "--objective", "area").out
    assert transom("check", path, results).status == 2
    refused = transom(*asked, "--objective", "wait")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == f"error: {path}:1: --objective of a placement is count, area or area-duration, got 'wait'\n"


def test_an_instance_is_exported(transom: Transom, tmp_path: Path, small: Path, many: Path) -> None:
    for name in ("model.mps", "model.lp"):
        ran = transom("solve", small, "--export", tmp_path / name)
        assert ran.status == 0
        assert f"{name}: 3 variables, 1 condition" in ran.err.replace("\n", "")
        assert "item2" in (tmp_path / name).read_text()
    for file, target, why in (
        (small, "model.txt", "--export: the name must end in .mps or .lp"),
        (many, "model.lp", "--export writes one instance; there are 5"),
    ):
        ran = transom("solve", file, "--export", tmp_path / target)
        assert (ran.status, ran.err.count("error:")) == (2, 1)
        assert why in ran.err
