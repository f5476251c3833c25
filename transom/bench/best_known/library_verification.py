"""Whether everything that a library says can be true: each value, each solution, each bound, each claim of a proof."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from transom import registry
from transom.bench.best_known.library import INDEX, Entry, Library, better, line_of
from transom.bench.best_known.library_update import Contradiction, capacity_of, improved, now
from transom.errors import DocumentError, TransomError
from transom.io import read_documents
from transom.io.verify import faults
from transom.problems import problem_type, size_of
from transom.result import Result
from transom.solving import refusal, solve
from transom.stop import Stop

_ENDINGS = (".json", ".jsonl", ".kp", ".dat")


class Verdict(NamedTuple):
    """What is wrong with an entry, each in a line; whether it was solved again, and which method then proved it."""

    entry: Entry
    wrong: list[str]
    tried: bool = False
    proved_by: str | None = None


def verify(library: Library, seconds: float | None = None) -> Iterator[Verdict]:
    """Judge every entry by its instance and by itself, file by file.

    Parameters
    ----------
    library : what is judged.
    seconds : every proof is repeated by an exact method other than the one that the result is from; where there is
        none, or it does not prove it in so much time, by that one [s].
    """
    for entry, problem in _posed(library):
        if isinstance(problem, str):
            yield Verdict(entry, [problem])
            continue
        wrong = _facts(entry, problem) or [*_claims(entry), *_solution(entry, problem)]
        if wrong or seconds is None or not entry.proved:
            yield Verdict(entry, wrong)
            continue
        fault, method = _proved_again(library, entry, problem, seconds)
        yield Verdict(entry, fault, True, method)


def between_entries(library: Library) -> list[str]:
    """What cannot be true of two entries together.

    Entries of the same problem say the same; and what a rule of allocation allows, a looser one allows as well, so that
    no value may be better than the bound of the same instance under a looser rule.
    """
    wrong = []
    first: dict[str, Entry] = {}
    rules: defaultdict[tuple[Any, ...], dict[str, Entry]] = defaultdict(dict)
    for entry in library.entries:
        same = first.setdefault(entry.digest, entry)
        if (same.value, same.bound, same.proved) != (entry.value, entry.bound, entry.proved):
            wrong.append(
                f"{entry.place}: {entry.problem}: is the problem of {same.place}, of which other things are said"
            )
        rules[entry.file, entry.line, entry.cost_model, entry.wrap][entry.problem] = entry
    for same_place in rules.values():
        for strict in same_place.values():
            for loose in _looser(strict.problem):
                bound = same_place[loose].bound if loose in same_place else None
                if bound is not None and strict.value is not None and better(strict.value, bound, strict.sense):
                    wrong.append(
                        f"{strict.place}: {strict.problem}: the value {strict.value} is better than {bound}, "
                        f"the bound under the looser rule {loose}"
                    )
    return wrong


def _looser(kind: str) -> Iterator[str]:
    """The kinds that allow all that one allows, as their types say."""
    while relaxed := problem_type(kind).relaxed:
        yield relaxed
        kind = relaxed


def without_entry(library: Library) -> Iterator[str]:
    """A line for each file in the folder that holds instances without an entry, or cannot be read."""
    known: defaultdict[str, set[int | None]] = defaultdict(set)
    for entry in library.entries:
        known[entry.file].add(entry.line)
    for path in sorted(library.folder.rglob("*")):
        name = path.name.removesuffix(".gz")
        if not name.endswith(_ENDINGS) or not path.is_file() or path == library.folder / INDEX:
            continue
        lines = known[path.relative_to(library.folder).as_posix()]
        try:
            lacking = [where for where in _instances(path) if line_of(where, path) not in lines]
        except DocumentError as error:
            yield str(error)
            continue
        if lacking:
            yield f"{lacking[0]}: has no entry" + (f", like {len(lacking) - 1} more" if len(lacking) > 1 else "")


def _instances(path: Path) -> Iterator[str]:
    return (where for where, document in read_documents(path) if not isinstance(document, Result))


def _posed(library: Library) -> Iterator[tuple[Entry, Any]]:
    """Each entry with its problem, or with the reason why there is none."""
    files: defaultdict[tuple[Any, ...], list[Entry]] = defaultdict(list)
    for entry in library.entries:
        files[entry.file, *entry.reading].append(entry)
    for entries in files.values():
        left = {entry.line: entry for entry in entries}
        try:
            for entry, problem in library.problems(entries):
                del left[entry.line]
                yield entry, "the file has no such instance" if problem is None else problem
        except TransomError as error:
            yield from ((entry, f"cannot be read: {error}") for entry in left.values())


def _facts(entry: Entry, problem: Any) -> list[str]:
    """Whether it is the instance that the entry is for."""
    if entry.digest != problem.digest():
        return [f"the entry is for instance {entry.digest}, this is {problem.digest()}"]
    facts = {"items": size_of(problem), "capacity": capacity_of(problem), "scale": getattr(problem, "scale", 1)}
    return [
        f"{name} is {fact}, the entry says {getattr(entry, name)}"
        for name, fact in facts.items()
        if getattr(entry, name) != fact
    ]


def _claims(entry: Entry) -> list[str]:
    """Whether an entry agrees with itself."""
    wrong = []
    stated = None if entry.best is None else entry.best.bound
    if entry.value is not None and entry.bound is not None and better(entry.value, entry.bound, entry.sense):
        wrong.append(f"the value {entry.value} is better than the proved bound {entry.bound}")
    if stated is not None and (entry.bound is None or better(entry.bound, stated, entry.sense)):
        wrong.append(f"the result proves the bound {stated}, the entry says {entry.bound}")
    proof = entry.bound is not None or (entry.best is not None and entry.best.status == "infeasible")
    if proof and not entry.proved_by:
        wrong.append("something is proved, but nobody is said to have proved it")
    if entry.proved_by and not proof:
        wrong.append(f"{'+'.join(entry.proved_by)} is said to have proved something, but no bound is stated")
    last = entry.history[-1] if entry.history else None
    if (entry.best is not None or proof) and last is None:
        wrong.append("how it became known is not stated")
    if last is not None and (last.value, last.bound) != (entry.value, entry.bound):
        wrong.append(
            f"the history ends with value {last.value} and bound {last.bound}, the entry says {entry.value} and "
            f"{entry.bound}"
        )
    return wrong


def _solution(entry: Entry, problem: Any) -> list[str]:
    """Whether the result stands the judge."""
    try:
        result = entry.result()
    except DocumentError as error:
        return [str(error).removeprefix(f"{entry.place}: {entry.problem}: ")]
    if result is None:
        return []
    if result.problem != problem.kind:
        return [f"the result is for a {result.problem} problem"]
    return faults(problem, result)


def _proved_again(library: Library, entry: Entry, problem: Any, seconds: float) -> tuple[list[str], str | None]:
    """What is wrong when it is solved again, and the method that proved it."""
    first = "" if entry.best is None else entry.best.solver
    for spec in sorted(entry.type.exact or ("auto",), key=lambda spec: spec.partition(":")[0] == first):
        if refusal(registry.make(registry.SOLVERS, spec, type(problem)), problem) is not None:
            continue
        result = solve(problem, spec, Stop(seconds=seconds))
        if result.error is not None:
            return [f"{spec} fails on it: {result.error}"], None
        try:
            improved(entry, result, library, "just now", None, now())
        except Contradiction as error:
            return [str(error).removeprefix(f"{entry.place}: {entry.problem}: ")], None
        if result.status in ("optimal", "infeasible"):
            return [], result.solver
    return [], None
