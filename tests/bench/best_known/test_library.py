from __future__ import annotations

import gzip
import json
import logging
import multiprocessing
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Stop, solve
from transom.bench.best_known.entering import (
    Claim,
    Contradiction,
    adds_to,
    claims_of,
    improved,
    new_entries,
    updates,
    with_steps,
)
from transom.bench.best_known.library import (
    EARLIER,
    INDEX,
    BestKnown,
    Entry,
    Library,
    locked,
    read_library,
    write_library,
)
from transom.bench.best_known.verification import between_entries, verify, without_entry
from transom.bench.plan.task import Row
from transom.bench.store.store import Store
from transom.errors import DocumentError
from transom.generate import family_selection, generate_knapsack
from transom.io import encode, read_documents, write_documents
from transom.io.instances import ReadOptions
from transom.models import Knapsack, ParetoFront
from transom.result import Result

pytestmark = pytest.mark.xdist_group("library")  # what is made once serves all

PROVED = {"knapsack": "dp", "selection": "exhaustive:limit=60", "scas": "scas-dp", "dcas": "dcas-exact"}


UNKNOWN: dict[str, Any] = {"bound": None, "proved_by": (), "best": None, "known_since": None}
Change = Callable[[dict[str, Any]], None]


def forge(folder: Path, change: Change, at: int = 0) -> None:
    """Change a row by hand, the result as a document."""
    frame = pl.read_parquet(folder / INDEX)
    rows = frame.to_dicts()
    rows[at]["best"] = json.loads(rows[at]["best"])
    change(rows[at])
    rows[at]["best"] = json.dumps(rows[at]["best"])
    schema = {name: frame.schema.get(name, pl.String) for name in rows[at]}
    card = pl.read_parquet_metadata(folder / INDEX)["transom"]
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / INDEX, metadata={"transom": card})


def knapsack(seed: int) -> Knapsack:
    return generate_knapsack("weakly-correlated", 25, 100, np.random.default_rng(seed))


def worse(problem: Any) -> Result:
    """A feasible result that says nothing of bounds."""
    found = solve(problem, "greedy", Stop(iterations=1))
    chosen = np.array(found.solution)
    chosen[np.flatnonzero(chosen)[0]] = False
    return replace(
        found, solution=chosen, value=problem.value(chosen), bound=None, status="feasible", reason="finished"
    )


