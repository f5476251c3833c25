"""Differences in provenance between two stores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import polars as pl

_LOAD = 0.5  # processes: below it, two loads are the same


def differing(before: pl.DataFrame, after: pl.DataFrame) -> list[str]:
    """Facts of the machine, versions and code that differ."""
    found = []
    for column in ("machine", "versions"):
        first, second = (_facts(rows[column].unique().to_list()) for rows in (before, after))
        for fact in sorted({*first, *second}):
            if first.get(fact) != second.get(fact):
                found.append(f"{column}: {fact}: {_or(first.get(fact))} before, {_or(second.get(fact))} after")
    load_before, load_after = (rows["load"].median() for rows in (before, after))
    if isinstance(load_before, float) and isinstance(load_after, float) and abs(load_before - load_after) > _LOAD:
        found.append(f"load of the machine: {load_before:.1f} before, {load_after:.1f} after (median)")
    for column, words in (("code", "code of Transom"), ("workers", "runs side by side")):
        one, other = (sorted(map(str, rows[column].unique().to_list())) for rows in (before, after))
        if one != other:
            found.append(f"{words}: {' and '.join(one)} before, {' and '.join(other)} after")
    return found


def _facts(texts: Sequence[str]) -> dict[str, str]:
    """Every fact of several JSON texts, with all the values that it has."""
    facts: dict[str, set[str]] = {}
    for text in texts:
        for name, value in msgspec.json.decode(text).items():
            facts.setdefault(name, set()).add(str(value))
    return {name: " and ".join(sorted(values)) for name, values in facts.items()}


def _or(text: str | None) -> str:
    return "none" if text is None else text
