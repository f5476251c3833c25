from __future__ import annotations

import gzip
import json
import multiprocessing
import shutil
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transom import Stop, solve
from transom.bench.best_known.library import INDEX, BestKnown, Entry, Library, locked, read_library, write_library
from transom.bench.best_known.library_sources import (
    Candidate,
    Taken,
    candidates,
    contradictions,
    keep,
    promising,
    steps,
)
from transom.bench.best_known.library_update import Contradiction, claim_of, improved, new_entries, now
from transom.bench.best_known.library_verification import between_entries, verify, without_entry
from transom.bench.plan.task import Row
from transom.bench.store.store import Store
from transom.errors import DocumentError
from transom.generate import family_selection, generate_knapsack
from transom.io import read_documents, write_documents
from transom.io.instances import ReadOptions
from transom.models import Knapsack, ParetoFront
from transom.result import Result

pytestmark = pytest.mark.xdist_group("library")  # what is made once serves all

PROVED = {"knapsack": "dp", "selection": "exhaustive:limit=60", "scas": "scas-dp", "dcas": "dcas-exact"}


def index(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((folder / INDEX).read_bytes()).splitlines()]


def forge(folder: Path, change: Callable[[dict[str, Any]], None], at: int = 0) -> None:
    """Change a line of the index by hand."""
    lines = index(folder)
    change(lines[at])
    (folder / INDEX).write_bytes(gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode()))


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
        improved(entry, solve(problem, PROVED[entry.problem], Stop(seconds=60)), library, "test", None, now())
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
    empty = {"bound": None, "proved_by": (), "best": None, "history": ()}
    packs = [msgspec.structs.replace(each, **empty) for each in library.entries if each.problem == "knapsack"]
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
    changed = unsolved.with_entries([improved(first, found, unsolved, "test", None, now())])
    assert found.value is not None
    assert changed.best(first.digest) == BestKnown(found.value, None, False, "max")


@given(st.lists(st.tuples(st.integers(90, 100), st.integers(100, 110)), min_size=1, max_size=6))
def test_the_better_is_kept_whatever_the_order(found: list[tuple[int, int]]) -> None:
    problem = Knapsack([100], [1], 1)
    entry = Entry(file="a.json", problem="knapsack", digest=problem.digest(), items=1, capacity=1)
    library = Library(Path("nowhere"), [entry])
    base = solve(problem, "dp")
    for value, bound in found:
        status = "optimal" if value == bound else "feasible"
        result = replace(base, value=value, bound=bound, status=status, solver=f"s{value}")
        entry = improved(entry, result, library, "test", None, "now")
        assert improved(entry, result, library, "test", None, "later") is entry
    assert entry.value == max(value for value, _ in found)
    assert entry.bound == min(bound for _, bound in found)
    assert entry.proved == (entry.value == entry.bound)
    assert (entry.history[-1].value, entry.history[-1].bound) == (entry.value, entry.bound)
    assert entry.proved_by


def test_a_further_method_that_proves_it_is_noted(folder: Path) -> None:
    library = read_library(folder)
    entry = library.entries[-1]
    again = improved(entry, solve(knapsack(2), "cpsat", Stop(seconds=30)), library, "test", None, "now")
    assert again.proved_by == ("dp", "cpsat")
    assert (again.best, again.history) == (entry.best, entry.history)