@pytest.fixture(scope="module")
def solved(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of three knapsacks, two selections, and two allocations under two rules, all proved."""
    folder = tmp_path_factory.mktemp("library")
    write_documents(folder / "packs.jsonl", [knapsack(seed) for seed in range(3)])
    rng = np.random.default_rng(0)
    write_documents(folder / "fronts.jsonl.gz", [family_selection("correlated", rng, 8, 3, 50) for _ in range(2)])
    small = [document for _, document in read_documents(root / "instances/tjap/small.jsonl")]
    write_documents(folder / "deep" / "small.jsonl", small[10:12])
    library = Library(folder, ())
    for name, problem in (
        ("packs.jsonl", None),
        ("fronts.jsonl.gz", None),
        ("deep/small.jsonl", "scas"),
        ("deep/small.jsonl", "dcas"),
    ):
        library = library.with_entries(new_entries(library, [folder / name], ReadOptions(problem)))
    done = [
        improved(entry, problem, solve(problem, PROVED[entry.problem], Stop(seconds=60)), "test")
        for entry, problem in library.problems(library.entries)
    ]
    write_library(library.with_entries(done))
    return folder


@pytest.fixture
def folder(solved: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(solved, tmp_path / "library"))


@pytest.fixture
def unsolved(folder: Path) -> Library:
    """The library with nothing known of the knapsacks."""
    library = read_library(folder)
    packs = [msgspec.structs.replace(each, **UNKNOWN) for each in library.entries if each.problem == "knapsack"]
    library = library.with_entries(packs)
    write_library(library)
    return library


def row(problem: Any, result: Result, key: str, **further: Any) -> Row:
    facts: dict[str, Any] = {
        "key": key, "set": "packs", "label": "packs:1", "instance": problem.digest(), "problem": problem.kind,
        "name": result.solver, "spec": result.solver, "stop": result.stop, "seed": result.seed, "threads": 1,
        "sense": problem.sense, "size": len(problem), "outcome": "ok", "status": result.status,
        "value": result.value, "bound": result.bound, "seconds": result.seconds,
    }  # fmt: skip
    return Row(**(facts | further))


def store(folder: Path, *rows: Row) -> Path:
    with Store(folder) as kept:
        for each in rows:
            kept.append(each)
    return folder


def faults(folder: Path, seconds: float | None = None) -> list[str]:
    library = read_library(folder)
    told = [f"{each.entry.place}: {fault}" for each in verify(library, seconds) for fault in each.wrong]
    return [*told, *between_entries(library), *without_entry(library)]


def test_what_is_read_is_what_was_written(folder: Path) -> None:
    library = read_library(folder)
    before = (folder / INDEX).read_bytes()
    assert [(entry.place, entry.problem) for entry in library.entries] == [
        ("deep/small.jsonl:1", "scas"),
        ("deep/small.jsonl:1", "dcas"),
        ("deep/small.jsonl:2", "scas"),
        ("deep/small.jsonl:2", "dcas"),
        ("fronts.jsonl.gz:1", "selection"),
        ("fronts.jsonl.gz:2", "selection"),
        ("packs.jsonl:1", "knapsack"),
        ("packs.jsonl:2", "knapsack"),
        ("packs.jsonl:3", "knapsack"),
    ]
    write_library(Library(folder, reversed(library.entries)))
    assert (folder / INDEX).read_bytes() == before
    assert faults(folder) == []


def test_the_best_of_a_digest(folder: Path, unsolved: Library) -> None:
    small, first = unsolved.entries[0], unsolved.entries[-1]
    assert small.value is not None
    assert unsolved.best(small.digest) == BestKnown(small.value, small.value, True, "min")
    assert unsolved.best(first.digest) is None  # it has an entry, but nothing is known
    assert unsolved.best("0" * 32) is None
    problem = knapsack(2)
    found = worse(problem)
    changed = unsolved.with_entries([improved(first, problem, found, "test")])
    assert found.value is not None
    assert changed.best(first.digest) == BestKnown(found.value, None, False, "max")


@given(st.lists(st.tuples(st.integers(0, 10), st.integers(100, 110)), min_size=1, max_size=6))
def test_the_better_is_kept_whatever_the_order(found: list[tuple[int, int]]) -> None:
    problem = Knapsack(range(90, 101), [1] * 11, 1)
    entry = Entry(file="a.json", problem="knapsack", digest=problem.digest(), items=11, capacity=(1,))
    base = solve(problem, "dp")
    for item, bound in found:
        value = 90 + item
        status: Any = "optimal" if value == bound else "feasible"
        chosen = np.arange(11) == item
        result = replace(base, solution=chosen, value=value, bound=bound, status=status, solver=f"s{value}")
        entry = improved(entry, problem, result, "test")
        assert improved(entry, problem, result, "test") is entry
    assert entry.value == max(90 + item for item, _ in found)
    assert entry.bound == min(bound for _, bound in found)
    assert entry.proved == (entry.value == entry.bound)
    assert entry.known_since
    assert entry.proved_by


def test_a_further_method_that_proves_it_is_noted(folder: Path) -> None:
    entry, problem = read_library(folder).entries[-1], knapsack(2)
    again = improved(entry, problem, solve(problem, "cpsat", Stop(seconds=30)), "further")
    assert again.proved_by == ("dp", "cpsat")
    assert (again.best, again.source) == (entry.best, "test")


def test_a_value_and_a_bound_of_different_methods_make_a_proof_but_not_of_fronts(folder: Path) -> None:
    library, problem = read_library(folder), knapsack(2)
    entry, (front, window) = library.entries[-1], next(library.problems(library.entries[4:5]))
    whole = solve(problem, "dp", Stop(seconds=30))
    found = replace(whole, bound=None, status="feasible", reason="finished", solver="sa")
    bound = replace(whole, solution=None, value=None, status="unknown", reason="time", solver="scip")
    entry = msgspec.structs.replace(entry, **UNKNOWN)
    for each in (found, bound):
        entry = improved(entry, problem, each, "t")
    assert (entry.proved, entry.proved_by, entry.best and entry.best.solver) == (True, ("scip",), "sa")
    entry = improved(entry, problem, whole, "t")
    assert (entry.proved_by, entry.best and entry.best.status) == (("scip", "dp"), "optimal")
    known = front.result()
    assert known is not None
    poorer = replace(known, status="feasible", parameters={**known.parameters, "front": "not complete"})
    front = improved(msgspec.structs.replace(front, **UNKNOWN), window, poorer, "t")
    assert front.value == front.bound
    assert not front.proved


def test_instances_are_added_once(folder: Path) -> None:
    library = read_library(folder)
    assert list(new_entries(library, [folder / "packs.jsonl"])) == []
    assert list(new_entries(library, [folder / "deep/small.jsonl"], ReadOptions("scas"))) == []
    free = list(new_entries(library, [folder / "deep/small.jsonl"], ReadOptions("free")))
    assert [(entry.line, entry.problem, entry.best) for entry in free] == [(1, "free", None), (2, "free", None)]
    write_documents(folder / "one.json", [knapsack(1)])
    (same,) = new_entries(library, [folder / "one.json"])
    assert same.line is None
    assert same.best == library.of(same.digest)[0].best  # it is known from another file
    assert same.best is not None


def test_what_cannot_be_added(folder: Path, tmp_path: Path) -> None:
    library = read_library(folder)
    write_documents(tmp_path / "outside.json", [knapsack(1)])
    with pytest.raises(DocumentError, match="does not lie in"):
        list(new_entries(library, [tmp_path / "outside.json"]))
    write_documents(folder / "packs.jsonl", [knapsack(9)])
    with pytest.raises(DocumentError, match=r"packs\.jsonl:1: is not the instance any more"):
        list(new_entries(library, [folder / "packs.jsonl"]))


def _set(name: str, value: Any) -> Callable[[dict[str, Any]], None]:
    def change(line: dict[str, Any]) -> None:
        place = line
        *path, last = name.split(".")
        for step in path:
            place = place[int(step)] if isinstance(place, list) else place[step]
        place[last] = value

    return change


def _worth_more(line: dict[str, Any]) -> None:
    """Value and bound, and all that is said of them, one higher."""
    for place, name in ((line["best"], "value"), (line["best"], "bound"), (line, "bound")):
        place[name] += 1


def _half_proved(line: dict[str, Any]) -> None:
    line["best"]["solution"] = line["best"]["solution"][1:]


def _poorer_front(line: dict[str, Any]) -> None:
    for part in line["best"]["solution"].values():
        del part[0]


def _only_found(line: dict[str, Any]) -> None:
    line["best"].update(status="feasible", bound=None, gap=None)
    line["bound"] = None


@pytest.mark.parametrize(
    ("change", "at", "told"),
    [
        (_set("digest", "0" * 32), 6, "the entry is for instance 0000"),
        (_set("best.instance", "0" * 32), 6, "the result is for instance 0000"),
        (_set("items", 7), 6, "items is 25, the entry says 7"),
        (_set("capacity", [7]), 6, "the entry says (7,)"),
        (_set("scale", 7), 6, "scale is 1, the entry says 7"),
        (_set("capacity", [7, 7]), 4, "the entry says (7, 7)"),
        (_set("best.solution", [0]), 6, "the solution is worth"),
        (_set("best.solution", list(range(25))), 6, "capacity"),
        (_set("best.solution", [99]), 6, "position 99 is not below items"),
        (_set("best.problem", "scas"), 6, "14 owners, but items = 25"),
        (_half_proved, 6, "the solution is worth"),
        (_worth_more, 6, "the solution is worth"),
        (_set("bound", 10**9), 6, "the result proves the bound"),
        (_set("bound", 1), 6, "is better than the proved bound 1"),
        (_set("best.status", "feasible"), 4, "a complete front is claimed"),
        (_set("best.parameters.front", "not complete"), 4, "the front is said to be not complete"),
        (_poorer_front, 4, ""),
        (_set("proved_by", []), 6, "something is proved, by nobody"),
        (_only_found, 6, "nothing is proved, by dp"),
        (_set("line", 4), 8, "the file has no such instance"),
        (_set("line", 1), 8, ""),
        (_set("file", "other.jsonl"), 6, "the file has no such instance"),
        (_set("problem", "selection"), 6, "holds a knapsack, not a selection"),
        (_set("objective", "wait"), 6, "a knapsack states its values"),
        (_set("best.solution", [0]), 0, ""),
    ],
)
def test_what_is_forged_is_found(folder: Path, change: Change, at: int, told: str) -> None:
    forge(folder, change, at)
    try:
        found = faults(folder)
    except DocumentError as error:
        found = [str(error)]
    assert found
    assert any(told in fault for fault in found), found


@pytest.mark.parametrize("status", ["optimal", "infeasible"])
def test_a_wrong_proof_is_found_by_another_solver(folder: Path, status: Any) -> None:
    problem = knapsack(0)
    poor = worse(problem)
    claimed = replace(poor, status=status, bound=poor.value, reason="proof", solver="dp")
    if status == "infeasible":
        claimed = replace(claimed, solution=None, value=None, bound=None)

    def lower(line: dict[str, Any]) -> None:
        line["best"] = json.loads(encode(replace(claimed, curve=())))
        line["bound"] = claimed.bound

    forge(folder, lower, 6)
    assert faults(folder) == []  # the judge cannot know it
    (fault,) = faults(folder, 30.0)
    assert fault.startswith("packs.jsonl:1: cpsat (just now) found ")
    what = "nothing is better than" if status == "optimal" else "there is no solution"
    assert f"but dp (the library) proved that {what}" in fault


def test_proofs_are_repeated_by_another_method(folder: Path) -> None:
    verdicts = list(verify(read_library(folder), 30.0))
    assert [each.wrong for each in verdicts] == [[]] * 9
    by = [each.proved_by for each in verdicts]
    assert by == ["scas-cpsat"] * 2 + ["dcas-exact"] * 2 + ["pareto-dp"] * 2 + ["cpsat"] * 3


def test_rules_of_allocation_are_held_against_each_other(folder: Path) -> None:
    library = read_library(folder)
    strict, loose = library.entries[:2]
    assert loose.value is not None
    high = msgspec.structs.replace(loose, bound=10 * loose.value, best=None)
    (fault,) = between_entries(library.with_entries([high]))
    assert fault.startswith(f"deep/small.jsonl:1: scas: the value {strict.value} is better than")


def test_instances_without_entry_and_files_that_are_none(folder: Path) -> None:
    write_documents(folder / "more.jsonl.gz", [knapsack(5), knapsack(6)])
    (folder / "broken.json").write_text("{")
    (folder / "notes.txt").write_text("nothing")
    found = sorted(faults(folder))
    assert len(found) == 2
    assert found[0].startswith(f"{folder}/broken.json: not JSON")
    assert found[1] == f"{folder}/more.jsonl.gz:1: has no entry, like 1 more"
    (folder / "deep/small.jsonl").unlink()
    (folder / "broken.json").unlink()
    (folder / "more.jsonl.gz").unlink()
    assert [fault.partition(": ")[2] for fault in faults(folder)] == ["the file has no such instance"] * 4


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_set("problem", "tsp"), "problem 'tsp' is not known"),
        (_set("best.value", "many"), "value"),
        (_set("best.further", 1), "further"),
        (_set("digest", "short"), "digest"),
        (_set("line", 1), "stands above already"),
    ],
)
def test_a_damaged_row_is_reported_with_its_number(folder: Path, change: Change, told: str) -> None:
    forge(folder, change, 7)
    with pytest.raises(DocumentError, match=r"best_known\.parquet: row 8: ") as error:
        read_library(folder)
    assert told in str(error.value)


def test_there_is_no_library(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file; 'transom library add' makes it"):
        read_library(tmp_path)
    (tmp_path / INDEX).write_bytes(b"PAR1")
    with pytest.raises(DocumentError, match="not a Parquet file, or damaged"):
        read_library(tmp_path)


def test_the_index_of_an_earlier_version_is_read(folder: Path) -> None:
    library, lines = read_library(folder), []
    (folder / INDEX).unlink()
    for entry in library.entries:
        line = {name: fact for name, fact in msgspec.to_builtins(entry).items() if fact not in (None, ())}
        step = {"when": line.pop("known_since"), "source": line.pop("source"), "solver": "dp", "value": entry.value}
        capacity = line["capacity"][0] if len(line["capacity"]) == 1 else line["capacity"]
        lines.append({"format": "transom/best-known/1", **line, "capacity": capacity, "history": [{}, step]})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / EARLIER).write_bytes(gzip.compress(text.encode()))
    assert read_library(folder).entries == library.entries
    assert faults(folder) == []
    (folder / EARLIER).write_bytes(gzip.compress(text.encode() + b"{\n"))
    with pytest.raises(DocumentError, match=r"index\.jsonl\.gz:10: "):
        read_library(folder)


def brought(library: Library, *paths: Path) -> tuple[Library, list[str]]:
    """A library after an update, which is written, and what was said."""
    steps = list(updates(library, [claim for path in paths for claim in claims_of(path, library)[0]]))
    library = with_steps(library, steps)
    write_library(library)
    return library, [line for step in steps for line in (*step.notes, *step.wrong)]


def test_rows_are_repeated_and_their_results_kept(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    good, poor = solve(problem, "dp", Stop(seconds=30)), worse(problem)
    place = store(tmp_path / "runs", row(problem, good, "a"), row(problem, poor, "b", name="greedy", spec="greedy"))
    claims, foreign = claims_of(place, unsolved)
    assert (len(claims), foreign) == (2, 0)
    library, told = brought(unsolved, place)
    entry = library.of(problem.digest())[0]
    assert (entry.value, entry.proved, entry.proved_by) == (good.value, True, ("dp",))
    assert (entry.source, entry.row, told) == ("runs", "a", [])
    assert faults(unsolved.folder) == []
    before = (unsolved.folder / INDEX).read_bytes()
    known = read_library(unsolved.folder)
    assert known.entries == library.entries
    assert list(updates(known, claims)) == []  # once more, there is nothing to do
    brought(known, place)
    assert (unsolved.folder / INDEX).read_bytes() == before


def test_a_row_that_is_not_reproduced(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    best, poor = solve(problem, "dp", Stop(seconds=30)), solve(problem, "greedy", Stop(iterations=1))
    assert best.value is not None
    lucky = row(problem, poor, "a", value=best.value, status="feasible", bound=None)
    library, told = brought(unsolved, store(tmp_path / "runs", lucky))
    assert [note for note in told if f"{best.value:g} became {poor.value:g}" in note]
    assert library.of(problem.digest())[0].value == poor.value  # still more than nothing
    unknown = row(problem, best, "b", spec="nobody", name="nobody")
    after, told = brought(unsolved, store(tmp_path / "more", unknown))
    assert "cannot be repeated: unknown solver 'nobody'" in told[0]
    assert after.entries == unsolved.entries


def test_rows_that_did_not_end_well_or_are_for_others(unsolved: Library, tmp_path: Path) -> None:
    problem, other = knapsack(0), knapsack(77)
    good = solve(problem, "dp", Stop(seconds=30))
    place = store(
        tmp_path / "runs",
        row(problem, good, "a", outcome="wrong", cause="a lie"),
        row(problem, good, "b", outcome="timeout"),
        row(other, solve(other, "dp"), "c"),
    )
    assert claims_of(place, unsolved) == ([], 1)


def test_results_are_judged(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    good = solve(problem, "dp", Stop(seconds=30))
    poor = worse(problem)
    assert good.value is not None
    lie = replace(poor, value=good.value)
    write_documents(tmp_path / "found.jsonl", [poor, lie])
    library, told = brought(unsolved, tmp_path / "found.jsonl")
    assert "is not taken: the solution is worth" in told[0]
    entry = library.of(problem.digest())[0]
    assert (entry.value, entry.source) == (poor.value, "found.jsonl:1")


def test_contradictions_name_both_sides(folder: Path) -> None:
    problem = knapsack(0)
    entry = read_library(folder).of(problem.digest())[0]
    good, poor = solve(problem, "dp", Stop(seconds=30)), worse(problem)
    lower = replace(poor, bound=poor.value, status="optimal", reason="proof", solver="broken")
    with pytest.raises(Contradiction) as told:
        improved(entry, problem, lower, "runs", "b")
    assert str(told.value) == (
        f"packs.jsonl:1: knapsack: dp (the library) found {good.value}, but broken (runs, row b) proved that nothing "
        f"is better than {poor.value}"
    )
    believed = improved(msgspec.structs.replace(entry, **UNKNOWN), problem, lower, "runs")
    with pytest.raises(Contradiction, match=r"dp \(test\) found .* but broken \(the library\) proved that nothing is"):
        improved(believed, problem, good, "test")
    nothing = replace(lower, solution=None, value=None, bound=None, status="infeasible")
    with pytest.raises(Contradiction, match=r"dp \(the library\) found .* but broken \(t\) proved that there is no"):
        improved(entry, problem, nothing, "t")


def test_two_complete_fronts_with_other_points(folder: Path) -> None:
    library = read_library(folder)
    entry, problem = next(library.problems(library.entries[4:5]))
    front = entry.result()
    assert front is not None
    points = len(front.solution.values)
    assert points > 2
    fewer = ParetoFront(front.solution.values[1:], front.solution.selections[1:])
    forged = msgspec.json.decode(encode(replace(front, solution=fewer, curve=())), type=type(entry.best))
    with pytest.raises(Contradiction, match=rf"a front of {points} points, but .* one of {points - 1} with other"):
        improved(msgspec.structs.replace(entry, best=forged), problem, front, "test")


def test_a_problem_in_two_files_is_improved_in_both(unsolved: Library, tmp_path: Path) -> None:
    write_documents(unsolved.folder / "one.json", [knapsack(1)])
    library = unsolved.with_entries(new_entries(unsolved, [unsolved.folder / "one.json"]))
    write_documents(tmp_path / "found.jsonl", [solve(knapsack(1), "dp")])
    brought(library, tmp_path / "found.jsonl")
    both = read_library(unsolved.folder).of(knapsack(1).digest())
    assert len(both) == 2
    assert both[0].best == both[1].best is not None
    (unsolved.folder / "one.json").unlink()
    assert len(faults(unsolved.folder)) == 1


def _bring(folder: Path, *found: Path) -> None:
    for each in found:
        with locked(folder):
            brought(read_library(folder), each)


def test_two_processes_change_it_at_once(unsolved: Library, tmp_path: Path) -> None:
    context, workers = multiprocessing.get_context("spawn"), []
    for seed in range(2):
        problem, files = knapsack(seed), [tmp_path / f"{seed}-{name}.jsonl" for name in ("poor", "good")]
        for file, of in zip(files, (worse, solve), strict=True):
            write_documents(file, [of(problem)])
        workers.append(context.Process(target=_bring, args=(unsolved.folder, *[files[0]] * 10, files[1])))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    packs = read_library(unsolved.folder).entries[-3:]
    assert [entry.proved for entry in packs] == [True, True, False]
    assert list(unsolved.folder.glob(".*")) == []


def test_the_lock_is_of_the_file_that_is_in_its_place(folder: Path) -> None:
    def wait() -> None:
        with locked(folder):
            seen.append(len(read_library(folder).entries))

    seen: list[int] = []
    told = threading.Event()

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            told.set()

    handler = Told()
    logging.getLogger("transom").addHandler(handler)
    try:
        with locked(folder):
            waiting = threading.Thread(target=wait)
            waiting.start()
            assert told.wait(600)  # that it waits, and for whom
            library = read_library(folder)
            write_library(Library(folder, library.entries[:5]))
            assert seen == []
        waiting.join()
    finally:
        logging.getLogger("transom").removeHandler(handler)
    assert seen == [5]


def test_claims_of_worse_values_and_weaker_bounds_are_no_reason_to_solve(folder: Path) -> None:
    library, problem = read_library(folder), knapsack(0)
    good, poor = solve(problem, "dp", Stop(seconds=30)), worse(problem)
    assert good.value is not None
    entry = library.of(problem.digest())[0]
    for each in (good, poor, replace(poor, bound=good.value + 5)):
        terms = (entry.digest, each.status, each.value, each.bound, 1.0)
        assert not adds_to(entry, Claim(*terms, "here", "s", "a", each))
