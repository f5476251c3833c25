"""Who gains and who loses: the mean waits of groups of jobs under two policies, as pages show them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from transom._system.durations import times

_KINDS = {"partition": "partition", "size": "size of the job", "group": "group of users", "use": "use of the machine"}


class Line(NamedTuple):
    """The mean waits of a group of jobs under two policies, in units that fit; the range is empty without repeats."""

    name: str
    jobs: int
    before: str
    after: str
    change: str
    range: str


def group_lines(policies: Sequence[Mapping[str, Any]]) -> list[tuple[str, bool, dict[str, list[Line]]]]:
    """Of each policy the waits of groups by kind, and whether there is a range over repeats.

    Parameters
    ----------
    policies : of the facts of an :class:`~transom.simulation.output.sentences.Answer`.
    """
    found = []
    for each in policies:
        lines = {_KINDS[kind]: [_line(row) for row in rows] for kind, rows in each["groups"].items()}
        found.append((each["policy"], any(line.range for rows in lines.values() for line in rows), lines))
    return [each for each in found if each[2]]


def _line(row: Mapping[str, Any]) -> Line:
    span = "" if row["lowest"] is None else f"{_signed(row['lowest'])} to {_signed(row['highest'])}"
    before, after = times(row["baseline"], row["value"])
    return Line(row["name"], row["jobs"], before, after, _signed(row["difference"]), span)


def _signed(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '-' if seconds < 0 else ''}{times(abs(seconds))[0]}"