def test_a_value_and_a_bound_of_different_methods_make_a_proof_but_not_of_fronts(folder: Path) -> None:
    problem = knapsack(2)
    entry, front = (read_library(folder).entries[at] for at in (-1, 4))
    library, whole = Library(folder, [entry]), solve(problem, "dp", Stop(seconds=30))
    empty = {"bound": None, "proved_by": (), "best": None, "history": ()}
    found = replace(whole, bound=None, status="feasible", solver="sa")
    bound = replace(whole, solution=None, value=None, status="unknown", solver="scip")
    for each in (found, bound):
        entry = improved(
            msgspec.structs.replace(entry, **empty) if each is found else entry, each, library, "t", None, ""
        )
    assert (entry.proved, entry.proved_by, entry.best and entry.best.solver) == (True, ("scip",), "sa")
    entry = improved(entry, whole, library, "t", None, "")
    assert (entry.proved_by, entry.best and entry.best.status) == (("scip", "dp"), "optimal")
    known = front.result()
    assert known is not None
    poorer = replace(known, status="feasible", parameters={**known.parameters, "front": "not complete"})
    front = improved(msgspec.structs.replace(front, **empty), poorer, library, "t", None, "")
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
    for place in (line["best"], line["history"][-1]):
        place["value"] += 1
        place["bound"] += 1
    line["bound"] += 1


def _half_proved(line: dict[str, Any]) -> None:
    line["best"]["solution"] = line["best"]["solution"][1:]


def _poorer_front(line: dict[str, Any]) -> None:
    for part in line["best"]["solution"].values():
        del part[0]


def _only_found(line: dict[str, Any]) -> None:
    line["best"].update(status="feasible", bound=None, gap=None)
    del line["bound"], line["proved_by"]


@pytest.mark.parametrize(
    ("change", "at", "told"),
    [
        (_set("digest", "0" * 32), 6, "the entry is for instance 0000"),
        (_set("best.instance", "0" * 32), 6, "the result is for instance 0000"),
        (_set("items", 7), 6, "items is 25, the entry says 7"),
        (_set("capacity", 7), 6, "the entry says 7"),
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
        (_set("proved_by", []), 6, "nobody is said to have proved it"),
        (_only_found, 6, "the history ends with value"),
        (_set("history", []), 6, "how it became known is not stated"),
        (_set("history.0.value", 5), 6, "the history ends with value 5"),
        (_set("line", 4), 8, "the file has no such instance"),
        (_set("line", 1), 8, ""),
        (_set("file", "other.jsonl"), 6, "the file has no such instance"),
        (_set("problem", "selection"), 6, "holds a knapsack, not a selection"),
        (_set("objective", "wait"), 6, "a knapsack states its values"),
        (_set("best.solution", [0]), 0, ""),
    ],
)
def test_what_is_forged_is_found(folder: Path, change: Callable[[dict[str, Any]], None], at: int, told: str) -> None:
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
        library = Library(folder, ())
        empty = Entry(file="packs.jsonl", line=1, problem="knapsack", digest=problem.digest(), items=25, capacity=1)
        told = json.loads(msgspec.json.encode(improved(empty, claimed, library, "test", None, "now")))
        line.pop("bound")
        line.update({name: told[name] for name in ("best", "bound", "history", "proved_by") if name in told})

    forge(folder, lower, 6)
    assert faults(folder) == []  # the judge cannot know it
    (fault,) = faults(folder, 30.0)
    assert fault.startswith("packs.jsonl:1: cpsat found ")
    what = "nothing is better than" if status == "optimal" else "there is no solution"
    assert f"but dp proved that {what}" in fault


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
        (_set("format", "transom/best-known/9"), "best-known/9"),
        (_set("problem", "tsp"), "problem 'tsp' is not known"),
        (_set("best.value", "many"), "value"),
        (_set("further", 1), "further"),
        (_set("digest", "short"), "digest"),
    ],
)
def test_a_damaged_index_is_reported_with_its_line(folder: Path, change: Any, told: str) -> None:
    forge(folder, change, 3)
    with pytest.raises(DocumentError, match=r"index\.jsonl\.gz:4: ") as error:
        read_library(folder)
    assert told in str(error.value)


