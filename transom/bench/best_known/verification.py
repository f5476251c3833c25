"""Whether everything that a library says can be true: each value, each solution, each bound, each claim of a proof."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from transom import registry
from transom.bench.best_known.entering import Contradiction, facts_of, improved
from transom.bench.best_known.library import EARLIER, SETTLED, Entry, Library, better, line_of
from transom.errors import DocumentError
from transom.io import read_documents
from transom.io.verify import faults
from transom.problems import problem_type
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
    for entry, problem in library.problems(library.entries):
        wrong = [problem] if isinstance(problem, str) else _wrong(entry, problem)
        if wrong or seconds is None or not entry.proved:
            yield Verdict(entry, wrong)
            continue
        fault, method = _proved_again(entry, problem, seconds)
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
            kind = strict.problem
            while kind := problem_type(kind).relaxed or "":
                bound = same_place[kind].bound if kind in same_place else None
                if bound is not None and strict.value is not None and better(strict.value, bound, strict.sense):
                    wrong.append(
                        f"{strict.place}: {strict.problem}: the value {strict.value} is better than {bound}, "
                        f"the bound under the looser rule {kind}"
                    )
    return wrong


def without_entry(library: Library) -> Iterator[str]:
    """A line for each file in the folder that holds instances without an entry, or cannot be read."""
    known: defaultdict[str, set[int | None]] = defaultdict(set)
    for entry in library.entries:
        known[entry.file].add(entry.line)
    for path in sorted(library.folder.rglob("*")):
        name = path.name.removesuffix(".gz")
        if not name.endswith(_ENDINGS) or not path.is_file() or path == library.folder / EARLIER:
            continue
        lines = known[path.relative_to(library.folder).as_posix()]
        try:
            instances = [where for where, document in read_documents(path) if not isinstance(document, Result)]
            lacking = [where for where in instances if line_of(where, path) not in lines]
        except DocumentError as error:
            yield str(error)
            continue
        if lacking:
            yield f"{lacking[0]}: has no entry" + (f", like {len(lacking) - 1} more" if len(lacking) > 1 else "")


def _wrong(entry: Entry, problem: Any) -> list[str]:
    """What an entry says that its instance, its result or its other fields do not bear out."""
    if entry.digest != problem.digest():
        return [f"the entry is for instance {entry.digest}, this is {problem.digest()}"]
    wrong = [
        f"{name} is {fact}, the entry says {getattr(entry, name)}"
        for name, fact in facts_of(problem).items()
        if getattr(entry, name) != fact
    ]
    stated = None if entry.best is None else entry.best.bound
    if entry.value is not None and entry.bound is not None and better(entry.value, entry.bound, entry.sense):
        wrong.append(f"the value {entry.value} is better than the proved bound {entry.bound}")
    if stated is not None and (entry.bound is None or better(entry.bound, stated, entry.sense)):
        wrong.append(f"the result proves the bound {stated}, the entry says {entry.bound}")
    proof = entry.bound is not None or (entry.best is not None and entry.best.status == "infeasible")
    if proof != bool(entry.proved_by):
        wrong.append(f"{'something' if proof else 'nothing'} is proved, by {'+'.join(entry.proved_by) or 'nobody'}")
    try:
        result = entry.result()
    except DocumentError as error:
        return [*wrong, str(error).removeprefix(f"{entry.place}: {entry.problem}: ")]
    if result is None:
        return wrong
    if result.problem != problem.kind:
        return [*wrong, f"the result is for a {result.problem} problem"]
    return wrong + faults(problem, result)


def _proved_again(entry: Entry, problem: Any, seconds: float) -> tuple[list[str], str | None]:
    """What is wrong when it is solved again, and the method that proved it."""
    first = "" if entry.best is None else entry.best.solver
    for spec in sorted(entry.type.exact or ("auto",), key=lambda spec: spec.partition(":")[0] == first):
        if refusal(registry.make(registry.SOLVERS, spec, type(problem)), problem) is not None:
            continue
        result = solve(problem, spec, Stop(seconds=seconds))
        if result.error is not None:
            return [f"{spec} fails on it: {result.error}"], None
        try:
            improved(entry, problem, result, "just now")
        except (Contradiction, DocumentError) as error:
            return [str(error).removeprefix(f"{entry.place}: {entry.problem}: ")], None
        if result.status in SETTLED:
            return [], result.solver
    return [], None
