"""The best known results of a folder of instances, kept in one Parquet file beside them.

A library is a folder of instances. Its file ``best_known.parquet`` has a row for each instance and each problem that it
poses; nothing else says what is known of them. Results are judged before they enter it, in ``entering.py``.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from transom._system.trusted import HeldError, lock, make_folder
from transom.errors import DocumentError, TransomError
from transom.io.formats import Digest, Natural, Number, Positive, ResultDocument
from transom.io.instances import ReadOptions, read_instances
from transom.io.opening import open_document
from transom.io.parquet import read_card, readable, whole_parquet
from transom.io.result_conversion import result_of
from transom.models.problem import ProblemType
from transom.problems import kinds, problem_type
from transom.reading import lines
from transom.result import Result

INDEX = "best_known.parquet"
"""Name of the file in the folder of a library."""
FORMAT = "transom/best-known/2"
EARLIER = "index.jsonl.gz"
"""Its name in version 1 of the format, which is read where there is no other."""
SETTLED = ("optimal", "infeasible")
"""Statuses of results that are proofs."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is known of one problem that an instance poses.

    Parameters
    ----------
    file : relative to the folder of the library, with slashes.
    line : of a set, from 1; None for a file of one instance.
    problem, objective, objectives, cost_model, wrap : how the instance is read, as of
        :class:`~transom.io.instances.ReadOptions`.
    digest : of the problem.
    items : jobs, items, or operation arcs.
    capacity : what they are packed into: a capacity, one for each resource, the number of idle nodes, or a length.
    scale : what real values were multiplied by.
    bound : the best proved bound; None if nothing is proved.
    proved_by : the methods that proved it independently of each other; or, where there is no solution, that.
    best : the best known result, without its curve; None as long as there is none.
    known_since, source, row : when a better value, a better bound or a proof became known last (UTC, as of ISO 8601),
        out of which store or file, and the key of the row or the digest of the result.
    """

    file: str
    line: Positive | None = None
    problem: str
    objective: str | None = None
    objectives: str | None = None
    cost_model: str | None = None
    wrap: bool | None = None
    digest: Digest
    items: Natural
    capacity: tuple[Natural, ...]
    scale: Annotated[int, msgspec.Meta(ge=1)] = 1
    bound: Number | None = None
    proved_by: tuple[str, ...] = ()
    best: ResultDocument | None = None
    known_since: str | None = None
    source: str | None = None
    row: str | None = None

    @property
    def place(self) -> str:
        """File and line."""
        return self.file if self.line is None else f"{self.file}:{self.line}"

    @property
    def reading(self) -> ReadOptions:
        """How the instance is read."""
        return ReadOptions(self.problem, self.objective, self.cost_model, self.wrap, self.objectives)

    @property
    def sense(self) -> Literal["min", "max"]:
        """Whether values are to be small or large."""
        sense: Literal["min", "max"] = self.type.model.sense
        return sense

    @property
    def type(self) -> ProblemType:
        """The type of the problem."""
        return problem_type(self.problem)

    @property
    def value(self) -> Number | None:
        """The best known value."""
        return None if self.best is None else self.best.value

    @property
    def proved(self) -> bool:
        """Whether nothing better exists.

        A front has to be complete: fronts that lack different points may have all but the same hypervolume.
        """
        if self.best is None:
            return False
        if self.best.status in SETTLED:
            return True
        if self.type.fronts or self.bound is None or self.value is None:
            return False
        return not better(self.bound, self.value, self.sense)

    def result(self) -> Result | None:
        """The best known result, with its solution.

        Raises
        ------
        DocumentError : the solution is not written as those of its problem are.
        """
        if self.best is None:
            return None
        try:
            return result_of(self.best)
        except ValueError as error:
            raise DocumentError(f"{self.place}: {self.problem}: {error}") from None


class BestKnown(NamedTuple):
    """The best known value of a problem, the best proved bound, whether it is proved, and its sense."""

    value: float
    bound: float | None
    proved: bool
    sense: Literal["min", "max"]


class Library:
    """The entries of a library, by file, line and problem.

    Parameters
    ----------
    folder : where the instances are.
    entries : what is known of them.
    """

    def __init__(self, folder: Path, entries: Iterable[Entry]) -> None:
        self.folder = folder
        self.entries = tuple(sorted(entries, key=_order))

    @cached_property
    def _places(self) -> dict[str, list[Entry]]:
        places: defaultdict[str, list[Entry]] = defaultdict(list)
        for entry in self.entries:
            places[entry.digest].append(entry)
        return places

    def of(self, digest: str) -> list[Entry]:
        """The entries of a problem: more than one where two instances are the same."""
        return list(self._places.get(digest, ()))

    def best(self, digest: str) -> BestKnown | None:
        """What is known of a problem; None where no value is.

        Parameters
        ----------
        digest : of the problem.
        """
        for entry in self._places.get(digest, ()):
            if entry.value is not None:
                return BestKnown(entry.value, entry.bound, entry.proved, entry.sense)
        return None

    def with_entries(self, changed: Iterable[Entry]) -> Library:
        """The library with these entries in the place of those for the same file, line and problem, or added."""
        entries = {_key(entry): entry for entry in self.entries}
        entries.update((_key(entry), entry) for entry in changed)
        return Library(self.folder, entries.values())

    def problems(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Any]]:
        """The problems of some entries, file by file; in the place of one that cannot be read the reason, a text."""
        files: defaultdict[tuple[str, ReadOptions], dict[int | None, Entry]] = defaultdict(dict)
        for entry in entries:
            files[entry.file, entry.reading][entry.line] = entry
        for (file, reading), wanted in files.items():
            reason = "the file has no such instance"
            try:
                path = self.folder / file
                for label, problem in read_instances([path], reading) if path.exists() else ():
                    if (line := line_of(label, path)) in wanted:
                        yield wanted.pop(line), problem
                    if not wanted:
                        break
            except TransomError as error:
                reason = f"cannot be read: {error}"
            yield from ((entry, reason) for entry in wanted.values())


def has_library(folder: Path) -> bool:
    """Whether a folder holds a library, be it of an earlier version."""
    return any((folder / name).exists() for name in (INDEX, EARLIER))


def read_library(folder: str | os.PathLike[str]) -> Library:
    """The library in a folder.

    Raises
    ------
    DocumentError : there is no such file, or a row of it breaks a condition; the message names it.
    """
    import polars as pl

    path = Path(folder) / INDEX
    entries: dict[tuple[Any, ...], Entry] = {}
    if not has_library(path.parent):
        raise DocumentError(f"{path}: no such file; 'transom library add' makes it")
    if not path.exists():
        path = path.with_name(EARLIER)
        rows = _earlier_rows(path)
    else:
        read_card(path, FORMAT)
        with readable(path):
            rows = pl.read_parquet(path, glob=False).select(Entry.__struct_fields__).iter_rows(named=True)
    for number, row in enumerate(rows, 1):
        try:
            entry = _entry(row)
        except (msgspec.MsgspecError, TypeError, AttributeError, RecursionError) as error:
            raise DocumentError(f"{path}: row {number}: {error}") from None
        if entry.problem not in kinds():
            known = ", ".join(kinds())
            raise DocumentError(f"{path}: row {number}: problem {entry.problem!r} is not known; known: {known}")
        if entries.setdefault(_key(entry), entry) is not entry:
            raise DocumentError(f"{path}: row {number}: {entry.place} as {entry.problem} stands above already")
    return Library(Path(folder), entries.values())


def write_library(library: Library) -> None:
    """Write the file; it is there whole or as it was before.

    ``value``, ``proved`` and ``solver`` are for readers of the table; they follow from ``best`` and ``bound``.
    """
    import polars as pl

    schema: dict[str, Any] = {
        **dict.fromkeys(Entry.__struct_fields__, pl.String), **dict.fromkeys(("line", "items", "scale"), pl.Int64),
        "wrap": pl.Boolean, "capacity": pl.List(pl.Int64), "bound": pl.Float64, "proved_by": pl.List(pl.String),
        "value": pl.Float64, "proved": pl.Boolean, "solver": pl.String,
    }  # fmt: skip
    frame = pl.DataFrame([_row(entry) for entry in library.entries], schema=schema, orient="row")
    with whole_parquet(library.folder / INDEX) as path:
        frame.write_parquet(path, compression_level=12, metadata={"transom": json.dumps({"format": FORMAT})})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from changing the library until the block ends; waits while another one does.

    Raises
    ------
    OSError : others may write the folder, or it cannot be locked.
    """
    make_folder(folder)
    path, words = folder / f".{INDEX}.lock", f"process {os.getpid()}"
    try:
        held = lock(path, words)
    except HeldError as holder:
        logging.getLogger("transom").warning(f"{folder}: waiting for {holder}, which changes the library")
        held = lock(path, words, wait=True)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(held)