def test_there_is_no_index(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no such file; 'transom library add' makes it"):
        read_library(tmp_path)


def test_rows_are_repeated_and_their_results_kept(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    good, poor = solve(problem, "dp", Stop(seconds=30)), worse(problem)
    place = store(tmp_path / "runs", row(problem, good, "a"), row(problem, poor, "b", name="greedy", spec="greedy"))
    given, foreign = candidates(place, unsolved)
    assert (len(given), foreign) == (2, 0)
    assert contradictions(unsolved, given) == []
    (step,) = steps(unsolved, given)
    assert (step.after.value, step.after.proved, step.after.proved_by) == (good.value, True, ("dp",))
    assert step.notes == step.wrong == []
    keep(unsolved.folder, step.taken)
    known = read_library(unsolved.folder)
    entry = known.of(problem.digest())[0]
    assert (entry.history[0].source, entry.history[0].row) == ("runs", "a")
    assert faults(unsolved.folder) == []
    before = (unsolved.folder / INDEX).read_bytes()
    assert promising(known, candidates(place, known)[0]) == []  # once more, there is nothing to do
    assert list(steps(known, candidates(place, known)[0])) == []
    keep(unsolved.folder, step.taken)
    assert (unsolved.folder / INDEX).read_bytes() == before


def test_a_row_that_is_not_reproduced(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    best, poor = solve(problem, "dp", Stop(seconds=30)), solve(problem, "greedy", Stop(iterations=1))
    assert best.value is not None
    lucky = row(problem, poor, "a", value=best.value, status="feasible", bound=None)
    (step,) = steps(unsolved, candidates(store(tmp_path / "runs", lucky), unsolved)[0])
    assert [note for note in step.notes if f"{best.value:g} became {poor.value:g}" in note]
    assert step.after.value == poor.value  # still more than nothing
    unknown = row(problem, best, "b", spec="nobody", name="nobody")
    (step,) = steps(unsolved, candidates(store(tmp_path / "more", unknown), unsolved)[0])
    assert "cannot be repeated: unknown solver 'nobody'" in step.notes[0]
    assert step.after is step.before


def test_rows_that_did_not_end_well_or_are_for_others(unsolved: Library, tmp_path: Path) -> None:
    problem, other = knapsack(0), knapsack(77)
    good = solve(problem, "dp", Stop(seconds=30))
    place = store(
        tmp_path / "runs",
        row(problem, good, "a", outcome="wrong", cause="a lie"),
        row(problem, good, "b", outcome="timeout"),
        row(other, solve(other, "dp"), "c"),
    )
    assert candidates(place, unsolved) == ([], 1)


def test_documents_are_judged(unsolved: Library, tmp_path: Path) -> None:
    problem = knapsack(0)
    good = solve(problem, "dp", Stop(seconds=30))
    poor = worse(problem)
    assert good.value is not None
    lie = replace(poor, value=good.value)
    write_documents(tmp_path / "found.jsonl", [poor, lie])
    (step,) = steps(unsolved, candidates(tmp_path / "found.jsonl", unsolved)[0])
    assert "is not taken: the solution is worth" in step.wrong[0]
    assert step.after.value == poor.value
    assert step.after.history[0].source == "found.jsonl"


def test_contradictions_name_both_sides(folder: Path, tmp_path: Path) -> None:
    library, problem = read_library(folder), knapsack(0)
    good = solve(problem, "dp", Stop(seconds=30))
    assert good.value is not None
    higher = row(problem, good, "a", value=good.value + 1, bound=None, status="feasible", name="sa")
    lower = row(problem, good, "b", value=good.value - 1, bound=good.value - 1, name="broken")
    given = candidates(store(tmp_path / "higher", higher), library)[0]
    (told,) = contradictions(library, given)
    assert told.startswith(f"packs.jsonl:1: knapsack: sa found {good.value + 1}")
    assert f"row a), but dp proved that nothing is better than {good.value} ({folder}/packs.jsonl:1" in told
    given = candidates(store(tmp_path / "lower", lower), library)[0]
    (told,) = contradictions(library, given)
    assert f"dp found {good.value}" in told
    assert f"broken proved that nothing is better than {good.value - 1}" in told
    nothing = row(problem, good, "c", value=None, bound=None, status="infeasible")
    given = candidates(store(tmp_path / "nothing", nothing), library)[0]
    assert "proved that there is no solution" in contradictions(library, given)[0]


def test_two_complete_fronts_with_other_points(folder: Path) -> None:
    library = read_library(folder)
    entry = library.entries[4]
    front = entry.result()
    assert front is not None
    points = len(front.solution.values)
    assert points > 2
    fewer = ParetoFront(front.solution.values[1:], front.solution.selections[1:])
    with pytest.raises(Contradiction, match=f"proved a front of {points - 1} points"):
        improved(entry, replace(front, solution=fewer, solver="pareto-dp"), library, "test", None, "now")


def test_nothing_is_changed_where_others_brought_what_cannot_be(folder: Path) -> None:
    library, problem = read_library(folder), knapsack(0)
    good = solve(problem, "dp", Stop(seconds=30))
    assert good.value is not None
    before = (folder / INDEX).read_bytes()
    other = knapsack(1)
    fine = Taken(other.digest(), solve(other, "cpsat", Stop(seconds=30)), "test", "a")
    with pytest.raises(Contradiction):
        keep(folder, [fine, Taken(problem.digest(), replace(good, value=good.value + 1), "test", "b")])
    assert (folder / INDEX).read_bytes() == before
    keep(folder, [fine])
    assert "cpsat" in read_library(folder).of(other.digest())[0].proved_by
    assert library.of(other.digest())[0].proved_by == ("dp",)


def test_a_problem_in_two_files_is_improved_in_both(unsolved: Library) -> None:
    write_documents(unsolved.folder / "one.json", [knapsack(1)])
    library = unsolved.with_entries(new_entries(unsolved, [unsolved.folder / "one.json"]))
    write_library(library)
    problem = knapsack(1)
    keep(unsolved.folder, [Taken(problem.digest(), solve(problem, "dp"), "test", "a")])
    both = read_library(unsolved.folder).of(problem.digest())
    assert len(both) == 2
    assert both[0].best == both[1].best is not None
    (unsolved.folder / "one.json").unlink()
    assert len(faults(unsolved.folder)) == 1


def _bring(folder: Path, given: list[Taken]) -> None:
    for each in given:
        keep(folder, [each])


def test_two_processes_change_it_at_once(unsolved: Library) -> None:
    context, workers = multiprocessing.get_context("spawn"), []
    for seed in range(2):
        problem = knapsack(seed)
        poor, good = (Taken(problem.digest(), of(problem), "test", "a") for of in (worse, solve))
        workers.append(context.Process(target=_bring, args=(unsolved.folder, [poor] * 30 + [good])))
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    packs = read_library(unsolved.folder).entries[-3:]
    assert [entry.proved for entry in packs] == [True, True, False]
    assert [len(entry.history) for entry in packs] == [2, 2, 0]
    assert list(unsolved.folder.glob(".*")) == []


def test_the_lock_is_of_the_index_that_is_in_its_place(folder: Path) -> None:
    def wait() -> None:
        with locked(folder):
            seen.append(len(read_library(folder).entries))

    seen: list[int] = []
    with locked(folder):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        library = read_library(folder)
        write_library(Library(folder, library.entries[:5]))  # who waits has opened the file before this one
    waiting.join(60)
    assert seen == [5]


def test_claims_of_worse_values_and_weaker_bounds_are_no_reason_to_solve(folder: Path) -> None:
    library, problem = read_library(folder), knapsack(0)
    good, poor = solve(problem, "dp", Stop(seconds=30)), worse(problem)
    assert good.value is not None
    given: list[Candidate] = []
    for i, each in enumerate((good, poor, replace(poor, bound=good.value + 5))):
        entry = library.of(problem.digest())[0]
        given.append(Candidate(entry.digest, claim_of(each, "here"), each.status == "optimal", str(i), "s", 1.0, each))
    assert contradictions(library, given) == []
    assert promising(library, given) == []
