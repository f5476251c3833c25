"""The bundled instances: made by the commands of their README, optima proved by a third solver."""

from __future__ import annotations

import csv
import gzip
import shlex
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from transom import Stop, read_swf, solve
from transom.cli import run
from transom.cli.instances import read_instances
from transom.models import Knapsack

FILES = (
    "workloads/lublin_5000.swf.gz",
    "windows/lublin.jsonl",
    "windows/lublin_wait.jsonl",
    "windows/lublin_dras.jsonl",
    "windows/replay.jsonl.gz",
    "classes/pisinger_50.jsonl",
)


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


def problems(instances: Path, name: str, rows: list[dict[str, str]]) -> Iterator[tuple[Knapsack, dict[str, str]]]:
    found = list(read_instances([instances / name], objective=rows[0]["objective"] or None))
    assert len(found) == len(rows)
    for (label, problem), row in zip(found, rows, strict=True):
        assert label.endswith(f":{row['line']}")
        yield problem, row


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
    assert held == {*FILES, "README.md", "optima.csv", "prove.py"}
    assert sum((instances / name).stat().st_size for name in held) < 3_000_000
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


@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("workloads")])
def test_optima_by_a_third_solver(instances: Path, optima: dict[str, list[dict[str, str]]], name: str) -> None:
    for problem, row in problems(instances, name, optima[name]):
        assert problem.digest() == row["digest"]
        assert (len(problem), problem.capacity, problem.scale) == tuple(
            int(row[column]) for column in ("items", "capacity", "scale")
        )
        result = solve(problem, "primal-dual", Stop(seconds=60))
        assert (result.status, result.value) == ("optimal", int(row["optimum"]))


def test_a_sample_by_integer_programming(instances: Path, optima: dict[str, list[dict[str, str]]]) -> None:
    for name, rows in optima.items():
        for problem, row in list(problems(instances, name, rows))[::17]:
            result = solve(problem, "cpsat", Stop(seconds=60))
            assert (result.status, result.value) == ("optimal", int(row["optimum"]))
