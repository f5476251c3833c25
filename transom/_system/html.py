"""Small tables in HTML, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of names and values below a title; everything is escaped."""
    from html import escape  # its table of entities takes 2 ms, which every command would pay

    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-wrap">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption>{cells}</table>'
