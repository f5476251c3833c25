"""Numbers in texts: how messages say them, and which spellings of people and files are read; tables for notebooks.

``int`` and ``float`` take ``1_0``, blanks around a number and the digits of all scripts, so that a mistyped id or
amount becomes another one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable


def counted(number: int, noun: str) -> str:
    """A number and its noun: "1 job", "2,000 jobs"."""
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def odd_number(text: str) -> bool:
    """Whether a text is spelled as no number should be: with ``_``, blanks around it or characters beyond ASCII."""
    return "_" in text or not text.isascii() or text != text.strip()


def digits(text: str) -> bool:
    """Whether a text is made of the digits 0 to 9 alone, and of no more than ``int`` takes."""
    return text.isascii() and text.isdecimal() and len(text) <= sys.int_info.default_max_str_digits


def whole_number(text: str) -> int:
    """The whole number that a text spells.

    Raises
    ------
    ValueError : it spells none.
    """
    if odd_number(text):
        raise ValueError(f"expected a whole number, got {text!r}")
    return int(text)


def real_number(text: str) -> float:
    """The number that a text spells.

    Raises
    ------
    ValueError : it spells none.
    """
    if odd_number(text):
        raise ValueError(f"expected a number, got {text!r}")
    return float(text)


def html_table(title: str, rows: Iterable[tuple[str, object]]) -> str:
    """A table of names and values below a title; everything is escaped."""
    from html import escape  # its table of entities takes 2 ms, which every command would pay

    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left;white-space:pre-wrap">{escape(str(value))}</td></tr>'
        for name, value in rows
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption>{cells}</table>'
