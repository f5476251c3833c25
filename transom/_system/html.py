"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of names and values below a title; everything is escaped."""
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-wrap">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption>{cells}</table>'
