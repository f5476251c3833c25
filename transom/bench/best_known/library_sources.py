"""What stores of the bench and files of results say about the instances of a library, and how a run is repeated.

A row of a store holds no solution. So a row that says more than the library is a reason to repeat the run on its own
terms, and what comes out of that is judged and kept; nobody has to believe the row. A result of ``transom solve --out``
holds its solution and is judged as it is.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from transom.bench.best_known.library import Entry, Library, better, locked, read_library, write_library
from transom.bench.best_known.library_update import (
    Claim,
    Contradiction,
    adds_to,
    claim_of,
    improved,
    known_claim,
    now,
    refuse_contradictions,
)
from transom.errors import DocumentError, SpecError, UnsupportedError
from transom.io import encode, name_of, read_documents
from transom.io.verify import faults
from transom.result import Result
from transom.solving import solve
from transom.stop import Stop

TRIES = 3
"""Most runs of one instance that are repeated."""


class Terms(NamedTuple):
    """What a run can be repeated by."""

    spec: str
    stop: Stop
    seed: int
    threads: int


class Candidate(NamedTuple):
    """A claim about an instance of a library, and what may prove it: the result itself, or the terms of the run.

    ``row`` is the key of the row, or the digest of the document; ``seconds`` what the run took.
    """

    digest: str
    claim: Claim
    optimal: bool
    row: str
    source: str
    seconds: float
    result: Result | None = None
    terms: Terms | None = None


class Taken(NamedTuple):
    """A result that was judged and adds to the library, with where it comes from."""

    digest: str
    result: Result
    source: str
    row: str


class Step(NamedTuple):
    """What became of one instance: what it was and is, runs that did not give the same again, and wrong results."""

    before: Entry
    after: Entry
    notes: list[str]
    wrong: list[str]
    taken: list[Taken]


def candidates(path: Path, library: Library) -> tuple[list[Candidate], int]:
    """What a store (a folder, or a Parquet file of rows) or a file of results says of the instances of a library.

    Returns
    -------
    The claims, and how many were left out because the library does not have the instance.

    Raises
    ------
    DocumentError, StoreError : it cannot be read, or holds something else.
    """
    if path.is_dir() or path.suffix == ".parquet":
        return _of_store(path, library)
    found, foreign = [], 0
    for where, document in read_documents(path):
        if not isinstance(document, Result):
            raise DocumentError(f"{where}: holds {name_of(document)}; expected a result")
        entries = library.of(document.instance)
        if not entries:
            foreign += 1
            continue
        claim, optimal = claim_of(document, where), document.status == "optimal"
        row = blake2b(encode(document), digest_size=16).hexdigest()
        seconds = document.seconds
        found.append(Candidate(document.instance, claim, optimal, row, path.name, seconds, result=document))
    return found, foreign


def _of_store(path: Path, library: Library) -> tuple[list[Candidate], int]:
    import polars as pl

    from transom.bench.store.store import read_results

    frame = read_results(path).filter((pl.col("what") == "solve") & (pl.col("outcome") == "ok"))
    known = frame.filter(pl.col("instance").is_in(list({entry.digest for entry in library.entries})))
    budget = [field.name for field in fields(Stop)]
    columns = ["key", "instance", "name", "spec", "seed", "threads", "status", "value", "bound", "seconds"]
    found, name = [], path.resolve().name
    for row in known.select(*columns, *(f"budget_{name}" for name in budget)).iter_rows(named=True):
        infeasible = row["status"] == "infeasible"
        claim = Claim(row["value"], row["bound"], infeasible, row["name"], f"{path}, row {row['key']}")
        stop = Stop(**{name: row[f"budget_{name}"] for name in budget})
        terms = Terms(row["spec"], stop, row["seed"], row["threads"])
        optimal, seconds = row["status"] == "optimal", row["seconds"] or 0.0
        found.append(Candidate(row["instance"], claim, optimal, row["key"], name, seconds, terms=terms))
    return found, len(frame) - len(known)


def contradictions(library: Library, given: Iterable[Candidate]) -> list[str]:
    """Every instance of which not all that the library and the candidates say can be true, with both sides."""
    wrong = []
    for digest, claims in _by_digest(given).items():
        entry = library.of(digest)[0]
        try:
            refuse_contradictions(entry, [*known_claim(entry, library), *(each.claim for each in claims)])
        except Contradiction as error:
            wrong.append(str(error))
    return wrong


def promising(library: Library, given: Iterable[Candidate]) -> list[Candidate]:
    """The candidates that say more than the library."""
    return [each for each in given if adds_to(library.of(each.digest)[0], each.claim, each.optimal)]


def steps(library: Library, given: Iterable[Candidate], seconds: float | None = None) -> Iterator[Step]:
    """Go through the instances of which candidates say more than the library; the library itself is not changed.

    Parameters
    ----------
    library : what is known.
    given : claims that do not contradict each other.
    seconds : runs are repeated with at least so much time [s].

    Raises
    ------
    Contradiction : what came out of a repeated run, or a front, cannot be true beside what is known.
    DocumentError : an instance is not any more what the library says.
    """
    claims = _by_digest(promising(library, given))
    for entry, problem in library.problems(library.of(digest)[0] for digest in claims):
        if problem is None or problem.digest() != entry.digest:
            raise DocumentError(f"{library.folder}/{entry.place}: is not the instance any more that its entry is for")
        yield _improve(library, entry, problem, claims[entry.digest], seconds)


def keep(folder: Path, taken: Iterable[Taken]) -> None:
    """Bring results that were judged into the library, whatever others brought into it meanwhile.

    Raises
    ------
    Contradiction : others brought something that cannot be true beside it; nothing is changed.
    """
    with locked(folder):
        library, when = read_library(folder), now()
        changed: dict[str, list[Entry]] = {}
        for digest, result, source, row in taken:
            entries = changed.get(digest) or library.of(digest)
            changed[digest] = [improved(entry, result, library, source, row, when) for entry in entries]
        write_library(library.with_entries(entry for entries in changed.values() for entry in entries))


def _by_digest(given: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    claims: defaultdict[str, list[Candidate]] = defaultdict(list)
    for each in given:
        claims[each.digest].append(each)
    return claims


def _improve(library: Library, entry: Entry, problem: Any, found: list[Candidate], seconds: float | None) -> Step:
    step, tries = Step(entry, entry, [], [], []), 0
    for each in sorted(found, key=_promise(entry)):
        if tries == TRIES or not adds_to(entry, each.claim, each.optimal):
            continue
        result = each.result
        if result is None and each.terms is not None:
            tries += 1
            try:
                result = _repeated(problem, each.terms, seconds)
            except (SpecError, UnsupportedError) as error:
                step.notes.append(f"{entry.place}: {entry.problem}: {each.claim.where} cannot be repeated: {error}")
                continue
            if shortfall := _shortfall(entry, each, result):
                step.notes.append(f"{entry.place}: {entry.problem}: {each.claim.where} is not reproduced: {shortfall}")
        assert result is not None
        if wrong := faults(problem, result):
            step.wrong.append(f"{entry.place}: {entry.problem}: {each.claim.where} is not taken: {wrong[0]}")
            continue
        after = improved(entry, result, library, each.source, each.row, now())
        if after is not entry:
            step.taken.append(Taken(entry.digest, result, each.source, each.row))
            entry = after
    return step._replace(after=entry)


def _promise(entry: Entry) -> Callable[[Candidate], tuple[Any, ...]]:
    """What puts candidates in order: the best value first, with a proof before one without, then the quickest."""
    sign = 1.0 if entry.sense == "min" else -1.0

    def order(each: Candidate) -> tuple[Any, ...]:
        value = float("inf") if each.claim.value is None else sign * each.claim.value
        return value, not each.optimal, each.seconds, each.row

    return order


def _repeated(problem: Any, terms: Terms, seconds: float | None) -> Result:
    stop = terms.stop
    if seconds is not None and stop.seconds is not None:
        stop = replace(stop, seconds=max(seconds, stop.seconds))
    return solve(problem, terms.spec, stop, terms.seed, threads=terms.threads)


def _shortfall(entry: Entry, each: Candidate, result: Result) -> str | None:
    """What a repeated run did not reach of what was claimed."""
    claimed, found = each.claim.value, result.value
    if claimed is not None and (found is None or better(claimed, found, entry.sense)):
        return f"{claimed:.12g} became {'nothing' if found is None else format(found, '.12g')}"
    if (each.optimal or each.claim.infeasible) and result.status not in ("optimal", "infeasible"):
        return "it was not proved again"
    return None
