"""Outages of nodes: failures, drains and maintenance windows, from files and from a seeded law.

A file is CSV with a header: ``kind`` (``failure``, ``drain`` or ``maintenance``), ``begin`` and ``end`` [s] on the
trace's clock, ``nodes`` (how many, or ids such as ``3-7;12``; a single id is ``12-12``) and, for maintenance,
``announced`` [s]; empty or absent: from the start. A law is ``mtbf=30d,mttr=4h``: mean times between failures of a node
and to its repair.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np

from transom import registry
from transom._system.durations import UNITS, seconds_in
from transom._system.wording import counted
from transom.errors import SpecError, TraceError
from transom.models.arrays import IntArray
from transom.rng import stream

OnFailure = Literal["requeue", "lose"]
"""What becomes of the jobs on a node that goes out of service under them."""

MOST_NODES = 10_000_000
"""Nodes of a machine of which each is watched."""

KINDS = ("failure", "drain", "maintenance")

_COLUMNS = ("kind", "begin", "end", "nodes", "announced")
_LAST = 2**53  # instants beyond are not those of a clock [s]


class Outage(NamedTuple):
    """One row: from ``begin`` until before ``end`` [s] nodes are out of service.

    ``number`` nodes; which, say the ranges of ids (first, last), where there are any. ``announced`` [s]: since when
    maintenance is known; None: from the start. A failure or a drain is never known before. Jobs that run on drained
    nodes go on: a node is out of service once it has none.
    """

    kind: str
    begin: int
    end: int
    number: int
    ranges: tuple[tuple[int, int], ...] = ()
    announced: int | None = None

    def ids(self) -> IntArray:
        """The stated ids, ascending, shape ``(nodes,)``."""
        return np.concatenate([np.empty(0, np.int64), *(np.arange(low, high + 1) for low, high in self.ranges)])


@dataclass(frozen=True, slots=True)
class Outages:
    """What goes out of service during a replay, and what becomes of the jobs there.

    Parameters
    ----------
    rows : stated failures, drains and maintenance windows.
    mtbf, mttr : of the law, mean time between failures of a node in service and mean time to repair [s], exponential;
        None: there is no law.
    on_failure : ``requeue``: a job on a failed node waits again, as of its submission, and starts from zero; ``lose``:
        it has ended.

    Raises
    ------
    SpecError : a time of the law is not positive, only one is stated, or ``on_failure`` is unknown.
    """

    rows: tuple[Outage, ...] = ()
    mtbf: float | None = None
    mttr: float | None = None
    on_failure: OnFailure = "requeue"

    def __post_init__(self) -> None:
        if self.on_failure not in get_args(OnFailure):
            raise SpecError(f"on_failure must be one of {', '.join(get_args(OnFailure))}, got {self.on_failure!r}")
        if (self.mtbf is None) != (self.mttr is None):
            raise SpecError("outages: a law states both mtbf and mttr, such as mtbf=30d,mttr=4h")
        for name, value in (("mtbf", self.mtbf), ("mttr", self.mttr)):
            if value is not None and not 1 <= value <= _LAST:
                raise SpecError(f"outages: {name} must be at least 1 s and at most {_LAST} s, got {value:g}")

    def stated(self, nodes: int, seed: int) -> list[Outage]:
        """The rows with ids for every failure and drain: which nodes where only their number is stated is drawn.

        Parameters
        ----------
        nodes : of the machine.
        seed : >= 0; the draw depends on it and on the row, not on the policy.

        Raises
        ------
        SpecError : the machine has too many nodes, or a row states nodes that it lacks.
        """
        if nodes > MOST_NODES:
            raise SpecError(f"outages: the machine has {nodes} nodes, at most {MOST_NODES} can be watched")
        found = []
        for k, row in enumerate(self.rows):
            if row.number > nodes or any(high >= nodes for _, high in row.ranges):
                raise SpecError(f"outages: row {k + 1}: {_beyond(row, nodes)}")
            if row.kind != "maintenance" and not row.ranges:
                ids = np.sort(stream(seed, "outages", k).choice(nodes, row.number, replace=False))
                found.append(row._replace(ranges=tuple((int(i), int(i)) for i in ids)))
            else:
                found.append(row)
        return found


def outage_card(outages: Outages) -> dict[str, Any]:
    """Outages in JSON's terms, for recordings."""
    rows = [{**row._asdict(), "ranges": [list(each) for each in row.ranges]} for row in outages.rows]
    return {"rows": rows, "mtbf": outages.mtbf, "mttr": outages.mttr, "on_failure": outages.on_failure}


def outages_of(card: Mapping[str, Any]) -> Outages:
    """What :func:`outage_card` described.

    Raises
    ------
    KeyError, TypeError, ValueError : it is nothing of the kind.
    """
    rows = tuple(
        Outage(**{**row, "ranges": tuple((int(low), int(high)) for low, high in row["ranges"])}) for row in card["rows"]
    )
    return Outages(rows, card["mtbf"], card["mttr"], card["on_failure"])


