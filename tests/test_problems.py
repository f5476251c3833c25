"""A type of problem from a package of its own works in every command; parts that it lacks are told or done without."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.packages import install
from tests.warm_process import COMMANDS, WarmProcess
from transom.errors import SpecError
from transom.io import write_documents
from transom.models import Cluster, JobTable, Window
from transom.problems import documents, has_fronts, kinds, known_type, problem_type, problem_types, types_of

JOBS = [([7, 7, 6, 6, 5, 5, 4, 4, 4], 4), ([3, 3, 2, 2, 2], 2), ([5, 4, 3], 3)]
WORTH = [15, 7, 5]  # of longest processing time first; the last is proved


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where both packages are installed."""
    folder = tmp_path_factory.mktemp("site")
    install("makespan", folder)
    install("strays", folder)
    return folder


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with instances, a window among them."""
    folder = tmp_path_factory.mktemp("here")
    lines = [{"format": "transom/makespan/1", "times": times, "machines": machines} for times, machines in JOBS]
    (folder / "jobs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    queue = JobTable(np.array([[4, 0, 1, 3, -1, -1], [9, 0, 1, 5, -1, -1], [7, 1, 1, 4, -1, -1]]))
    none = np.empty((0, 6), np.int64)
    window = Window(5, Cluster(2), queue, JobTable(none), np.empty(0, np.int64), np.array([2]))
    write_documents(folder / "window.json", [window])
    return folder


@pytest.fixture(scope="module")
def transom(site: Path, here: Path) -> Iterator[Callable[..., Ran]]:
    """Runs a command in a process that finds the packages."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    with WarmProcess(COMMANDS) as process:

        def run(*arguments: object) -> Ran:
            done = process.run(["transom", *map(str, arguments)], here, environment)
            return Ran(done.returncode, done.stdout, done.stderr)

        yield run


def test_it_is_solved_and_checked(transom: Callable[..., Ran]) -> None:
    shown = transom("solve", "jobs.jsonl", "--solver", "longest-job")
    assert (shown.status, shown.err) == (0, "")
    assert "3 x makespan: 2 feasible, 1 optimal" in shown.out
    ran = transom("solve", "jobs.jsonl", "--seconds", 60, "--json", "--solutions", "--out", "results.jsonl")
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["value"] for line in lines] == WORTH
    assert {(line["problem"], line["solver"]) for line in lines} == {("makespan", "auto")}
    assert lines[2]["solution"] == [0, 1, 2]
    sound = transom("check", "jobs.jsonl", "results.jsonl")
    assert (sound.status, "all sound" in sound.out) == (0, True)


def test_a_wrong_result_and_a_damaged_document_are_reported(transom: Callable[..., Ran], here: Path) -> None:
    transom("solve", "jobs.jsonl", "--out", "good.jsonl")
    first = json.loads((here / "good.jsonl").read_text().splitlines()[0])
    (here / "bad.jsonl").write_text(json.dumps({**first, "solution": [9] * 9}))
    ran = transom("check", "jobs.jsonl", "bad.jsonl")
    assert (ran.status, "bad.jsonl:1: job 0 is on machine 9" in ran.out) == (1, True)
    (here / "short.jsonl").write_text(json.dumps({**first, "solution": [0]}))
    assert (
        transom("check", "jobs.jsonl", "short.jsonl").err
        == "error: short.jsonl:1: solution: 1 entries, but items = 9\n"
    )
    (here / "float.json").write_text('{"format": "transom/makespan/1", "times": [1.5], "machines": 1}')
    assert transom("solve", "float.json").err == "error: float.json: $.times[0]: expected `int`, got `float`: 1.5\n"


def test_a_window_is_read_as_it(transom: Callable[..., Ran]) -> None:
    (line,) = transom("solve", "window.json", "--problem", "makespan", "--json").out.splitlines()
    assert json.loads(line)["value"] == 7  # 5 and 4 + 3 on two nodes
    refused = transom("solve", "window.json", "--problem", "makespan", "--objective", "wait")
    takers = "knapsacks or placements or joint choices or bare problems"
    assert refused.err == f"error: window.json: --objective is for {takers}, this is a makespan problem\n"
    assert transom("solve", "jobs.jsonl", "--problem", "scas").err.startswith(
        "error: jobs.jsonl:1: holds a makespan problem, not a scas problem"
    )


