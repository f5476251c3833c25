"""Tables as the page shows them: cells of text with what they are sorted by."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

IN_PAGE = 600
"""Rows of a table up to which all stand in the page; of a longer one only the first do, with data for the script."""

FIRST = 100
"""Rows of a long table that are there without a script."""


class Column(NamedTuple):
    """A column: its heading, whether it is aligned as numbers, whether readers choose rows by its values, and what it
    means in a few words."""

    title: str
    number: bool = False
    choose: bool = False
    meaning: str = ""


class Cell(NamedTuple):
    """A cell: what it says, what it is sorted by where that is something else, and whether it is the best."""

    text: str
    sort: float | str | None = None
    best: bool = False


class Table(NamedTuple):
    """A table with its caption, and a note below; ``name`` is its anchor in the page."""

    caption: str
    columns: list[Column]
    rows: list[list[Cell]]
    note: str = ""
    name: str = ""

    @property
    def paged(self) -> dict[str, Any] | None:
        """What the script needs to show a long table page by page; None of one whose rows all stand in the page."""
        if len(self.rows) <= IN_PAGE:
            return None
        return {"count": len(self.rows), "columns": [_encoded(column) for column in zip(*self.rows, strict=True)]}


def _encoded(cells: Sequence[Cell]) -> dict[str, Any]:
    """A column: its different texts, what each is sorted by, and which of them each row has."""
    first: dict[str, Cell] = {}
    places: dict[str, int] = {}
    for cell in cells:
        if first.setdefault(cell.text, cell) is cell:
            places[cell.text] = len(places)
    sorts = [text if cell.sort is None else cell.sort for text, cell in first.items()]
    return {
        "texts": [*first],
        "sorts": None if all(cell.sort is None for cell in first.values()) else sorts,
        "at": None if len(first) == len(cells) else [places[cell.text] for cell in cells],
    }


def anchor(*names: str) -> str:
    """A name in the page: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", "-".join(names)).strip("-").lower()


def words(thing: object) -> Cell:
    """A cell of text; None is an empty one."""
    return Cell("" if thing is None else str(thing))


def count(number: int) -> Cell:
    """A cell of a whole number."""
    return Cell(f"{number:,}", number)


def percent(share: float | None, best: bool = False) -> Cell:
    """A share as a percentage; None and nan are a dash, which is sorted last."""
    if share is None or math.isnan(share):
        return Cell("–", "")
    return Cell(percentage(share), round(100 * share, 9), best)


def percentage(share: float) -> str:
    """A share as a percentage with two decimals, without the sign."""
    value = 100 * share
    return "<0.01" if 0 < value < 0.01 else f"{value:.2f}"


def limits(low: float | None, high: float | None) -> Cell:
    """Limits of a share as percentages, sorted by the lower one; ``too few`` where there are none, sorted last."""
    if low is None or high is None or math.isnan(low) or math.isnan(high):
        return Cell("too few", "")
    return Cell(f"{percentage(low)} to {percentage(high)}", round(100 * low, 9))


def number(value: float | None, digits: int = 3) -> Cell:
    """A number with so many significant digits; None and nan are a dash, which is sorted last."""
    if value is None or math.isnan(value):
        return Cell("–", "")
    return Cell(significant(value, digits), value)


def significant(value: float, digits: int = 3) -> str:
    """A number with so many significant digits, without an exponent where it has less than 16 places."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    if abs(places) > 15:
        return f"{value:.{digits - 1}e}"
    return f"{value:,.{max(0, places)}f}"


def several(things: list[str], most: int = 20) -> str:
    """A list of items, shortened beyond ``most``."""
    more = f" and {len(things) - most:,} more" if len(things) > most else ""
    return ", ".join(things[:most]) + more
