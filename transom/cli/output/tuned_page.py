"""What ``transom tune`` prints of all policies, and the page that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from transom import __version__
from transom._system.files import atomic_write
from transom.report.table import Cell, Column, Table
from transom.report.tuned.page import Told, tuned_page
from transom.tune.figures import Figures
from transom.tune.objectives import Objective
from transom.tune.outcome import ALWAYS, Beside, Outcome
from transom.tune.picture import PARTS, front_picture

_SHORT = {"bounded_slowdown": "slowdown", "max_wait": "longest"}


def columns(outcome: Outcome) -> list[str]:
    """The headings of :func:`rows`."""
    return [
        "policy",
        *(f"{_SHORT.get(each.name, each.name)}, {part}" for part in ("tuning", "test") for each in _shown(outcome)),
    ]


def rows(outcome: Outcome) -> list[list[Cell]]:
    """Today's policy, the tuned one and all fixed rules, the best on the test part first."""
    rules = sorted(outcome.fixed, key=lambda each: outcome.objectives[0].value(each.test))
    named = [(each.policy, each) for each in rules if each.policy != outcome.today.policy]
    listed = [(f"today: {outcome.today.policy}", outcome.today), ("tuned", outcome.tuned), *named]
    return [[Cell(name), *_cells(each, _shown(outcome))] for name, each in listed]


def write_page(path: Path, outcome: Outcome, about: dict[str, Any], texts: Sequence[tuple[str, str]]) -> None:
    """Write the page, whole.

    Parameters
    ----------
    path : the file.
    outcome : what tuning came to.
    about : what it was tuned on, as in ``tuned.toml``.
    texts : headings and lines to paste.
    """
    which = "all fixed rules, today's policy, the tuned one, and what no other policy beats on the tuning part."
    alt = f"{len(outcome.front)} policies of the front and {len(outcome.fixed)} fixed rules. {outcome.sentences[0]}"
    fronts = [
        (front_picture(outcome, [part]), f"{name.capitalize()}: {which}", f"{name.capitalize()}: {alt}")
        for part, name in PARTS.items()
    ]
    names = [Column("policy"), *(Column(heading, number=True) for heading in columns(outcome)[1:])]
    table = Table("The tuned policy beside today's and fixed rules", names, rows(outcome))
    facts = [("Policy", outcome.tuned.policy), *((_term(name), _text(value)) for name, value in about.items())]
    told = Told(
        f"{about['trace']}: which policy to set",
        outcome.sentences,
        fronts,
        texts,
        [{**each, "policy": "the tuned policy"} for each in outcome.facts["policies"]],
        [table],
        [*facts, ("Version", f"transom {__version__}")],
    )
    with atomic_write(path) as file:
        file.write(tuned_page(told))


def _shown(outcome: Outcome) -> list[Objective]:
    return list(dict.fromkeys((*ALWAYS, *outcome.objectives)))


def _cells(each: Beside, shown: Sequence[Objective]) -> list[Cell]:
    return [_cell(getattr(each, part), objective) for part in PARTS for objective in shown]


def _cell(of: Figures | None, objective: Objective) -> Cell:
    return Cell("-", "") if of is None else Cell(objective.text(of)[0], of.get(objective.name))


def _term(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _text(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else str(value)