def test_it_is_benched_and_reported(transom: Callable[..., Ran], here: Path) -> None:
    solvers = ("--solver", "longest-job", "--solver", "auto")
    ran = transom("bench", "run", "--instances", "jobs.jsonl", *solvers, "--seconds", 0.2, "--out", "store")
    assert ran.status == 0, ran.err
    assert "6 ok" in ran.err
    assert "makespan" in transom("bench", "score", "store").out
    told = transom("report", "store", "--out", "page.html")
    assert told.status == 0, told.err
    page = (here / "page.html").read_text()
    assert "makespan" in page
    assert "longest-job" in page


def test_a_library_keeps_it(transom: Callable[..., Ran], here: Path) -> None:
    (here / "mine").mkdir()
    (here / "mine" / "jobs.jsonl").write_text((here / "jobs.jsonl").read_text())
    assert transom("library", "add", "mine/jobs.jsonl", "--library", "mine").status == 0
    transom("solve", "mine/jobs.jsonl", "--out", "mine-results.jsonl")
    ran = transom("library", "update", "mine-results.jsonl", "--library", "mine")
    assert ran.status == 0, ran.err
    ran = transom("library", "verify", "--library", "mine", "--solve", 1)
    assert ran.status == 0, ran.out + ran.err
    assert "makespan" in transom("library", "list", "--library", "mine").out


def test_it_is_listed_and_has_a_schema(transom: Callable[..., Ran]) -> None:
    listed = transom("solvers").out
    assert "Solvers of makespan problems\n  auto " in listed
    assert "\n  longest-job  " in listed
    schema = json.loads(transom("schema", "makespan").out)
    assert schema["$defs"]["MakespanDocument"]["required"] == ["format", "times", "machines"]
    assert "transom/makespan/1" in transom("schema").out


def test_what_a_type_lacks_is_one_line(transom: Callable[..., Ran]) -> None:
    unable = transom("solve", "window.json", "--problem", "bare")
    told = "solver 'auto' cannot take this bare: no solver is known for problems of the kind bare"
    assert unable == (2, "", f"error: window.json: {told}\n")
    no_document = transom("schema", "bare")
    assert no_document == (
        2, "", "error: a bare problem has no document: its type states no codec, and its class is no dataclass\n",
    )  # fmt: skip
    broken = transom("solve", "window.json", "--problem", "absent")
    assert broken == (2, "", "error: problem 'absent' cannot be loaded: No module named 'no_such_module'\n")
    misnamed = transom("solve", "window.json", "--problem", "misnamed")
    assert misnamed == (2, "", "error: problem 'misnamed': its entry point is no ProblemType of that kind\n")


def test_auto_stands_beside_further_kinds(transom: Callable[..., Ran]) -> None:
    """``bare`` has features, but neither a schedule nor a solver."""
    (line,) = transom("solve", "window.json", "--seconds", 60, "--json").out.splitlines()
    assert (json.loads(line)["problem"], json.loads(line)["status"]) == ("knapsack", "optimal")


def test_the_page_shows_the_package(root: Path) -> None:
    page = (root / "docs" / "problems.md").read_text()
    package = root / "tests" / "packages" / "makespan"
    assert f"{{literalinclude}} ../{(package / 'makespan.py').relative_to(root)}" in page
    shown = (package / "pyproject.toml").read_text()
    assert shown[shown.index("[project.entry-points") :].rstrip("\n") in page


def test_the_types_of_this_package() -> None:
    own = ["knapsack", "selection", "scas", "dcas", "free", "csp", "placement", "workflow"]
    assert [kind for kind in kinds() if kind in own] == own
    assert kinds()[: len(own)] == own
    assert [each.kind for each in types_of(problem_type("free").model)] == ["scas", "dcas", "free"]
    assert documents()["allocation"].kind == "scas"
    assert [has_fronts(kind) for kind in (*own, "unknown")] == [False, True, *[False] * 7]
    assert known_type("unknown") is None
    with pytest.raises(SpecError, match="unknown problem 'knapsak'; did you mean 'knapsack'"):
        problem_type("knapsak")


def test_every_part_that_is_named_is_there() -> None:
    for each in problem_types():
        for name in each.__slots__:
            if name in ("made_from", "recipes"):
                assert all(callable(part) for part in map(_found, getattr(each, name).values()))
            elif name not in ("kind", "states", "name", "plural", "about", "document", "relaxed", "solver", "then"):
                each.part(name)


def _found(part: object) -> object:
    from transom.models.problem import found

    return found(part)
