"""The bundled instances: made by the commands of their README, optima proved by other solvers again."""

from __future__ import annotations

import gzip
import shlex
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from instances import prove
from instances.fronts import enumerated_front, values_of
from tests.allocation_cases import optimum
from transom import Stop, read_swf, solve
from transom.bench.best_known.library import Entry, Library, read_library
from transom.cli import run
from transom.models import Allocation, ConstrainedPath, Placement
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
    "placement/small.jsonl",
    "placement/three.jsonl",
    "placement/alibaba.jsonl.gz",
)
SELECTIONS = tuple(name for name in FILES if name.startswith("selection/"))

# What proves again, and on which share of the instances: every so many.
AGAIN = {
    "knapsack": (("primal-dual", 1), ("cpsat", 17)),
    "scas": (("scas-dp", 1), ("scas-flow", 29)),
    "dcas": (("dcas-exact", 5),),
    "free": (("free-exact", 7),),
    "csp": (("csp-dp", 1), ("csp-flow", 17)),
    "placement": (("cpsat", 1), ("placement-exact", 3)),
}


@pytest.fixture(scope="module")
def instances(root: Path) -> Path:
    return root / "instances"


@pytest.fixture(scope="module")
def library(instances: Path) -> Library:
    return read_library(instances)


def of_kind(library: Library, kind: str) -> dict[str, list[tuple[Entry, Any]]]:
    """The entries of a kind with their problems, by file."""
    found = defaultdict(list)
    for entry, problem in library.problems(entry for entry in library.entries if entry.problem == kind):
        assert not isinstance(problem, str), problem
        found[entry.file].append((entry, problem))
    return found


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


def test_the_folder_holds_what_it_says(instances: Path, library: Library) -> None:
    held = {str(path.relative_to(instances)) for path in instances.rglob("*") if path.is_file()}
    held = {name for name in held if "__pycache__" not in name and not name.startswith("site/")}
    assert held == {*FILES, "README.md", "best_known.parquet", "prove.py", "fronts.py", "golden.py"}
    assert sum((instances / name).stat().st_size for name in held) < 3_000_000
    assert (instances / "best_known.parquet").stat().st_size < 200_000
    assert {entry.file for entry in library.entries} == {name for name in FILES if not name.startswith("workloads")}
    text = (instances / "README.md").read_text("utf-8")
    assert all(f"`{name}`" in text for name in (*FILES, "best_known.parquet"))


def test_the_workload(instances: Path) -> None:
    workload = read_swf(instances / "workloads/lublin_5000.swf.gz")
    assert len(workload) == 5000
    assert workload.cluster.num_nodes == 512
    assert not workload.repairs
    load = (workload.jobs.nodes * workload.runtime).sum() / (512 * workload.jobs.submit[-1])
    assert load == pytest.approx(0.85, abs=1e-3)


@pytest.mark.parametrize("kind", AGAIN)
def test_optima_are_proved_again(library: Library, kind: str) -> None:
    files = of_kind(library, kind)
    assert files
    for found in files.values():
        for entry, problem in found:
            assert problem.digest() == entry.digest
            facts = (len(problem), (_capacity(problem),), getattr(problem, "scale", 1))
            assert facts == (entry.items, entry.capacity, entry.scale)
        for solver, every in AGAIN[kind]:
            for entry, problem in found[::every]:
                result = solve(problem, solver, Stop(seconds=60))
                assert result.status == "optimal", entry.place
                assert result.value == pytest.approx(entry.value, rel=1e-9), entry.place


def test_every_optimum_is_proved(library: Library) -> None:
    assert len(library.entries) == 1416
    assert [entry.place for entry in library.entries if not prove.settled(entry)] == []
    assert all(library.best(entry.digest) == (entry.value, entry.bound, True, entry.sense) for entry in library.entries)


@pytest.mark.parametrize("name", SELECTIONS)
def test_fronts_are_proved_again(library: Library, name: str) -> None:
    found = of_kind(library, "selection")[name]
    assert found
    for position, (entry, problem) in enumerate(found):
        front = entry.result()
        assert front is not None
        assert check(problem, front) == []
        assert (front.status, front.parameters["front"]) == ("optimal", "complete")
        assert entry.capacity == tuple(problem.capacity.tolist())
        assert entry.proved_by[:2] == ("exhaustive", "pareto-dp")
        for solver, every in (("pareto-dp", 3), ("exhaustive:limit=60", 4)):
            if position % every == 0:
                again = solve(problem, solver, Stop(seconds=60))
                assert again.status == "optimal"
                assert values_of(again.solution) == values_of(front.solution)
        if len(problem) <= 12:
            assert enumerated_front(problem) == values_of(front.solution)


def test_what_is_proved_is_not_proved_again(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def proved(entry: Entry, *_: Any) -> Entry:
        asked.append(entry.digest)
        return entry

    monkeypatch.setattr(prove, "proved", proved)
    monkeypatch.setattr(prove, "SETS", tuple(each for each in prove.SETS if each.name in (SELECTIONS[0], FILES[1])))
    kept = [entry for entry in library.entries if entry.file in (SELECTIONS[0], FILES[1])]
    assert sorted(prove.prove(library, False), key=str) == sorted(kept, key=str)
    assert asked == []
    less = msgspec.structs.replace(kept[4], proved_by=kept[4].proved_by[:1])
    assert len(list(prove.prove(library.with_entries([less]), False))) == len(kept)
    assert asked == [less.digest]


def test_instances_are_proved_from_nothing(instances: Path, library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    sets = [prove.Set(SELECTIONS[1], ("selection",)), prove.Set("classes/pisinger_50.jsonl")]
    monkeypatch.setattr(prove, "SETS", tuple(sets))
    made = list(prove.prove(Library(instances, ()), False))
    known = {entry.digest: entry for entry in library.entries}
    assert len(made) == 12 + 52
    for entry in made:
        other = known[entry.digest]
        assert (entry.value, entry.bound, entry.proved_by) == (other.value, other.bound, other.proved_by)
        assert entry.source == prove.SOURCE


def _capacity(problem: Any) -> int:
    if isinstance(problem, Allocation):
        return len(problem.idle)
    if isinstance(problem, Placement):
        return len(problem.free)
    return problem.length if isinstance(problem, ConstrainedPath) else problem.capacity


def test_less_contiguity_is_never_worse(library: Library) -> None:
    compared = 0
    values: dict[str, dict[str, float]] = defaultdict(dict)
    for entry in library.entries:
        if entry.value is not None:
            values[entry.place][entry.problem] = entry.value
    for place, of in values.items():
        chain = [of[kind] for kind in ("free", "dcas", "scas") if kind in of]
        assert all(a <= b * (1 + 1e-9) for a, b in pairwise(chain)), place
        compared += len(chain) == 3
    assert compared > 200


def test_small_ones_by_trying_everything(library: Library) -> None:
    tried = 0
    for kind in ("scas", "dcas", "free"):
        for entry, problem in of_kind(library, kind)["tjap/small.jsonl"]:
            if len(problem.idle) <= 9 and len(problem) <= 3:
                assert optimum(problem) == pytest.approx(entry.value, rel=1e-12)
                tried += 1
    assert tried >= 30