def better(a: float, b: float, sense: Literal["min", "max"]) -> bool:
    """Whether a value is better than another by more than the order in which a total is summed up can make."""
    return not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) and (a > b) == (sense == "max")


def line_of(label: str, path: Path) -> int | None:
    """The line in the label of an instance, None where the file holds one only."""
    line = label.removeprefix(os.fspath(path)).removeprefix(":")
    return int(line) if line else None


def _key(entry: Entry) -> tuple[Any, ...]:
    return entry.file, entry.line, *entry.reading


def _order(entry: Entry) -> tuple[Any, ...]:
    wrap = -1 if entry.wrap is None else int(entry.wrap)
    further = (entry.objective or "", entry.objectives or "", entry.cost_model or "", wrap)
    return entry.file, entry.line or 0, kinds().index(entry.problem), *further


def _row(entry: Entry) -> dict[str, Any]:
    facts = {name: getattr(entry, name) for name in Entry.__struct_fields__}
    best = None if entry.best is None else msgspec.json.encode(entry.best).decode()
    solver = None if entry.best is None else entry.best.solver
    return {**facts, "best": best, "value": entry.value, "proved": entry.proved, "solver": solver}


def _entry(row: dict[str, Any]) -> Entry:
    bound, best = row["bound"], row["best"]
    if isinstance(best, str):
        best = msgspec.json.decode(best)
    exact = best is None or not isinstance(best.get("value"), float)
    if exact and isinstance(bound, float) and bound.is_integer():  # bounds are ints where values are
        bound = int(bound)
    return msgspec.convert({**row, "bound": bound, "best": best}, Entry)


def _earlier_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a library of version 1, in which a history stood for the last step."""
    with open_document(path) as file:
        for number, line in enumerate(lines(file), 1):
            try:
                row = msgspec.json.decode(line, type=dict[str, Any])
                last = (row.pop("history", None) or [{}])[-1]
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                raise DocumentError(f"{path}:{number}: {error}") from None
            row.pop("format", None)
            capacity = row.get("capacity")
            row["capacity"] = [capacity] if isinstance(capacity, int) else capacity
            step = {"known_since": last.get("when"), "source": last.get("source"), "row": last.get("row")}
            yield {"bound": None, "best": None, **row, **step}
