"""Parquet files of Transom: their metadata and columns, with errors that a user understands."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from transom._system.files import atomic_path
from transom.errors import DocumentError

if TYPE_CHECKING:
    import polars as pl


def read_card(path: Path, format: str) -> dict[str, Any]:
    """The JSON object that stands in the metadata of a Parquet file under the key ``transom``.

    Raises
    ------
    DocumentError : the file cannot be read, or is not of that format.
    """
    import polars as pl

    with readable(path):
        text = pl.read_parquet_metadata(path).get("transom")
    try:
        card = json.loads(text) if text is not None else None
    except ValueError:
        card = None
    if not isinstance(card, dict) or "format" not in card:
        raise DocumentError(f"{path}: was not written by Transom: its metadata state no format")
    if card["format"] != format:
        raise DocumentError(f"{path}: format {card['format']!r} is not known; known: {format}")
    return card


def read_columns(path: Path, only: Sequence[str] | None = None, leave: Sequence[str] = ()) -> dict[str, NDArray[Any]]:
    """Columns of a Parquet file as arrays of shape ``(rows,)``; lists come as object arrays of lists.

    Parameters
    ----------
    path : the file.
    only : the columns, by default all.
    leave : columns that are not read.

    Raises
    ------
    DocumentError : the file cannot be read, lacks a column, or a value is missing.
    """
    import polars as pl

    with readable(path):
        frame = pl.scan_parquet(path, glob=False)
        names = [name for name in frame.collect_schema().names() if name not in leave] if only is None else list(only)
        table = frame.select(names).collect()
    columns = {}
    for series in table:
        if series.null_count():
            raise DocumentError(f"{path}: {series.null_count()} values of column {series.name!r} are missing")
        columns[series.name] = _array(series)
    return columns


def scan(path: Path, column: str, begin: int, count: int) -> pl.Series:
    """Rows ``begin`` to ``begin + count - 1`` of one column.

    Raises
    ------
    DocumentError : the file cannot be read or lacks the column.
    """
    import polars as pl

    with readable(path):
        return pl.scan_parquet(path, glob=False).select(column).slice(begin, count).collect()[column]


def column_names(path: Path) -> list[str]:
    """What the columns of a Parquet file are called.

    Raises
    ------
    DocumentError : the file cannot be read.
    """
    import polars as pl

    with readable(path):
        return list(pl.read_parquet_schema(path))


def list_lengths(path: Path, column: str) -> NDArray[Any] | None:
    """How many items each list of a column holds, shape ``(rows,)``; None where there is no such column.

    Raises
    ------
    DocumentError : the file cannot be read, or the column is not of lists.
    """
    import polars as pl

    with readable(path):
        if column not in pl.read_parquet_schema(path):
            return None
        lengths = pl.scan_parquet(path, glob=False).select(pl.col(column).list.len().cast(pl.Int64)).collect()
        return lengths[column].to_numpy()


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what polars raises on a missing or damaged file into an error of ours.

    Raises
    ------
    DocumentError : the file is missing, damaged, or lacks a column.
    """
    import polars as pl

    if not path.is_file():
        raise DocumentError(f"{path}: no such file")
    try:
        yield
    except pl.exceptions.ColumnNotFoundError as error:
        raise DocumentError(f"{path}: column {str(error).splitlines()[0]} is missing") from None
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise DocumentError(f"{path}: not a Parquet file, or damaged ({reason})") from None


@contextmanager
def whole_parquet(target: Path) -> Iterator[Path]:
    """As :func:`atomic_path`, for polars: its own error neither names the file nor is an :class:`OSError`.

    Raises
    ------
    DocumentError : the file cannot be written.
    """
    from polars.exceptions import ComputeError

    try:
        with atomic_path(target) as path:
            yield path
    except ComputeError as error:
        if "os error" not in str(error):
            raise
        raise DocumentError(f"{target}: cannot be written: {error}") from None


def _array(series: pl.Series) -> NDArray[Any]:
    import polars as pl

    if isinstance(series.dtype, pl.String):
        return np.array(series.to_list(), dtype=str)
    if isinstance(series.dtype, pl.List):
        array = np.empty(len(series), dtype=object)
        for i, of in enumerate(series.to_list()):  # assigned at once, lists of one length would become rows
            array[i] = tuple(of)
        return array
    return series.to_numpy()
