"""Bench rows as a data frame: one row per run, one column per field."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import msgspec

from transom.bench.plan.task import Row
from transom.stop import Stop

if TYPE_CHECKING:
    import polars as pl

JSON_COLUMNS = ("parameters", "metrics", "machine", "versions")
"""Columns of further facts, each as JSON text."""


def schema() -> dict[str, Any]:
    """Name and type of every column, in order.

    The budget stands in ``budget_seconds``, ``budget_iterations``, ``budget_target``, ``budget_gap`` and
    ``budget_stall``; a curve is a list of (``seconds``, ``value``, ``bound``); all else is named as in
    :class:`~transom.bench.plan.task.Row`.
    """
    import polars as pl

    point = pl.Struct({"seconds": pl.Float64, "value": pl.Float64, "bound": pl.Float64})
    kinds = {
        **dict.fromkeys(("seed", "threads", "size", "workers", "attempt"), pl.Int64),
        **dict.fromkeys(("value", "bound", "seconds", "wall", "cold", "overhead", "memory"), pl.Float64),
        **dict.fromkeys(("begun", "load"), pl.Float64),
        "curve": pl.List(point),
    }
    columns: dict[str, Any] = {}
    for name in Row.__struct_fields__:
        if name == "stop":
            whole = ("iterations", "stall")
            columns.update(
                {f"budget_{each.name}": pl.Int64 if each.name in whole else pl.Float64 for each in fields(Stop)}
            )
        else:
            columns[name] = kinds.get(name, pl.String)
    return columns


def to_frame(rows: Iterable[Row]) -> pl.DataFrame:
    """The table of some rows, in their order."""
    import polars as pl

    return pl.DataFrame([_flat(row) for row in rows], schema=schema(), orient="row", strict=False)


def _flat(row: Row) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name in Row.__struct_fields__:
        fact = getattr(row, name)
        if name == "stop":
            flat.update({f"budget_{each.name}": getattr(fact, each.name) for each in fields(Stop)})
        elif name == "curve":
            flat[name] = [{"seconds": seconds, "value": value, "bound": bound} for seconds, value, bound in fact]
        elif name in JSON_COLUMNS:
            flat[name] = msgspec.json.encode(fact).decode()
        else:
            flat[name] = fact
    return flat
