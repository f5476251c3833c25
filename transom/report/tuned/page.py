"""The page of a tuned policy: sentences, the front, lines to paste, who gains and loses, and all figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from transom.report.assembly import assembled
from transom.report.groups import group_lines
from transom.report.pictures import picture
from transom.report.table import FIRST, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SCRIPT = ("script/elements.js", "script/boxes.js", "script/tables.js")


class Told(NamedTuple):
    """What the page tells.

    Parameters
    ----------
    title : of the page.
    sentences : at least one.
    fronts : pictures, each with its caption and what it shows for those who do not see it.
    texts : headings and texts as they are, such as lines of a file.
    policies : whose groups of jobs gain and lose, of the facts of an
        :class:`~transom.simulation.output.sentences.Answer`.
    tables : of figures.
    facts : terms and what they are.
    """

    title: str
    sentences: Sequence[str]
    fronts: Sequence[tuple[Figure, str, str]]
    texts: Sequence[tuple[str, str]]
    policies: Sequence[Mapping[str, Any]]
    tables: Sequence[Table]
    facts: Sequence[tuple[str, str]]


def tuned_page(told: Told) -> str:
    """The text of the page; the same facts give the same bytes."""
    return assembled(
        "transom.report.tuned",
        ["style.css"],
        _SCRIPT,
        title=told.title,
        sentences=told.sentences,
        pictures=[picture(figure, f"front {k}", *said) for k, (figure, *said) in enumerate(told.fronts, 1)],
        texts=told.texts,
        groups=group_lines(told.policies),
        tables=told.tables,
        first=FIRST,
        facts=told.facts,
    )