def failures(outages: Outages, nodes: int, first: int, seed: int) -> Iterator[tuple[int, IntArray]]:
    """Failures by the law, one stretch of time after the other, without end.

    Parameters
    ----------
    outages : with a law.
    nodes : of the machine, all in service before ``first`` [s].
    seed : >= 0.

    Yields
    ------
    An instant [s] before which all failures have been stated, and rows of (begin, end, node), shape ``(failures, 3)``,
    those that begin in this stretch.
    """
    assert outages.mtbf is not None
    assert outages.mttr is not None
    length = max(int(np.ceil(outages.mtbf)), UNITS["d"])
    back = np.full(nodes, float(first))
    for k in count():
        rng = stream(seed, "outages", "law", k)
        start = first + k * length
        # Times between failures have no memory: in every stretch they are drawn anew.
        drawn, at_risk = [], np.flatnonzero(back < start + length)
        when = np.maximum(back[at_risk], start)
        while at_risk.size:
            when = np.ceil(when + rng.exponential(outages.mtbf, len(at_risk)))
            inside = when < start + length
            at_risk, when = at_risk[inside], when[inside]
            until = when + np.maximum(np.ceil(rng.exponential(outages.mttr, len(at_risk))), 1)
            drawn.append(np.column_stack((when, until, at_risk)).astype(np.int64))
            back[at_risk] = until
            again = until < start + length
            at_risk, when = at_risk[again], until[again]
        rows = np.concatenate([np.empty((0, 3), np.int64), *drawn])
        yield start + length, rows[np.lexsort((rows[:, 2], rows[:, 0]))]


def parse_outages(texts: Sequence[str], nodes: int, on_failure: str = "requeue") -> Outages:
    """Outages as they are stated: names of files, and at most one law.

    Parameters
    ----------
    texts : each a path or ``mtbf=TIME,mttr=TIME``, durations such as ``30d``.
    nodes : of the machine.
    on_failure : see :class:`Outages`.

    Raises
    ------
    SpecError : a law is malformed, or there are two.
    TraceError : a file cannot be read; the message names file, line and broken condition.
    """
    rows: list[Outage] = []
    law: dict[str, float] = {}
    for text in texts:
        if "=" in text and not Path(text).exists():
            if law:
                raise SpecError(f"outages: two laws are stated, the second is {text!r}")
            law = _law(text)
        else:
            rows += read_outages(Path(text), nodes)
    return Outages(tuple(rows), law.get("mtbf"), law.get("mttr"), cast("OnFailure", on_failure))


def read_outages(path: Path, nodes: int) -> list[Outage]:
    """The rows of a file, for a machine of so many nodes.

    Raises
    ------
    TraceError : the file cannot be read; the message names file, line and broken condition.
    """
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.reader(file)
            header = [name.strip() for name in next(lines, [])]
            wanted = set(_COLUMNS[:4])
            if not wanted <= set(header) <= set(_COLUMNS) or len(set(header)) < len(header):
                raise TraceError(
                    f"{path}: line 1: the columns must be kind, begin, end, nodes and, if need be, announced, "
                    f"got {', '.join(header) or 'none'}"
                )
            found = []
            for cells in lines:
                if not any(cell.strip() for cell in cells):
                    continue
                try:
                    if len(cells) != len(header):
                        raise ValueError(f"has {len(cells)} values, the header {len(header)} columns")
                    found.append(_row(dict(zip(header, map(str.strip, cells), strict=True)), nodes))
                except ValueError as error:
                    raise TraceError(f"{path}: line {lines.line_num}: {error}") from None
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _row(cells: dict[str, str], nodes: int) -> Outage:
    kind = cells["kind"]
    if kind not in KINDS:
        raise ValueError(f"kind must be failure, drain or maintenance, got {kind!r}")
    begin, end = _instant(cells, "begin"), _instant(cells, "end")
    if end <= begin:
        raise ValueError(f"end must be > begin = {begin} s, got {end}")
    announced = None
    if cells.get("announced"):
        announced = _instant(cells, "announced")
        if kind != "maintenance":
            raise ValueError(f"a {kind} is not announced")
        if announced > begin:
            raise ValueError(f"announced must be <= begin = {begin} s, got {announced}")
    row = Outage(kind, begin, end, *_nodes(cells["nodes"]), announced)
    if row.number > nodes or any(high >= nodes for _, high in row.ranges):
        raise ValueError(_beyond(row, nodes))
    return row


def _beyond(row: Outage, nodes: int) -> str:
    if row.ranges:
        return f"states node {max(high for _, high in row.ranges)}, the machine has 0 to {nodes - 1}"
    return f"states {counted(row.number, 'node')}, the machine has {nodes:,}"


def _instant(cells: dict[str, str], name: str) -> int:
    text = cells[name]
    if not text.isdecimal() or not text.isascii() or int(text) > _LAST:
        raise ValueError(f"{name} must be a whole number of seconds, >= 0 and <= 2**53, got {text!r}")
    return int(text)


def _nodes(text: str) -> tuple[int, tuple[tuple[int, int], ...]]:
    wrong = ValueError(f"nodes must be a count > 0 or ids such as 3-7;12, got {text!r}")
    if text.isdecimal() and text.isascii():
        if not int(text):
            raise wrong
        return int(text), ()
    ranges = []
    for part in text.split(";"):
        low, dash, high = part.strip().partition("-")
        high = high if dash else low
        if not all(each.isdecimal() and each.isascii() for each in (low, high)) or int(high) < int(low):
            raise wrong
        ranges.append((int(low), int(high)))
    ranges.sort()
    for (_, last), (first, _) in pairwise(ranges):
        if first <= last:
            raise ValueError(f"nodes {text!r} states node {first} twice")
    return sum(high - low + 1 for low, high in ranges), tuple(ranges)


def _law(text: str) -> dict[str, float]:
    settings = registry.parse(f"law:{text}")[1]
    if settings.keys() != {"mtbf", "mttr"}:
        raise SpecError(f"outages: a law is such as mtbf=30d,mttr=4h, got {text!r}")
    try:
        return {name: seconds_in(value) for name, value in settings.items()}
    except ValueError as error:
        raise SpecError(f"outages: {text}: {error}") from None
