"""The bundled instances: made by the commands of their README, optima proved by other solvers again."""

from __future__ import annotations

import csv
import gzip
import shlex
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from instances import prove
from instances.fronts import Fronts, enumerated, fronts_path, values_of
from tests.allocation_cases import optimum
from transom import Stop, read_swf, solve
from transom.bench.instances import read_instances
from transom.cli import run
from transom.io import read_documents
from transom.models import Allocation, ConstrainedPath
from transom.result import Result
from transom.solving import check

FILES = (
    "workloads/lublin_5000.swf.gz",
    "windows/lublin.jsonl",
    "windows/lublin_wait.jsonl",
    "windows/lublin_dras.jsonl",
    "windows/replay.jsonl.gz",
    "classes/pisinger_50.jsonl",
    "tjap/small.jsonl",
    "tjap/paper_stream.jsonl.gz",
    "tjap/code_stream.jsonl.gz",
    "tjap/fragmented_2000.jsonl.gz",
    "csp/stream.jsonl.gz",
    "csp/random.jsonl.gz",
    "selection/families.jsonl.gz",
    "selection/six.jsonl.gz",
    "selection/terms.jsonl.gz",
    "selection/pairs.jsonl.gz",
    "selection/replay.jsonl.gz",
    "selection/replay_waited.jsonl.gz",
)
SELECTIONS = tuple(name for name in FILES if name.startswith("selection/"))
FRONTS = tuple(name.replace("selection/", "selection/fronts/") for name in SELECTIONS)

# What proves again, and on which share of the instances: every so many.
AGAIN = {
    "knapsack": (("primal-dual", 1), ("cpsat", 17)),
    "scas": (("scas-dp", 1), ("scas-flow", 29)),
    "dcas": (("dcas-exact", 5),),
    "free": (("free-exact", 7),),
    "csp": (("csp-dp", 1), ("csp-flow", 17)),
}


@pytest.fixture(scope="module")
def instances(root: Path) -> Path:
    return root / "instances"


@pytest.fixture(scope="module")
def optima(instances: Path) -> dict[str, list[dict[str, str]]]:
    with (instances / "optima.csv").open(encoding="utf-8", newline="") as file:
        rows = defaultdict(list)
        for row in csv.DictReader(file):
            rows[row["file"]].append(row)
    return rows


def problems(instances: Path, name: str, kind: str, rows: list[dict[str, str]]) -> Iterator[tuple[Any, dict[str, str]]]:
    """The problems of a kind that a file poses, with the rows of those that are proved."""
    stated = {int(row["line"]): row for row in rows if row["problem"] == kind}
    objective = next(iter(stated.values()))["objective"] or None
    for label, problem in read_instances([instances / name], kind, objective):
        if row := stated.pop(int(label.rpartition(":")[2]), None):
            yield problem, row
    assert not stated


