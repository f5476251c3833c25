"""How results enter a library: each is judged with its instance, and only what is better than what is known is kept.

A row of a store of the bench holds no solution. So a row that says more than the library is a reason to repeat its run
on its own terms, and what comes out of that is judged; nobody has to believe the row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from transom.bench.best_known.library import SETTLED, Entry, Library, better, line_of
from transom.errors import DocumentError, SpecError, TransomError, UnsupportedError
from transom.io import encode, name_of, read_documents
from transom.io.formats import ResultDocument
from transom.io.instances import AS_STATED, ReadOptions, read_instances
from transom.io.verify import faults
from transom.problems import problem_type, size_of
from transom.result import Result
from transom.solving import solve
from transom.stop import Stop

TRIES = 3
"""Most runs of one instance that are repeated."""

_TERMS = ("problem", "objective", "objectives", "cost_model", "wrap")
_KNOWN = ("bound", "proved_by", "best", "known_since", "source", "row")


class Contradiction(TransomError):
    """Two claims about one problem cannot both be true; the message names both."""


class Run(NamedTuple):
    """What a run can be repeated by."""

    spec: str
    stop: Stop
    seed: int
    threads: int


class Claim(NamedTuple):
    """What a row of a store, or a result, says of an instance.

    Parameters
    ----------
    digest, status, value, bound, seconds : as in the row.
    where : for messages.
    source, row : the name of the store or file, and the key of the row or the digest of the result.
    found : the result itself, or the run that gave it.
    """

    digest: str
    status: str
    value: float | None
    bound: float | None
    seconds: float
    where: str
    source: str
    row: str
    found: Result | Run


class Step(NamedTuple):
    """What became of one instance: its entry before and after, runs that came out otherwise, and wrong results."""

    before: Entry
    after: Entry
    notes: list[str]
    wrong: list[str]


def new_entries(library: Library, files: Sequence[Path], options: ReadOptions = AS_STATED) -> Iterator[Entry]:
    """Entries for the instances of some files in the folder of a library, one at a time.

    An instance that the library knows under the same terms is left out; one that poses the same problem as another
    takes over what is known of that.

    Raises
    ------
    DocumentError : a file is not in the folder, cannot be read, or has other instances than its entries say.
    SpecError : a name is unknown.
    """
    folder = library.folder.resolve()
    known = {(entry.file, entry.line, entry.reading): entry for entry in library.entries}
    for path in files:
        if not path.resolve().is_relative_to(folder):
            raise DocumentError(f"{path}: does not lie in {library.folder}, the folder of the library")
        name = path.resolve().relative_to(folder).as_posix()
        for label, posed in read_instances([path], options):
            read_as = options._replace(problem=options.problem or posed.kind)
            line, digest = line_of(label, path), posed.digest()
            old = known.get((name, line, read_as))
            if old is not None and old.digest != digest:
                raise DocumentError(
                    f"{label}: is not the instance any more that its entry is for; 'transom library remove' forgets it"
                )
            if old is None:
                known_of = {each: getattr(same, each) for same in library.of(digest)[:1] for each in _KNOWN}
                terms = {each: getattr(read_as, each) for each in _TERMS}
                yield Entry(file=name, line=line, digest=digest, **terms, **facts_of(posed), **known_of)


def facts_of(problem: Any) -> dict[str, Any]:
    """The size of a problem as an entry states it: ``items``, ``capacity`` (0 for nothing) and ``scale``."""
    part = problem_type(problem.kind).part("capacity")
    capacity = 0 if part is None else part(problem)
    listed = capacity if isinstance(capacity, tuple) else (capacity,)
    return {"items": size_of(problem), "capacity": listed, "scale": getattr(problem, "scale", 1)}


def claims_of(path: Path, library: Library) -> tuple[list[Claim], int]:
    """What a store (a folder, or a Parquet file of rows) or a file of results says of the instances of a library.

    Returns
    -------
    The claims, and how many were left out because the library does not have the instance.

    Raises
    ------
    DocumentError, StoreError : it cannot be read, or holds something else.
    """
    made = _of_store(path) if path.is_dir() or path.suffix == ".parquet" else _of_results(path)
    claims = list(made)
    known = [claim for claim in claims if library.of(claim.digest)]
    return known, len(claims) - len(known)


def updates(library: Library, claims: Iterable[Claim], seconds: float = 0.0) -> Iterator[Step]:
    """Go through the instances of which claims say more than the library; the library itself is not changed.

    Parameters
    ----------
    library : what is known.
    claims : of instances that it has.
    seconds : runs with a budget in time are repeated with at least so much [s].

    Raises
    ------
    Contradiction : a result cannot be true beside what is known.
    DocumentError : an instance is not any more what the library says.
    """
    wanted: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        if adds_to(library.of(claim.digest)[0], claim):
            wanted[claim.digest].append(claim)
    for entry, problem in library.problems(library.of(digest)[0] for digest in wanted):
        if isinstance(problem, str) or problem.digest() != entry.digest:
            raise DocumentError(f"{library.folder}/{entry.place}: is not the instance any more that its entry is for")
        yield _updated(entry, problem, wanted[entry.digest], seconds)


def with_steps(library: Library, steps: Iterable[Step]) -> Library:
    """A library after some steps: what is known of a problem is known in all places where it stands."""
    return library.with_entries(
        msgspec.structs.replace(each, **{name: getattr(step.after, name) for name in _KNOWN})
        for step in steps
        for each in library.of(step.after.digest)
    )


def adds_to(entry: Entry, claim: Claim) -> bool:
    """Whether a claim, if it is true, makes a better value, a better bound or a proof of an entry's result known."""
    if claim.status == "infeasible":
        return entry.best is None or entry.best.status != "infeasible"
    if claim.value is not None and (entry.value is None or better(claim.value, entry.value, entry.sense)):
        return True
    if claim.status == "optimal" and not entry.proved:
        return True
    return claim.bound is not None and (entry.bound is None or better(entry.bound, claim.bound, entry.sense))


