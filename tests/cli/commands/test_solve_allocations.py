"""solve and check on allocations, constrained paths, windows with a topology and lines of a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.allocation_cases import figure_2, optimum
from tests.cli.conftest import Ran
from transom.io import PeriodWindow, read_documents, write_documents
from transom.io.instances import ReadOptions, read_instances, read_labelled
from transom.models import (
    AUTHORS,
    Allocation,
    Cluster,
    ConstrainedPath,
    FatTree,
    HopCost,
    Job,
    JobTable,
    Knapsack,
    Window,
)

Transom = Callable[..., Ran]
TREE = FatTree.k_ary(4)
LINES = [
    PeriodWindow(TREE, [0, 1, 3, 4, 5, 8, 9, 12], [7, 3, 5], [3, 1, 2], 1, 1),
    PeriodWindow(TREE, [1, 2, 6, 7, 11], [4, 9], [2, 2], 1, 2),
]
STATIC = Allocation(TREE, [0, 1, 3, 4, 5, 8, 9], [3, 2], "static", True, AUTHORS)
KEYS = ["instance", "problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "seed"]


def written(path: Path, *things: Any) -> Path:
    write_documents(path, things)
    return path


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    return written(tmp_path / "stream.jsonl.gz", *LINES)


@pytest.fixture
def window(tmp_path: Path) -> Path:
    queue = JobTable.of(
        [Job(3, 90, 2, 60), Job(4, 0, 1, 7200), Job(5, 50, 2, 600), Job(6, 60, 9, 600), Job(8, 60, 2, 9)]
    )
    empty = JobTable(np.empty((0, 6)))
    thing = Window(100, Cluster(16, topology=TREE), queue, empty, np.empty(0), [6], [0, 1, 3, 4, 8, 9])
    return written(tmp_path / "window.json", thing)


@pytest.mark.parametrize("problem", ["scas", "dcas", "free"])
@pytest.mark.parametrize("cost", ["paper", "authors", "custom:same_leaf=1,other=9"])
@pytest.mark.parametrize("wrap", ["--wrap", "--no-wrap"])
def test_lines_are_read_as_stated(lines: Path, problem: str, cost: str, wrap: str) -> None:
    found = list(read_labelled([lines], ReadOptions(problem, None, cost, wrap == "--wrap")))
    assert [instance.label for instance in found] == [f"{lines}:1", f"{lines}:2"]
    assert [instance.jobs for instance in found] == [[7, 5], [4, 9]]
    stated = {"paper": HopCost(), "authors": AUTHORS}.get(cost, HopCost(same_leaf=1, other=9))
    for (_, read, _), line in zip(found, LINES, strict=True):
        assert isinstance(read, Allocation)
        assert (read.kind, read.wrap, read.cost) == (problem, wrap == "--wrap", stated)
        assert read.idle.tolist() == line.idle.tolist()
        assert read.sizes.tolist() == [n for n in line.nodes if n > 1]


def test_a_stream_is_solved(transom: Transom, lines: Path) -> None:
    ran = transom("solve", lines, "--solver", "scas-dp", "--cost-model", "authors", "--json", "--solutions")
    assert (ran.status, ran.err) == (0, "")
    for line, given in zip(ran.lines, LINES, strict=True):
        problem = given.allocation("static", True, AUTHORS)
        assert list(line) == [*KEYS, "jobs", "nodes"]
        assert (line["problem"], line["status"], line["gap"]) == ("scas", "optimal", 0)
        assert line["jobs"] == given.allocated.tolist()
        owner = problem.owners(line["nodes"])
        assert problem.violations(owner) == []
        assert problem.value(owner) == line["value"] == line["bound"] == optimum(problem)
        assert isinstance(line["value"], int)


def test_the_order_of_a_dynamic_solution(transom: Transom, lines: Path) -> None:
    ran = transom("solve", lines, "--problem", "dcas", "--solver", "sa", "--iterations", 50, "--json", "--solutions")
    assert (ran.status, ran.err) == (0, "")
    for line, given in zip(ran.lines, LINES, strict=True):
        assert list(line) == [*KEYS, "jobs", "nodes", "order"]
        problem = given.allocation("dynamic")
        assert problem.order(problem.owners(line["nodes"])) == line["order"]
        assert line["value"] == problem.value(problem.owners(line["nodes"]))


def test_paths_of_a_stream(transom: Transom, lines: Path, tmp_path: Path) -> None:
    ran = transom("solve", lines, "--problem", "csp", "--solver", "csp-dp", "--json", "--solutions")
    paths = [ConstrainedPath.from_allocation(line.allocation("static", False)) for line in LINES]
    same = transom("solve", written(tmp_path / "p.jsonl", *paths), "--solver", "csp-dp", "--json", "--solutions")
    for line, again, path in zip(ran.lines, same.lines, paths, strict=True):
        assert list(line) == [*KEYS, "arcs"]
        assert path.violations(line["arcs"]) == []
        assert path.value(line["arcs"]) == line["value"] == again["value"]
    static = transom("solve", lines, "--no-wrap", "--solver", "scas-dp", "--json")
    assert [line["value"] for line in ran.lines] == [line["value"] for line in static.lines]


def test_one_name_for_several_problems(transom: Transom, lines: Path, tmp_path: Path) -> None:
    knapsack = written(tmp_path / "k.json", Knapsack([3, 4], [2, 2], 3))
    ran = transom("solve", knapsack, lines, "--solver", "sa", "--iterations", 20)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.splitlines()[-1].startswith("1 x knapsack + 2 x scas: ")
    chosen = transom("solve", lines, "--problem", "knapsack", "--solver", "dp", "--json", "--solutions").lines
    assert [line["solution"] for line in chosen] == [[0, 1, 2], [0, 1]]


def test_a_window_with_a_topology(transom: Transom, window: Path) -> None:
    # Jobs 3, 4 and 5 fit; job 4 has one node, and job 8 stands behind one that does not fit.
    (line,) = transom("solve", window, "--problem", "scas", "--solver", "scas-dp", "--json", "--solutions").lines
    assert line["jobs"] == [3, 5]
    assert (line["value"], line["nodes"]) == (4000, [[0, 1], [8, 9]])
    assert transom("solve", window, "--solver", "dp", "--json").lines[0]["problem"] == "knapsack"


def test_allocations_state_their_problem(transom: Transom, tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", STATIC, STATIC.with_rule("free"), figure_2())
    assert [problem.kind for _, problem in read_instances([path])] == ["scas", "free", "scas"]
    assert [problem for _, problem in read_instances([path], ReadOptions("dcas"))] == [
        each.with_rule("dynamic") for each in (STATIC, STATIC, figure_2())
    ]
    assert [problem.wrap for _, problem in read_instances([path], ReadOptions(wrap=False))] == [False] * 3
    assert all(isinstance(problem, ConstrainedPath) for _, problem in read_instances([path], ReadOptions("csp")))
    same = written(tmp_path / "b.json", STATIC)
    assert list(read_instances([same], ReadOptions(cost_model="authors"))) == [(str(same), STATIC)]
    ran = transom("solve", path, "--problem", "scas", "--solver", "scas-dp", "--json")
    assert [line["value"] for line in ran.lines[:2]] == [optimum(STATIC)] * 2
    assert ran.lines[2]["value"] == optimum(figure_2())


def test_infeasible_windows_are_results(transom: Transom, tmp_path: Path) -> None:
    path = written(
        tmp_path / "few.jsonl",
        PeriodWindow(TREE, [0, 1, 2], [1], [4]),
        PeriodWindow(TREE, [], [1], [2]),
        PeriodWindow(TREE, [0, 1], [], []),
        PeriodWindow(TREE, np.arange(16), [1], [16]),
    )
    for problem, solver in (("scas", "scas-dp"), ("dcas", "sequential"), ("free", "sequential"), ("csp", "csp-dp")):
        out = tmp_path / f"{problem}.jsonl"
        ran = transom("solve", path, "--problem", problem, "--solver", solver, "--json", "--solutions", "--out", out)
        assert ran.status == 0
        assert [line["status"] for line in ran.lines[:3]] == ["infeasible", "infeasible", "optimal"]
        assert ran.lines[3]["status"] in ("optimal", "feasible")
        assert ran.lines[0]["arcs" if problem == "csp" else "nodes"] is None
        assert ran.lines[2]["value"] == 0
        assert transom("check", path, out).status == 0


def test_a_picture_of_an_allocation(transom: Transom, window: Path, tmp_path: Path) -> None:
    picture = tmp_path / "nodes.svg"
    ran = transom("solve", window, "--problem", "scas", "--picture", picture)
    assert (ran.status, ran.err) == (0, f"picture: {picture}\n")
    assert picture.read_bytes().startswith(b"<?xml")


def test_table(transom: Transom, lines: Path) -> None:
    ran = transom("solve", lines, "--solver", "scas-dp")
    assert ran.out.count("optimal   proof") == 2
    assert "2 x scas: 2 optimal" in ran.out.splitlines()[-1]
    assert ".00 " in ran.out  # floats of thousands: two decimals
    floored = transom("solve", lines, "--solver", "scas-dp", "--cost-model", "authors").out
    value = transom("solve", lines, "--solver", "scas-dp", "--cost-model", "authors", "--json").lines[0]["value"]
    assert f" {value:,} " in floored


def test_results_are_checked_as_what_they_are_for(transom: Transom, lines: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    options = ["--cost-model", "authors", "--no-wrap"]
    transom("solve", lines, "--problem", "scas", "--solver", "scas-dp", *options, "--out", out)
    transom("solve", lines, "--problem", "dcas", "--solver", "sequential", *options, "--out", out)
    transom("solve", lines, "--problem", "csp", "--solver", "csp-dp", *options[:2], "--out", out)
    transom("solve", lines, "--problem", "knapsack", "--solver", "dp", "--out", out)
    ran = transom("check", lines, out, *options)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        f"{out}: all sound: 2 x optimal scas, 2 x feasible dcas, 2 x optimal csp, 2 x optimal knapsack\n"
    )
    again = transom("solve", lines, "--problem", "scas", "--solver", "scas-dp", *options, "--out", out)
    assert "2 of 2 were there already" in again.err
    assert len(list(read_documents(out))) == 8

    other = transom("check", lines, out)
    assert other.status == 2
    assert "does not hold under the cost model paper, with wrap-around" in other.err

    rows = [json.loads(row) for row in out.read_text().splitlines()]
    rows[0]["solution"][0] = -1
    rows[4]["solution"] = rows[5]["solution"]
    rows[4]["items"] = len(rows[4]["solution"])
    out.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = transom("check", lines, out, *options)
    assert ran.status == 1
    assert ran.out.splitlines()[-1] == f"{out}: 2 of 8 wrong"
    assert f"{out}:1: job " in ran.out


BAD: list[tuple[list[str], str]] = [
    (["solve", "stream.jsonl", "--problem", "tsp"], "unknown problem 'tsp'"),
    (["solve", "stream.jsonl", "--cost-model", "author"], "unknown cost model 'author'; did you mean 'authors'?"),
    (["solve", "stream.jsonl", "--cost-model", "custom:hops=1"], "'custom' has no parameter 'hops'"),
    (["solve", "stream.jsonl", "--cost-model", "custom:other=1"], "same_leaf <= same_pod <= other"),
    (["solve", "stream.jsonl", "--objective", "nodes"], "--objective is for knapsacks or placements or joint"),
    (["solve", "stream.jsonl", "--problem", "csp", "--wrap"], "stream.jsonl:1: a constrained path has no wrap-around"),
    (["solve", "stream.jsonl", "--problem", "knapsack", "--no-wrap"], "stream.jsonl:1: --no-wrap is for allocations"),
    (["solve", "stream.jsonl", "--problem", "knapsack", "--objective", "wait"], "neither submission nor walltime"),
    (["solve", "stream.jsonl", "--problem", "dcas", "--solver", "scas-dp"], "solver 'scas-dp' cannot take this dcas"),
    (["solve", "stream.jsonl", "--solver", "csp-dp"], "it solves ConstrainedPath problems"),
    (["solve", "stream.jsonl", "--solver", "dp"], "it solves Knapsack problems"),
    (["solve", "stream.jsonl", "--solver", "sa:speed=1"], "'sa' has no parameter 'speed'"),
    (["solve", "k.json", "--problem", "scas"], "k.json: holds a knapsack, not a scas problem"),
    (["solve", "k.json", "--cost-model", "paper"], "k.json: --cost-model is for allocations or constrained paths"),
    (["solve", "p.json", "--problem", "scas"], "p.json: holds a constrained path, not a scas problem"),
    (["solve", "p.json", "--wrap"], "p.json: a path states its costs; --wrap is for windows"),
    (["solve", "a.json", "--problem", "knapsack"], "a.json: holds an allocation, not a knapsack problem"),
    (["solve", "a.json", "--cost-model", "paper"], "a.json: an allocation states what hops cost"),
    (["solve", "a.json", "--objective", "wait"], "a.json: --objective is for knapsacks or placements or joint"),
    (["solve", "w.json", "--problem", "scas"], "w.json: allocation: the window's cluster has no topology"),
    (["solve", "w.json", "--cost-model", "paper"], "w.json: --cost-model is for allocations or constrained paths"),
    (["solve", "twice.jsonl"], "twice.jsonl:2: window: idle node 3: this id stands 2 times"),
    (["solve", "outside.json"], "outside.json: window: idle node 16 is outside the tree of 16 nodes, 0 to 15"),
    (["solve", "ones.jsonl"], "ones.jsonl:1: window: its jobs ask for 3 nodes, 1 of them for one-node jobs, but 2"),
    (["check", "stream.jsonl", "r.jsonl", "--objective", "wait"], "holds no results of knapsacks"),
    (["check", "stream.jsonl", "stream.jsonl"], "stream.jsonl:1: holds a window of a stream; expected a result"),
    (["solve", "a.json", "--out", "p.jsonl"], "p.jsonl:1: holds a constrained path, not a result"),
    (["check", "a.json", "a.json"], "a.json: holds an allocation; expected a result"),
    (["check", "k.json", "rk.jsonl", "--no-wrap"], "holds no results of allocations"),
    (["check", "stream.jsonl", "r.jsonl", "--no-wrap"], "under the cost model paper, without wrap-around"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from transom.solving import solve

    folder = tmp_path_factory.mktemp("bad")
    knapsack = Knapsack([3, 4], [2, 2], 3)
    written(folder / "stream.jsonl", *LINES)
    written(folder / "k.json", knapsack)
    written(folder / "a.json", STATIC)
    written(folder / "p.json", ConstrainedPath(4, [2], [1], [[1, 2, 3, np.inf]]))
    (folder / "p.jsonl").write_bytes((folder / "p.json").read_bytes())
    written(folder / "ones.jsonl", PeriodWindow(TREE, [0, 1], [1, 2], [2, 1]))
    written(folder / "r.jsonl", solve(LINES[0].allocation(), "scas-dp"))
    written(folder / "rk.jsonl", solve(knapsack, "dp"))
    queue, empty = JobTable.of([Job(3, 90, 2, 60)]), JobTable(np.empty((0, 6)))
    written(folder / "w.json", Window(100, Cluster(4), queue, empty, np.empty(0), [4]))
    good = (folder / "stream.jsonl").read_text().splitlines()[0]
    told = json.loads(good)
    (folder / "twice.jsonl").write_text(good + "\n" + json.dumps({**told, "idle": [1, 3, 3]}) + "\n")
    (folder / "outside.json").write_text(json.dumps({**told, "idle": [1, 16]}))
    return folder


@pytest.mark.parametrize(("arguments", "says"), BAD, ids=range(len(BAD)))
def test_bad_input_is_one_line(
    transom: Transom, folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(folder)
    if arguments[0] == "solve" and "--solver" not in arguments:
        arguments = [*arguments, "--solver", "sequential"]
    ran = transom(*arguments)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    assert says in ran.err


@pytest.mark.reference
def test_the_reference_stream(transom: Transom, shared: Path) -> None:
    path = shared / "instances" / "nsa_table_epoch_1.jsonl.gz"
    values = {}
    for solver in ("scas-dp", "sequential"):
        ran = transom("solve", path, "--problem", "scas", "--solver", solver, "--cost-model", "authors", "--json")
        values[solver] = sum(line["value"] for line in ran.lines) / 100
    assert {line["status"] for line in transom("solve", path, "--solver", "scas-dp", "--json").lines} == {"optimal"}
    assert values == {"scas-dp": pytest.approx(79_627, abs=1), "sequential": pytest.approx(99_136, abs=1)}
