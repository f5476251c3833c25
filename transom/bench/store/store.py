"""The result store of the bench: a folder whose finished rows survive a crash.

A store is a folder. A finished run is appended at once as a line of JSON to ``journal.jsonl``; when the journal has
grown, it becomes a Parquet file in ``rows/``, or goes into the last one there if that is small, and is emptied. Between
the two a row may stand in both: readers count the last attempt of each key once. The death of the process costs
nothing; that of the machine may cost the last rows of the journal, which is not forced to the disk row by row.
``plan.json`` keeps the plans whose runs are here, ``lock`` says who writes.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import msgspec

from transom._system.files import atomic_write
from transom._system.journal import Journal
from transom._system.trusted import HeldError, distrusted, lock, make_folder
from transom.bench.plan.plan import Plan
from transom.bench.plan.task import Outcome, Row
from transom.bench.store.frame import to_frame
from transom.bench.store.index import Entry, ResultIndex, journal_rows
from transom.bench.store.parquet import FORMAT, parts_of, read_part, read_parts, rows_in, write_part
from transom.errors import DocumentError, StopError, StoreError

if TYPE_CHECKING:
    import polars as pl

PART_ROWS = 2_000
"""Rows of the journal that make a part; a part of fewer gets those of the next as well."""
PART_BYTES = 1 << 24
"""Bytes that make a part, however few rows they are."""
_NAMES = {"journal.jsonl", "rows", "plan.json", "lock"}


class _Plans(msgspec.Struct):
    plans: list[dict[str, Any]]


class Store:
    """A result store, open for writing; a context manager that holds its lock.

    Only what :class:`~transom.bench.store.index.ResultIndex` says is held in memory.

    Parameters
    ----------
    folder : it is made if need be; it must be empty or hold a store.

    Raises
    ------
    StoreError : the folder holds something else, or cannot be written; on entering also: another process writes here.
    DocumentError : a file in it is damaged.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._index: ResultIndex | None = None
        self._journal: Journal | None = None
        self._lock: int | None = None
        self._lines = 0

    def __enter__(self) -> Self:
        with _written(self.folder):
            if self.folder.is_dir():
                there = {path.name for path in self.folder.iterdir()}
                if there and not there & _NAMES:
                    raise StoreError(f"{self.folder}: is not empty and holds no results of the bench")
            _check_own(self.folder)
            make_folder(self.folder / "rows")
            self._lock = _locked(self.folder)
        try:
            with _written(self.folder):
                self._tidy()
                self._journal = Journal(self.folder / "journal.jsonl")
            self._index = ResultIndex(self.folder)
            self._lines = self._index.journal_rows
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:  # else there may be no time or no space for it: the next one to open the store does it
                self.compact()
        finally:
            self._close()

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of the last attempt of every key."""
        assert self._index is not None
        return self._index.outcomes()

    def find(self, key: str) -> Entry | None:
        """The entry of a key, or None."""
        assert self._index is not None
        return self._index.find(key)

    def append(self, row: Row) -> None:
        """Append a row; it survives a crash once this returns.

        Raises
        ------
        StoreError : it cannot be written; the store stays as it was.
        """
        assert self._journal is not None
        assert self._index is not None
        with _written(self.folder):
            self._journal.append(encode_row(row))
        self._lines += 1
        self._index.add(row)
        if self._lines >= PART_ROWS or self._journal.size >= PART_BYTES:
            self.compact()

    def add_plan(self, plan: Plan) -> None:
        """Record that runs of this plan are in the store.

        Raises
        ------
        StoreError : it cannot be written.
        """
        listed = _plans(self.folder)
        digest = plan.digest()
        if all(each["digest"] != digest for each in listed):
            listed.append({"digest": digest, "plan": msgspec.to_builtins(plan)})
            with _written(self.folder), atomic_write(self.folder / "plan.json") as file:
                json.dump({"format": FORMAT, "plans": listed}, file, indent=1)

    def compact(self) -> None:
        """Turn the journal into a part, or add it to the last one if that is small, and empty it.

        Raises
        ------
        StoreError : it cannot be written; the rows stay in the journal.
        """
        assert self._journal is not None
        if not self._lines:
            return
        import polars as pl

        frame = to_frame(journal_rows(self._journal.path))
        with _written(self.folder):
            last = next(reversed(parts_of(self.folder)), None)
            if last is not None and last.stat().st_size < PART_BYTES and rows_in(last) < PART_ROWS:
                path, frame = last, pl.concat([read_part(last), frame])
            else:
                path = self.folder / "rows" / f"{1 if last is None else int(last.stem) + 1:05d}.parquet"
            write_part(path, frame)
            self._journal.clear()
            self._lines = 0

    def _tidy(self) -> None:
        """Remove what a process left that died while it wrote."""
        for path in [*self.folder.glob(".*.part"), *(self.folder / "rows").glob(".*.part")]:
            path.unlink(missing_ok=True)

    def _close(self) -> None:
        if self._journal is not None:
            self._journal.close()
            self._journal = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def encode_row(row: Row) -> bytes:
    """A row as a line of JSON; a metric that is not a finite number is left out, which JSON cannot state."""
    metrics = {name: each for name, each in row.metrics.items() if each == each and abs(each) != float("inf")}
    return msgspec.json.encode(
        row if len(metrics) == len(row.metrics) else msgspec.structs.replace(row, metrics=metrics)
    )


def read_results(path: str | os.PathLike[str]) -> pl.DataFrame:
    """The rows of a store, also while a bench writes to it, or of a single Parquet file.

    Returns
    -------
    A table with the columns of :func:`~transom.bench.store.frame.schema`: the last attempt of each key, in the order in
    which they were stored.

    Raises
    ------
    StoreError : there is nothing, or the folder holds no store.
    DocumentError : a file is damaged or something else; the message names it, in the journal with its line.
    """
    import polars as pl

    place = Path(path)
    if place.is_file():
        return _last_attempts(read_part(place))
    if not place.exists():
        raise StoreError(f"{place}: no such file or folder")
    if not (place / "journal.jsonl").exists() and not (place / "rows").is_dir():
        raise StoreError(f"{place}: holds no results of the bench: neither journal.jsonl nor rows/")
    # The journal first: what becomes a part meanwhile is then read twice, and not lost.
    journal = to_frame(journal_rows(place / "journal.jsonl"))
    return _last_attempts(pl.concat([*read_parts(place), journal]))


def read_plans(folder: str | os.PathLike[str]) -> list[Plan]:
    """The plans whose runs are in a store, oldest first.

    Raises
    ------
    DocumentError : the file of plans is damaged, or one is of another version.
    """
    try:
        return [msgspec.convert(each["plan"], Plan) for each in _plans(Path(folder))]
    except (msgspec.ValidationError, StopError) as error:
        raise DocumentError(f"{folder}/plan.json: holds a plan that this version does not know: {error}") from None


def _plans(folder: Path) -> list[dict[str, Any]]:
    """Plans as they stand in the file, which may be of other versions."""
    path = folder / "plan.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Plans).plans
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as error:
        raise DocumentError(f"{path}: is damaged: {error}") from None


def _last_attempts(frame: pl.DataFrame) -> pl.DataFrame:
    if frame["key"].n_unique() == len(frame):
        return frame
    numbered = frame.with_row_index("_at").sort("attempt", "_at", nulls_last=False)
    return numbered.unique("key", keep="last", maintain_order=True).sort("_at").drop("_at")


def _check_own(folder: Path) -> None:
    for part in (folder, *folder.glob("*"), *folder.glob("rows/*")):
        if part.name != "lock" and (reason := distrusted(part)) is not None:  # a lock of others is replaced
            raise StoreError(f"{folder}: not used, because {reason}; take another folder")


def _locked(folder: Path) -> int:
    """Take the lock of a store; an error names its holder by number and host."""
    try:
        return lock(folder / "lock", f"process {os.getpid()} on {socket.gethostname()}")
    except HeldError as held:
        raise StoreError(f"{folder}: in use: {held} writes here; wait for it, or take another folder") from None


@contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreError(f"{path}: cannot be written: {reason}; what is there is kept") from None
