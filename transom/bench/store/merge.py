"""Merging result stores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from transom.bench.store.store import read_results

if TYPE_CHECKING:
    import polars as pl


def merge_results(paths: Sequence[str | os.PathLike[str]]) -> pl.DataFrame:
    """Merge the rows of several stores; of a run in more than one store, the one that started last is kept.

    Raises
    ------
    StoreError, DocumentError : as of :func:`~transom.bench.store.store.read_results`.
    """
    import polars as pl

    rows = pl.concat([read_results(path) for path in paths])
    if rows["key"].n_unique() == len(rows):
        return rows
    return rows.filter(pl.col("begun").rank("ordinal", descending=True).over("key") == 1)