def improved(entry: Entry, problem: Any, result: Result, source: str, row: str | None = None) -> Entry:
    """An entry after a result of its problem; itself if the result adds nothing.

    The value and the bound are taken apart: a worse value may come with a better bound. A further method that proves
    what is proved is added to those that did. Of two complete fronts the points have to be the same.

    Parameters
    ----------
    entry, problem : what is known, and its instance, with which the result is judged.
    result : what is new.
    source, row : where it comes from.

    Raises
    ------
    DocumentError : the result does not stand the judge.
    Contradiction : the result and the entry cannot both be true.
    """
    if wrong := faults(problem, result):
        raise DocumentError(wrong[0])
    # What a solver chose is named where it handed the problem on, so that one proof is not counted as two.
    by = str(result.parameters.get("chose") or result.solver)
    _refuse_contradiction(entry, result, f"{by} ({source}{'' if row is None else f', row {row}'})")
    settled = result.status in SETTLED
    found = result.value is not None and (entry.value is None or better(result.value, entry.value, entry.sense))
    proof = settled and (entry.best is None or entry.best.status not in SETTLED)
    tighter = result.bound is not None and (entry.bound is None or better(entry.bound, result.bound, entry.sense))
    proves = tighter or (settled and not entry.proved)
    if not (found or proof or proves):
        if not settled or by in entry.proved_by:
            return entry
        return msgspec.structs.replace(entry, proved_by=(*entry.proved_by, by))
    changes: dict[str, Any] = {"source": source, "row": row}
    changes["known_since"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    if found or proof:  # as it will be read: a budget of 60 is then one of 60.0
        changes["best"] = msgspec.json.decode(encode(replace(result, curve=())), type=ResultDocument)
    if proves:
        changes |= {"bound": result.bound, "proved_by": (by,)}
    elif settled and by not in entry.proved_by:
        changes["proved_by"] = (*entry.proved_by, by)
    return msgspec.structs.replace(entry, **changes)


def _of_results(path: Path) -> Iterator[Claim]:
    for where, document in read_documents(path):
        if not isinstance(document, Result):
            raise DocumentError(f"{where}: holds {name_of(document)}; expected a result")
        row = blake2b(encode(document), digest_size=16).hexdigest()
        yield Claim(
            document.instance, document.status, document.value, document.bound, document.seconds,
            where, Path(where).name, row, document,
        )  # fmt: skip


def _of_store(path: Path) -> Iterator[Claim]:
    import polars as pl

    from transom.bench.store.store import read_results

    rows = read_results(path).filter((pl.col("what") == "solve") & (pl.col("outcome") == "ok"))
    source = path.resolve().name
    for row in rows.drop("curve").iter_rows(named=True):
        stop = Stop(**{each.name: row[f"budget_{each.name}"] for each in fields(Stop)})
        yield Claim(
            row["instance"], row["status"], row["value"], row["bound"], row["seconds"] or 0.0,
            f"{path}, row {row['key']}", source, row["key"], Run(row["spec"], stop, row["seed"], row["threads"]),
        )  # fmt: skip


def _updated(entry: Entry, problem: Any, claims: list[Claim], seconds: float) -> Step:
    before, notes, wrong, tries = entry, list[str](), list[str](), 0
    sign = 1.0 if entry.sense == "min" else -1.0

    def promise(claim: Claim) -> tuple[Any, ...]:
        """The best value first, with a proof before one without, then the quickest."""
        value = float("inf") if claim.value is None else sign * claim.value
        return value, claim.status != "optimal", claim.seconds, claim.row

    for claim in sorted(claims, key=promise):
        repeats = isinstance(claim.found, Run)
        if not adds_to(entry, claim) or (repeats and tries == TRIES):
            continue
        tries += repeats
        told = f"{entry.place}: {entry.problem}: {claim.where}"
        try:
            result = claim.found if isinstance(claim.found, Result) else _repeated(problem, claim.found, seconds)
            shortfall = _shortfall(entry, claim, result)
            if shortfall is not None:
                notes.append(f"{told} is not reproduced: {shortfall}")
            entry = improved(entry, problem, result, claim.source, claim.row)
        except (SpecError, UnsupportedError) as error:
            notes.append(f"{told} cannot be repeated: {error}")
        except DocumentError as error:
            wrong.append(f"{told} is not taken: {error}")
    return Step(before, entry, notes, wrong)


def _repeated(problem: Any, run: Run, seconds: float) -> Result:
    stop = run.stop if run.stop.seconds is None else replace(run.stop, seconds=max(seconds, run.stop.seconds))
    return solve(problem, run.spec, stop, run.seed, threads=run.threads)


def _shortfall(entry: Entry, claim: Claim, result: Result) -> str | None:
    """What a repeated run did not reach of what was claimed."""
    if claim.value is not None and (result.value is None or better(claim.value, result.value, entry.sense)):
        return f"{claim.value:.12g} became {'nothing' if result.value is None else format(result.value, '.12g')}"
    if claim.status in SETTLED and result.status not in SETTLED:
        return "it was not proved again"
    return None


def _refuse_contradiction(entry: Entry, result: Result, here: str) -> None:
    """Raise an error if a value is better than a bound, or is there where none can be, or two fronts differ."""
    known, proved = entry.best, f"{'+'.join(entry.proved_by)} (the library)"
    found = "" if known is None else f"{known.solver} (the library)"
    for value, by, bound, impossible, prover in (
        (result.value, here, entry.bound, known is not None and known.status == "infeasible", proved),
        (entry.value, found, result.bound, result.status == "infeasible", here),
    ):
        if value is not None and (impossible or (bound is not None and better(value, bound, entry.sense))):
            what = "there is no solution" if impossible else f"nothing is better than {bound}"
            raise Contradiction(f"{entry.place}: {entry.problem}: {by} found {value}, but {prover} proved that {what}")
    if entry.type.fronts and result.status == "optimal" and entry.proved:
        whole: Any = entry.result()
        new: Any = result
        ours, theirs = ({tuple(point) for point in each.solution.values.tolist()} for each in (whole, new))
        if ours != theirs:
            raise Contradiction(
                f"{entry.place}: {entry.problem}: {here} proved a front of {len(theirs)} points, but {proved} one of "
                f"{len(ours)} with other points"
            )