def content(path: Path) -> bytes:
    # Compressed bytes may differ between versions of zlib.
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def test_the_commands_of_the_readme_make_the_files(
    instances: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (instances / "README.md").read_text("utf-8")
    block = text.partition("## How they were made")[2].partition("```sh\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    for line in block.splitlines():
        program, *arguments = shlex.split(line)
        assert program == "transom"
        assert run(arguments) == 0
    assert {str(path.relative_to(tmp_path / "instances")) for path in tmp_path.rglob("*.*")} == set(FILES)
    for name in FILES:
        assert content(tmp_path / "instances" / name) == content(instances / name), name


def test_the_folder_holds_what_it_says(instances: Path, optima: dict[str, list[dict[str, str]]]) -> None:
    held = {str(path.relative_to(instances)) for path in instances.rglob("*") if path.is_file()}
    held = {name for name in held if "__pycache__" not in name}
    assert held == {*FILES, *FRONTS, "README.md", "optima.csv", "prove.py", "fronts.py"}
    assert sum((instances / name).stat().st_size for name in held) < 3_000_000
    assert sum((instances / name).stat().st_size for name in (*SELECTIONS, *FRONTS)) < 200_000
    assert set(optima) == {name for name in FILES if not name.startswith("workloads")}
    text = (instances / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in (*FILES, "optima.csv"))


def test_the_workload(instances: Path) -> None:
    workload = read_swf(instances / "workloads/lublin_5000.swf.gz")
    assert len(workload) == 5000
    assert workload.cluster.num_nodes == 512
    assert not workload.repairs
    load = (workload.jobs.nodes * workload.runtime).sum() / (512 * workload.jobs.submit[-1])
    assert load == pytest.approx(0.85, abs=1e-3)


@pytest.mark.parametrize("kind", AGAIN)
def test_optima_are_proved_again(instances: Path, optima: dict[str, list[dict[str, str]]], kind: str) -> None:
    names = [name for name, rows in optima.items() if any(row["problem"] == kind for row in rows)]
    assert names
    for name in names:
        found = list(problems(instances, name, kind, optima[name]))
        for problem, row in found:
            assert problem.digest() == row["digest"]
            assert (len(problem), _capacity(problem), getattr(problem, "scale", 1)) == tuple(
                int(row[column]) for column in ("items", "capacity", "scale")
            )
        for solver, every in AGAIN[kind]:
            for problem, row in found[::every]:
                result = solve(problem, solver, Stop(seconds=60))
                assert result.status == "optimal", f"{name}:{row['line']}"
                assert result.value == pytest.approx(float(row["optimum"]), rel=1e-9), f"{name}:{row['line']}"


@pytest.mark.parametrize("name", SELECTIONS)
def test_fronts_are_proved_again(instances: Path, optima: dict[str, list[dict[str, str]]], name: str) -> None:
    found = list(problems(instances, name, "selection", optima[name]))
    fronts = [front for _, front in read_documents(fronts_path(instances, name))]
    assert len(found) == len(fronts) == len(optima[name])
    for position, ((problem, row), front) in enumerate(zip(found, fronts, strict=True)):
        assert isinstance(front, Result)
        assert front.instance == row["digest"] == problem.digest()
        assert check(problem, front) == []
        assert (front.status, front.parameters["front"]) == ("optimal", "complete")
        assert row["items"] == str(len(problem))
        assert row["capacity"] == "/".join(map(str, problem.capacity.tolist()))
        assert float(row["optimum"]) == front.value
        assert row["proved_by"].startswith("exhaustive+pareto-dp")
        for solver, every in (("pareto-dp", 3), ("exhaustive:limit=60", 4)):
            if position % every == 0:
                again = solve(problem, solver, Stop(seconds=60))
                assert again.status == "optimal"
                assert values_of(again.solution) == values_of(front.solution)
        if len(problem) <= 12:
            assert enumerated(problem) == values_of(front.solution)


def test_what_is_proved_is_not_proved_again(
    instances: Path, optima: dict[str, list[dict[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def proofs(label: str, problem: Any, free: float | None, large: bool, fronts: dict[str, Result]) -> Any:
        asked.append(problem.digest())
        return None, []

    monkeypatch.setattr(prove, "proofs", proofs)
    monkeypatch.setattr(prove, "SETS", tuple(each for each in prove.SETS if each.name in (SELECTIONS[0], FILES[1])))
    known, fronts = prove.read_rows(instances / "optima.csv"), Fronts(instances)
    kept = [row for name in (FILES[1], SELECTIONS[0]) for row in optima[name]]
    assert list(prove.rows(known, fronts)) == kept
    assert asked == []
    # A row whose front is gone counts for nothing.
    gone = optima[SELECTIONS[0]][4]["digest"]
    del fronts.of(SELECTIONS[0])[gone]
    assert len(list(prove.rows(known, fronts))) == len(kept) - 1
    assert asked == [gone]


def test_fronts_are_written_in_the_order_of_the_instances(
    instances: Path, optima: dict[str, list[dict[str, str]]], tmp_path: Path
) -> None:
    name, rows = SELECTIONS[1], optima[SELECTIONS[1]]
    fronts = Fronts(tmp_path)
    kept = Fronts(instances).of(name)
    fronts.of(name).update(reversed(kept.items()))
    (tmp_path / "selection").mkdir()
    fronts.write({name: [row["digest"] for row in rows]})
    assert content(fronts_path(tmp_path, name)) == content(fronts_path(instances, name))


def _capacity(problem: Any) -> int:
    if isinstance(problem, Allocation):
        return len(problem.idle)
    return problem.length if isinstance(problem, ConstrainedPath) else problem.capacity


def test_less_contiguity_is_never_worse(optima: dict[str, list[dict[str, str]]]) -> None:
    compared = 0
    for name, rows in optima.items():
        values: dict[str, dict[str, float]] = defaultdict(dict)
        for row in rows:
            values[row["line"]][row["problem"]] = float(row["optimum"])
        for line, of in values.items():
            chain = [of[kind] for kind in ("free", "dcas", "scas") if kind in of]
            assert all(a <= b * (1 + 1e-9) for a, b in pairwise(chain)), f"{name}:{line}"
            compared += len(chain) == 3
    assert compared > 200


def test_small_ones_by_trying_everything(instances: Path, optima: dict[str, list[dict[str, str]]]) -> None:
    tried = 0
    for kind in ("scas", "dcas", "free"):
        for problem, row in problems(instances, "tjap/small.jsonl", kind, optima["tjap/small.jsonl"]):
            if len(problem.idle) <= 9 and len(problem) <= 3:
                assert optimum(problem) == pytest.approx(float(row["optimum"]), rel=1e-12)
                tried += 1
    assert tried >= 30
