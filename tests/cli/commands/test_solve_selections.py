"""solve and check on selections: documents, windows with several resources, multi-objective knapsacks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import Ran
from tests.selection_cases import true_front
from transom import registry
from transom.io import PeriodWindow, read_documents, write_documents
from transom.io.instances import ReadOptions, read_instances, read_labelled
from transom.models import Allocation, Cluster, FatTree, Job, JobTable, Knapsack, ParetoFront, Selection, Window
from transom.models.objectives import Waited
from transom.result import Result

Transom = Callable[..., Ran]
KEYS = ["instance", "problem", "solver", "status", "reason", "value", "bound", "gap", "seconds", "seed"]
KEYS += ["front", "points", "chosen"]
EXACT = ("--solver", "exhaustive", "--seconds", 60)  # the default of a second is short where the machine is busy
QUEUE = [
    Job(17, 0, 4, 900, (10, 0)),
    Job(21, 10, 6, 900, (0, 4)),
    Job(22, 20, 3, 900, (12, 2)),
    Job(23, 30, 5, 900, (8, 1)),
    Job(29, 40, 13, 900, (0, 0)),
]
RUNNING = [Job(3, 0, 4, 900, (10, 2))]


def the_window() -> Window:
    cluster = Cluster(16, ("bb", "gpu"), (30, 8))
    return Window(100, cluster, JobTable.of(QUEUE), JobTable.of(RUNNING), [900], [12, 20, 6])


def written(path: Path, *things: Any) -> Path:
    write_documents(path, things)
    return path


@pytest.fixture
def window(tmp_path: Path) -> Path:
    return written(tmp_path / "window.json", the_window())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return written(tmp_path / "small.jsonl", Selection([[3, 1], [2, 2]], [4, 3]), Selection([[1], [1]], [1]))


def solved_values(line: dict[str, Any]) -> set[tuple[int, ...]]:
    return {tuple(point["values"]) for point in line["solution"]}


@pytest.mark.parametrize("name", ["selection.json", "set.jsonl.gz"])
def test_documents_are_solved(transom: Transom, tmp_path: Path, name: str) -> None:
    problem = Selection([[3, 1], [2, 2], [1, 3]], [4, 4])
    path = written(tmp_path / name, problem)
    ran = transom("solve", path, *EXACT, "--json")
    assert (ran.status, ran.err) == (0, "")
    (line,) = ran.lines
    assert list(line) == KEYS
    assert (line["problem"], line["status"], line["gap"]) == ("selection", "optimal", 0)
    assert (line["front"], line["points"]) == ("complete", len(true_front(problem)))
    assert line["value"] == line["bound"]
    assert list(line["chosen"]) == ["trade-off"]
    (line,) = transom("solve", path, *EXACT, "--json", "--solutions", "--problem", "selection").lines
    assert list(line) == [*KEYS, "terms", "solution"]
    assert line["terms"] == ["r0", "r1"]
    assert solved_values(line) == true_front(problem)
    chosen = [[int(job in point["jobs"]) for job in range(3)] for point in line["solution"]]
    assert problem.evaluate(chosen).tolist() == [point["values"] for point in line["solution"]]


def test_a_window_of_several_resources(transom: Transom, window: Path) -> None:
    ran = transom("solve", window, "--problem", "selection", *EXACT, "--json", "--solutions")
    assert (ran.status, ran.err) == (0, "")
    (line,) = ran.lines
    problem = Selection.from_window(the_window())
    assert line["terms"] == ["nodes", "bb", "gpu"]
    assert solved_values(line) == true_front(problem)
    ids = [job.id for job in QUEUE]
    for point in line["solution"]:
        assert problem.feasible([[job in point["jobs"] for job in ids]]).all()
    taken = line["chosen"]["trade-off"]
    assert {key: taken[key] for key in ("values", "jobs")} == {
        "values": {"nodes": 11, "bb": 8, "gpu": 5},
        "jobs": [21, 23],
    }
    assert taken["utilisation"] == pytest.approx({"nodes": 11 / 16, "bb": 8 / 30, "gpu": 5 / 8})
    assert transom("solve", window, "--solver", "dp", "--json").lines[0]["problem"] == "knapsack"


def test_objectives_are_named(transom: Transom, window: Path) -> None:
    ran = transom(
        "solve", window, "--problem", "selection", "--objectives", "gpu/waited", *EXACT, "--json", "--solutions"
    )
    assert (ran.status, ran.err) == (0, "")
    problem = Selection.from_window(the_window(), {"gpu": None, "waited": Waited()})
    assert ran.lines[0]["terms"] == ["gpu", "waited"]
    assert solved_values(ran.lines[0]) == true_front(problem)
    assert list(read_instances([window], ReadOptions("selection", objectives="gpu/waited"))) == [(str(window), problem)]
    (instance,) = read_labelled([window], ReadOptions("selection"))
    assert instance.jobs == [17, 21, 22, 23, 29]
    # Real values are scaled, and shown without the scale; resources that are no objective are shown as well.
    shown = transom("solve", window, "--problem", "selection", "--objectives", "dras-capacity/nodes", *EXACT).out
    header = next(line for line in shown.splitlines() if "taken by" in line)
    assert " ".join(header.split()) == "point taken by jobs dras-capacity nodes [%] bb [%] gpu [%]"
    assert " 8.000000 " in shown


def test_every_rule_takes_a_point(transom: Transom, window: Path) -> None:
    rules = [*registry.names(registry.DECISION_RULES), "lexicographic:order=gpu/bb", "weighted:weights=0/0/1"]
    asked = [part for rule in rules for part in ("--decide", rule)]
    (line,) = transom("solve", window, "--problem", "selection", *EXACT, *asked, "--json", "--solutions").lines
    assert list(line["chosen"]) == rules
    for taken in line["chosen"].values():
        point = line["solution"][taken["point"]]
        assert point == {"values": list(taken["values"].values()), "jobs": taken["jobs"]}
    most = max(values[2] for values in solved_values(line))
    assert line["chosen"]["lexicographic:order=gpu/bb"]["values"]["gpu"] == most
    assert line["chosen"]["weighted:weights=0/0/1"]["values"]["gpu"] == most


def test_the_table_of_one_front(transom: Transom, window: Path) -> None:
    ran = transom("solve", window, "--problem", "selection", *EXACT, "--decide", "trade-off", "--decide", "knee")
    assert (ran.status, ran.err) == (0, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert "5 points, complete" in ran.out
    assert "1 x selection: 1 optimal" in ran.out
    assert ["point", "taken", "by", "jobs", "nodes", "[%]", "bb", "[%]", "gpu", "[%]"] in rows
    (first,) = [row for row in rows if row[:1] == ["0"]]
    assert "trade-off" in " ".join(first)
    assert first[-5:] == ["21", "23", "68.75", "26.67", "62.50"]
    assert ran.out.count("knee") == 1


def test_a_long_front_is_cut(transom: Transom, tmp_path: Path) -> None:
    demands = np.random.default_rng(1).integers(0, 1000, (14, 4))
    path = written(tmp_path / "long.json", Selection(demands, [2500] * 4))
    (line,) = transom("solve", path, *EXACT, "--json").lines
    assert line["points"] > 25
    ran = transom("solve", path, *EXACT, "--decide", "lexicographic:order=r1")
    assert f"and {line['points'] - 21} more; --json --solutions prints all of them" in ran.out
    (taken,) = [row.split() for row in ran.out.splitlines() if "lexicographic" in row]
    assert int(taken[0]) > 20
    assert sum(row[:4].strip().isdigit() for row in ran.out.splitlines()) == 21
    assert "jobs, from 0" in ran.out


def test_several_instances(transom: Transom, small: Path) -> None:
    ran = transom("solve", small, *EXACT, "--decide", "knee")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.count("Points that decision rules take") == 2  # of other resources: another table
    assert "small.jsonl:1   knee" in ran.out
    assert "Points of the front" not in ran.out


def test_the_same_solver_name_for_another_problem(transom: Transom, small: Path, tmp_path: Path) -> None:
    knapsack = written(tmp_path / "k.json", Knapsack([3, 4], [2, 2], 3))
    ran = transom("solve", small, knapsack, "--json", "--seconds", 5)
    assert (ran.status, ran.err) == (0, "")
    assert [line["problem"] for line in ran.lines] == ["selection", "selection", "knapsack"]
    assert ["front" in line for line in ran.lines] == [True, True, False]
    assert all(line["status"] == "optimal" for line in ran.lines)


def test_multi_objective_knapsacks(transom: Transom, tmp_path: Path) -> None:
    kirlik, hadi = tmp_path / "k.dat", tmp_path / "h.dat"
    kirlik.write_text("2\n3\n10\n[[5, 6, 7],\n[1, 0, 9]]\n[4, 5, 6]\n")
    hadi.write_text("3\n10\n8\n-5 -6 -7\n-1 0 -9\n4 5 6\n1 2 3\n")
    for path in (kirlik, hadi):
        (line,) = transom("solve", path, "--problem", "selection", *EXACT, "--json", "--solutions").lines
        ((_, problem),) = read_documents(path)
        assert isinstance(problem, Selection)
        assert solved_values(line) == true_front(problem)
        assert line["front"] == "complete"


def test_a_window_without_jobs(transom: Transom, tmp_path: Path) -> None:
    empty = JobTable(np.empty((0, 6)))
    window = Window(0, Cluster(4, ("gpu",), (3,)), empty, empty, [], [4, 3])
    assert window.requests().shape == (0, 2)
    path = written(tmp_path / "empty.json", window)
    for objectives in ("nodes/gpu", "nodes/wait/dras-capability"):
        ran = transom("solve", path, "--problem", "selection", "--objectives", objectives, *EXACT, "--json")
        assert (ran.lines[0]["front"], ran.lines[0]["points"]) == ("complete", 1)


def test_500_jobs_that_do_not_all_fit(transom: Transom, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    path = written(tmp_path / "many.json", Selection(rng.integers(0, 10**6, (500, 3)), [10**7] * 3))
    (line,) = transom("solve", path, "--solver", "nsga2", "--iterations", 20, "--json").lines
    assert (line["status"], line["front"]) == ("feasible", "not complete")
    assert line["points"] > 1


def test_an_infeasible_selection_is_a_result(transom: Transom, tmp_path: Path) -> None:
    path = written(tmp_path / "bad.json", Selection([[3], [2]], [4], forced=[1, 1]))
    (line,) = transom("solve", path, *EXACT, "--json", "--solutions").lines
    assert (line["status"], line["value"]) == ("infeasible", None)
    assert (line["front"], line["points"], line["chosen"], line["solution"]) == (None, 0, {}, None)
    results = tmp_path / "r.jsonl"
    ran = transom("solve", path, *EXACT, "--out", results)
    assert (ran.status, ran.err) == (0, f"results: {results}\n")
    assert transom("check", path, results).out == f"{results}: all sound: 1 x infeasible selection\n"


def test_results_are_kept_and_checked(transom: Transom, window: Path, tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl.gz"
    selection = ["--problem", "selection", *EXACT]
    first = transom(
        "solve", window, *selection, "--objectives", "nodes/wait", "--out", results, "--json", "--solutions"
    )
    again = transom(
        "solve", window, *selection, "--objectives", "nodes/wait", "--out", results, "--json", "--solutions"
    )
    assert "(1 of 1 were there already)" in again.err
    assert first.lines == again.lines
    ((_, kept),) = read_documents(results)
    assert isinstance(kept, Result)
    assert isinstance(kept.solution, ParetoFront)
    assert kept.parameters["front"] == "complete"
    told = "all sound: 1 x optimal selection, front complete"
    assert transom("check", window, results, "--objectives", "nodes/wait").out == f"{results}: {told}\n"
    ran = transom("check", window, results)
    assert ran.status == 2
    assert ran.err.endswith(f"which {window} does not hold under the objectives of every resource\n")
    # Of another problem in the same file, with options for each.
    transom("solve", window, "--solver", "dp", "--objective", "wait", "--out", results)
    ran = transom("check", window, results, "--objective", "wait", "--objectives", "nodes/wait")
    assert ran.out.endswith("all sound: 1 x optimal selection, front complete, 1 x optimal knapsack\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: row["solution"]["values"][0].__setitem__(0, 9), "point 0 is not worth what is stated"),
        (lambda row: row["solution"]["jobs"].__setitem__(0, [0, 1]), "takes more than the 4 that are free of r0"),
        (lambda row: row.update(solution={"values": [[0, 0]], "jobs": [[]]}), "leaves out job 0, which still fits"),
        (lambda row: row.update(solution={"values": [[3, 1]], "jobs": [[0]]}), "the solution is worth"),
        (lambda row: row.update(status="feasible"), "a complete front is claimed, but the status is feasible"),
        (lambda row: row.update(bound=None, gap=None), "optimal is claimed, but the value is"),
        (lambda row: row["parameters"].update(front="not complete"), "the front is said to be not complete"),
        (
            lambda row: row.update(solution={"values": [[3, 1]], "jobs": [[0]]}, value=0.4, bound=0.4),
            "a complete front is claimed, but it lacks [2, 2] (1 in all)",
        ),
        (
            lambda row: row.update(status="infeasible", solution=None, value=None, bound=None, gap=None),
            "infeasible is claimed, but the forced jobs fit together",
        ),
    ],
)
def test_wrong_results_are_named(
    transom: Transom, small: Path, tmp_path: Path, change: Callable[[dict[str, Any]], None], says: str
) -> None:
    results = tmp_path / "r.jsonl"
    transom("solve", small, *EXACT, "--out", results)
    rows = [json.loads(row) for row in results.read_text().splitlines()]
    change(rows[0])
    results.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = transom("check", small, results)
    assert ran.status == 1
    assert f"{results}:1: " in ran.out
    assert says in ran.out
    assert ran.out.endswith(f"{results}: 1 of 2 wrong\n")


REFUSED = {
    "objectives of a knapsack of a window": (["window", "--objectives", "nodes"], "--objectives is for selections"),
    "rule for a knapsack": (["window", "--decide", "knee"], "--decide does not go with these files: they hold no sel"),
    "picture of a knapsack": (["window", "--picture", "x.png"], "--picture does not go with these files"),
    "objective of a selection": (
        ["window", "--problem", "selection", "--objective", "wait"],
        "--objective is for knapsacks or placements or joint choices, this is a selection",
    ),
    "hops of a selection": (["window", "--problem", "selection", "--no-wrap"], "--no-wrap is for allocations"),
    "objectives of a document": (["small", "--objectives", "r0"], "a selection states its objectives; --objectives"),
    "hops of a document": (["small", "--cost-model", "paper"], "small.jsonl:1: --cost-model is for allocations"),
    "a document as a knapsack": (["small", "--problem", "knapsack"], "holds a selection, not a knapsack problem"),
    "unknown resource": (
        ["window", "--problem", "selection", "--objectives", "nodes/gpus"],
        "window.json: unknown objective or resource 'gpus'; did you mean 'gpu'?",
    ),
    "objective twice": (["window", "--problem", "selection", "--objectives", "bb/bb"], "'bb' stands twice"),
    "unknown rule": (["small", "--decide", "kneee"], "unknown decision rule 'kneee'; did you mean 'knee'?"),
    "weights of a rule": (
        ["small", "--decide", "weighted:weights=1/2"],
        "small.jsonl:2: decision rule 'weighted:weights=1/2': weighted: 2 weights for 1 objectives: r0",
    ),
    "objective of a rule": (["small", "--decide", "lexicographic:order=gpu"], "small.jsonl:1: decision rule"),
    "picture of two": (["small", "--picture", "x.png"], "--picture draws one instance; there are 2"),
    "kind of picture": (["small", "--picture", "x.bmp"], "the name must end in .png, .pdf, .svg, got 'x.bmp'"),
    "solver of knapsacks": (["small", "--solver", "dp"], "cannot take this selection: it solves Knapsack problems"),
    "stream": (["stream", "--problem", "selection"], "stream.jsonl:1: holds a window of a stream, not a selection"),
    "allocation": (["allocation", "--problem", "selection"], "holds an allocation, not a selection problem"),
    "knapsack": (["knapsack", "--problem", "selection"], "holds a knapsack, not a selection problem"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_apply_is_refused(transom: Transom, window: Path, small: Path, tmp_path: Path, case: str) -> None:
    tree = FatTree.k_ary(4)
    files = {
        "window": window,
        "small": small,
        "stream": written(tmp_path / "stream.jsonl", PeriodWindow(tree, [0, 1, 3], [7], [2])),
        "allocation": written(tmp_path / "a.json", Allocation(tree, [0, 1, 3], [2])),
        "knapsack": written(tmp_path / "k.json", Knapsack([3, 4], [2, 2], 3)),
    }
    (file, *options), says = REFUSED[case]
    solver = () if "--solver" in options else EXACT
    ran = transom("solve", files[file], *solver, *options)
    assert (ran.status, ran.out) == (2, "")
    assert says in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_picture_is_drawn(transom: Transom, window: Path, tmp_path: Path) -> None:
    picture = tmp_path / "figures" / "four.pdf"
    asked = [
        "--problem",
        "selection",
        "--objectives",
        "nodes/bb/gpu/waited",
        "--decide",
        "knee",
        "--decide",
        "trade-off",
    ]
    ran = transom("solve", window, *asked, *EXACT, "--picture", picture, "--json")
    assert (ran.status, ran.err) == (0, f"picture: {picture}\n")
    assert len(ran.lines) == 1
    assert picture.read_bytes().startswith(b"%PDF")


def test_no_picture_without_a_front(transom: Transom, tmp_path: Path) -> None:
    path, picture = written(tmp_path / "bad.json", Selection([[3], [2]], [4], forced=[1, 1])), tmp_path / "x.png"
    ran = transom("solve", path, *EXACT, "--picture", picture)
    assert (ran.status, ran.err) == (0, f"{picture}: not drawn, there is no solution\n")
    assert not picture.exists()


def test_check_refuses_objectives_for_other_results(transom: Transom, window: Path, tmp_path: Path) -> None:
    results = tmp_path / "r.jsonl"
    transom("solve", window, "--solver", "dp", "--out", results)
    ran = transom("check", window, results, "--objectives", "nodes")
    assert (ran.status, ran.err) == (
        2,
        f"error: {results}: holds no results of selections; --objectives is for those\n",
    )
