"""The best known result of every instance of a folder, kept in one index beside the files.

A library is a folder of instances. Its index, ``index.jsonl.gz``, holds one line of JSON for each instance and each
problem that it poses; nothing else says what is known of them. The same content gives the same bytes.
"""

from __future__ import annotations

import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from transom._system.files import atomic_write
from transom._system.trusted import lock, make_folder
from transom.errors import DocumentError
from transom.io.formats import Digest, Natural, Number, Positive, ResultDocument
from transom.io.instances import ReadOptions, read_instances
from transom.io.opening import open_document
from transom.io.result_conversion import result_of
from transom.models.problem import ProblemType
from transom.problems import kinds, problem_type
from transom.reading import lines
from transom.result import Result

INDEX = "index.jsonl.gz"
"""Name of the index in the folder of a library."""


class Improvement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One step of what became known: a better value, a better bound, or a proof.

    Parameters
    ----------
    when : date and time, UTC, as of ISO 8601.
    source : the store, the file or the command that it came from.
    row : key of the row, or digest of the document, in ``source``.
    solver : what found or proved it.
    value, bound : what was then known.
    """

    when: str
    source: str
    row: str | None = None
    solver: str
    value: Number | None = None
    bound: Number | None = None


class Entry(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="transom/best-known/1",
):
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
    history : how it became known, the oldest first.
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
    capacity: Natural | tuple[Natural, ...]
    scale: Annotated[int, msgspec.Meta(ge=1)] = 1
    bound: Number | None = None
    proved_by: tuple[str, ...] = ()
    best: ResultDocument | None = None
    history: tuple[Improvement, ...] = ()

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
        if self.best.status in ("optimal", "infeasible"):
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
    """The entries of a library, in the order of the index.

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
        entries = {key(entry): entry for entry in self.entries}
        entries.update((key(entry), entry) for entry in changed)
        return Library(self.folder, entries.values())

    def problems(self, entries: Iterable[Entry]) -> Iterator[tuple[Entry, Any]]:
        """The problems of some entries, file by file; None where the file does not have that line any more.

        Raises
        ------
        DocumentError, SpecError : a file cannot be read, or not as the entry says.
        """
        files: defaultdict[tuple[str, ReadOptions], list[Entry]] = defaultdict(list)
        for entry in entries:
            files[entry.file, entry.reading].append(entry)
        for (file, reading), wanted in files.items():
            lines = {entry.line: entry for entry in wanted}
            if (self.folder / file).exists():
                for label, problem in read_instances([self.folder / file], reading):
                    line = line_of(label, self.folder / file)
                    if line in lines:
                        yield lines.pop(line), problem
                    if not lines:
                        break
            yield from ((entry, None) for entry in lines.values())


def read_library(folder: str | os.PathLike[str]) -> Library:
    """The library in a folder.

    Raises
    ------
    DocumentError : there is no index, or a line of it breaks a condition; the message names it.
    """
    path = Path(folder) / INDEX
    if not path.exists():
        raise DocumentError(f"{path}: no such file; 'transom library add' makes it")
    decoder, entries = msgspec.json.Decoder(Entry), []
    seen: dict[tuple[Any, ...], int] = {}
    with open_document(path) as file:
        for number, line in enumerate(lines(file), 1):
            where = f"{path}:{number}"
            try:
                entry = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
                raise DocumentError(f"{where}: {error}") from None
            if entry.problem not in kinds():
                raise DocumentError(f"{where}: problem {entry.problem!r} is not known; known: {', '.join(kinds())}")
            if (first := seen.setdefault(key(entry), number)) != number:
                raise DocumentError(f"{where}: {entry.place} as {entry.problem} stands in line {first} already")
            entries.append(entry)
    return Library(Path(folder), entries)


def write_library(library: Library) -> None:
    """Write the index; it is there whole or as it was before."""
    with atomic_write(library.folder / INDEX, "wb") as file:
        file.writelines(msgspec.json.encode(entry) + b"\n" for entry in library.entries)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes from changing the index until the block ends; waits while another one does.

    Raises
    ------
    OSError : others may write the folder, or it cannot be locked.
    """
    make_folder(folder)
    path = folder / f".{INDEX}.lock"
    held = lock(path, f"process {os.getpid()}", wait=True)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(held)


def better(a: float, b: float, sense: Literal["min", "max"]) -> bool:
    """Whether a value is better than another by more than the order in which a total is summed up can make."""
    return not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9) and (a > b) == (sense == "max")


def key(entry: Entry) -> tuple[Any, ...]:
    """What an entry is for."""
    return entry.file, entry.line, *entry.reading


def line_of(label: str, path: Path) -> int | None:
    """The line in the label of an instance, None where the file holds one only."""
    line = label.removeprefix(os.fspath(path)).removeprefix(":")
    return int(line) if line else None


def _order(entry: Entry) -> tuple[Any, ...]:
    wrap = -1 if entry.wrap is None else int(entry.wrap)
    further = (entry.objective or "", entry.objectives or "", entry.cost_model or "", wrap)
    return entry.file, entry.line or 0, kinds().index(entry.problem), *further
