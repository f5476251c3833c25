"""Rows of the bench in Parquet files: the parts of a store, or a file of their own."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from transom._system.files import atomic_path
from transom.bench.store.frame import schema
from transom.errors import DocumentError
from transom.io.parquet import read_card, readable

if TYPE_CHECKING:
    import polars as pl

FORMAT = "transom/bench/1"

_NEEDED = ("key", "set", "label", "instance", "problem", "name", "spec", "seed", "threads", "sense", "size", "outcome")
"""Columns without which a row says nothing; others may be absent, as from an older version."""


def write_part(path: Path, frame: pl.DataFrame) -> None:
    """Write rows atomically; the file is synced to disk before this returns.

    Parameters
    ----------
    path : the file.
    frame : the rows (:func:`~transom.bench.store.frame.schema`).

    Raises
    ------
    OSError : it cannot be written.
    """
    card = json.dumps({"format": FORMAT, "rows": len(frame)})
    buffer = io.BytesIO()
    frame.write_parquet(buffer, metadata={"transom": card})
    with atomic_path(path) as temporary, temporary.open("wb") as file:
        file.write(buffer.getbuffer())
        file.flush()
        os.fsync(file.fileno())


def read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Rows out of a file, with the columns of :func:`~transom.bench.store.frame.schema` in its order.

    Parameters
    ----------
    path : the file.
    columns : only these, by default all; one that an older version did not write is null.

    Raises
    ------
    DocumentError : the file cannot be read, is something else, or lacks a column that every row has.
    """
    import polars as pl

    read_card(path, FORMAT)
    with readable(path):
        table = pl.scan_parquet(path, glob=False)
        there = table.collect_schema()
        wanted = {name: kind for name, kind in schema().items() if columns is None or name in columns}
        for name, kind in wanted.items():
            if name not in there and name in _NEEDED:
                raise DocumentError(f"{path}: column {name} is missing")
            if name in there and there[name] != kind:
                raise DocumentError(f"{path}: column {name} holds {there[name]}, expected {kind}")
        absent = [pl.lit(None, kind).alias(name) for name, kind in wanted.items() if name not in there]
        return table.with_columns(absent).select(list(wanted)).collect()


def rows_in(path: Path) -> int:
    """How many rows a part holds, as its metadata say.

    Raises
    ------
    DocumentError : the file cannot be read, or is something else.
    """
    return int(read_card(path, FORMAT).get("rows", 0))


def parts_of(folder: Path) -> list[Path]:
    """The parts of a store, in the order in which they were written."""
    found = (path for path in (folder / "rows").glob("*.parquet") if path.stem.isdecimal())
    return sorted(found, key=lambda path: int(path.stem))


def read_parts(folder: Path, columns: Sequence[str] | None = None) -> list[pl.DataFrame]:
    """The rows of all parts of a store, also while another process adds to them.

    Raises
    ------
    DocumentError : as of :func:`read_part`.
    """
    return [read_part(path, columns) for path in parts_of(folder)]
