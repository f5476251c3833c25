"""Rows of a table with more cells than it has columns: which texts hold the delimiter.

A text may hold it where it is free (a name, a comment) or where its syntax has it (``haswell|knl`` among constraints,
``cpu=8,mem=4G`` in a table with commas). Every way to give the surplus to such columns is tried. Those remain in which
each other cell looks as its column does, and of these the way in which the columns agree best with each other. If
several agree as well and differ in what is read, the row is not read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from transom.traces.records.hostlist import hosts
from transom.traces.records.values import STATES, amount, count, instant, minutes, nothing, seconds, state, tres

_LOOKS = {
    "id": ("job", "raw"),
    "time": ("submit", "eligible", "start", "end", "accruetime", "deadline", "lastschedeval", "preempttime"),
    "duration": (
        "elapsed", "suspended", "timeleft", "timemin", "cputime", "usercpu", "systemcpu", "totalcpu",
        "reserved", "planned", "resvcpu", "plannedcpu", "avecpu", "mincpu",
    ),
    "limit": ("limit",),
    "number": (
        "array_job", "het_job", "elapsed_raw", "limit_raw", "nnodes", "alloc_nodes", "req_nodes", "ncpus",
        "alloc_cpus", "req_cpus", "uid", "restarts", "priority", "gid", "associd", "dbindex", "qosraw", "wckeyid",
        "reservationid", "ntasks", "tasks", "numtasks", "mincpus", "cputimeraw", "resvcpuraw", "plannedcpuraw",
        "consumedenergy", "consumedenergyraw", "contiguous", "segmentsize", "mincputask", "nice", "avediskread",
        "avediskwrite", "avepages", "averss", "avevmsize", "maxdiskread", "maxdiskreadtask", "maxdiskwrite",
        "maxdiskwritetask", "maxpages", "maxpagestask", "maxrss", "maxrsstask", "maxvmsize", "maxvmsizetask",
        "mintmpdisk", "minmemory", "avecpufreq",
    ),
    "memory": ("req_mem",),
    "state": ("state",),
    "exit": ("exitcode", "derivedexitcode", "derivedec"),
    "resources": ("alloc_tres", "req_tres"),  # and all that begin with tresusage
    "hosts": ("nodes", "req_node_list", "execnodes", "excnodes", "schednodes", "failednode", "mincpunode"),
    "word": (
        "array_task", "partition", "qos", "account", "cluster", "blockid", "mcslabel", "wckey", "qosreq",
        "reqreservation", "sluid", "originalsluid", "s:c:t", "corespec", "exechost", "reqcpufreq", "reqcpufreqgov",
        "reqcpufreqmax", "reqcpufreqmin", "maxdiskreadnode", "maxdiskwritenode", "maxpagesnode", "maxrssnode",
        "maxvmsizenode", "socketspernode", "corespersocket", "threadspercore",
    ),
    "list": (
        "gres", "node_gres", "req_gres", "reservation", "dependency", "flags", "tresperjob", "trespersocket",
        "trespertask",
    ),
    "user": ("user",),
    "layout": ("layout",),
    "letters": ("exclusive", "oversubscribe"),
    "words": ("group",),
    "expression": ("constraints", "features", "clusterfeatures", "prefer", "licenses", "licensesalloc"),
    "empty": ("",),
}  # fmt: skip
"""Fields, or else headings without case, blanks and underscores, by the look of their cells; others hold any text."""

_LOOK = {name: look for look, names in _LOOKS.items() for name in names}
_ENDLESS = ("unlimited", "infinite", "partition_limit", "not_set")


def _is_time(text: str) -> bool:
    return nothing(text) or (instant(text) is not None and not re.fullmatch(r"[1-9]\d{0,7}", text))


def _is_duration(text: str) -> bool:
    return nothing(text) or text.lower() in _ENDLESS or (seconds(text) is not None and ":" in text)


def _is_limit(text: str) -> bool:
    return _is_duration(text) or text.isdecimal()


def _is_number(text: str) -> bool:
    number = re.fullmatch(r"-?\d+(\.\d+)?[KMGTP]?(-\d+[KMGTP]?)?", text)
    return number is not None or nothing(text) or text.lower() in _ENDLESS


def _is_state(text: str) -> bool:
    return nothing(text) or state(text) in STATES


def _matches(pattern: str) -> Callable[[str], bool]:
    whole = re.compile(pattern)
    return lambda text: whole.fullmatch(text) is not None


_RESOURCE = r"[\w/:.+-]+=[\w.+-]+"
_HOST = r"[\w.:\[\]-]+"  # or a part of one: n[1-2 of n[1-2,4]
_CELL: dict[str, Callable[[str], bool]] = {
    "id": _matches(r"\d+(_\d+|_\[[^\]|]*\]?)?(\+\d+)?(\.\w+)?"),
    "time": _is_time,
    "duration": _is_duration,
    "limit": _is_limit,
    "number": _is_number,
    "memory": lambda text: amount(text) is not None,
    "state": _is_state,
    "exit": _matches(r"(\d+:\d+)?"),
    "resources": _matches(rf"({_RESOURCE}(,{_RESOURCE})*|N/A)?"),
    "hosts": _matches(rf"({_HOST}(,{_HOST})*|None assigned|\(.*\)|N/A|n/a|None)?"),
    "word": _matches(r"\S*"),
    "list": _matches(r"\S*"),
    "user": _matches(r"[\w.@+\\-]*\$?|\(null\)|N/A"),
    "layout": _matches(r"(Arbitrary|Block|CFull|Cyclic|Plane|Unknown)*"),
    "letters": _matches(r"[A-Za-z]*"),
    "words": _matches(r".*"),
    "expression": _matches(r" *\S* *"),
    "empty": _matches(r" *"),
}
_PIECE: dict[str, tuple[str, Callable[[str], bool]]] = {
    "expression": ("|,;:&", _matches(r" *(?=[^A-Za-z]*[A-Za-z])[\[(]*\w[\w.@:=*&+()\[\],-]* *")),
    "resources": (",", _matches(_RESOURCE)),
    "hosts": (",", _matches(_HOST)),
    "list": (",", _matches(r"[^\s\[\]]+")),
}
"""Characters that the syntax of a text has, and what stands between them."""


@lru_cache(maxsize=1 << 16)
def _looks(look: str, text: str) -> bool:
    return _CELL[look](text)


class Column(NamedTuple):
    """A column of a table, or several ones side by side that are not read and may hold any text.

    Parameters
    ----------
    field : what is read from it, or the empty text.
    look : what its cells look like, or the empty text if like any.
    width : how many columns it stands for.
    """

    field: str
    look: str
    width: int = 1

    def ends(self, cells: Sequence[str], begin: int, last: int, delimiter: str) -> Iterator[int]:
        """Where the cells of it may end that begin here, at the latest ``last``."""
        if not self.look:
            yield from range(begin + self.width, last + 1)
            return
        if _looks(self.look, cells[begin]):
            yield begin + 1
        inside, is_piece = _PIECE.get(self.look, ("", None))
        if is_piece is None or delimiter not in inside or not is_piece(cells[begin]):
            return
        names, opened = {cells[begin].partition("=")[0]}, cells[begin].count("[") - cells[begin].count("]")
        for end in range(begin + 1, last):
            name = cells[end].partition("=")[0]
            if not is_piece(cells[end]) or (self.look == "resources" and name in names):
                return
            names.add(name)
            opened += cells[end].count("[") - cells[end].count("]")
            if self.look != "hosts" or not opened:
                yield end + 1


def columns_of(fields: Sequence[str], headings: Sequence[str]) -> list[Column]:
    """The columns below a header; ``fields`` are those that are read, empty texts for others."""
    columns: list[Column] = []
    for field, heading in zip(fields, headings, strict=True):
        plain = heading.strip(" \t").partition("%")[0].lower().replace(" ", "").replace("_", "")
        look = "resources" if plain.startswith("tresusage") else (field and _LOOK.get(field)) or _LOOK.get(plain, "")
        if columns and not field and not look and columns[-1][:2] == ("", ""):
            columns[-1] = Column("", "", columns[-1].width + 1)
        else:
            columns.append(Column(field, look))
    return columns


_MOST_CELLS = 256  # of surplus
_MOST_WAYS = 2048  # that are followed at once

_FILLED = ("submit", "state", "elapsed", "elapsed_raw", "suspended")  # which sacct prints of every job

Row = Mapping[str, str]
"""Texts by field."""


class Found(NamedTuple):
    """The fields of a row; None if they cannot be told, and then why. ``marked``: what was decided by little."""

    row: dict[str, str] | None
    why: str = ""
    marked: str = ""


def fitted(
    cells: Sequence[str], columns: Sequence[Column], delimiter: str, known: Mapping[str, Collection[str]]
) -> Found:
    """The fields of a row.

    Parameters
    ----------
    cells : the texts between delimiters, at least as many as columns.
    columns : what the columns hold, in their order.
    delimiter : stands between cells.
    known : by field, what other rows hold: users, partitions and so on.
    """
    width = sum(column.width for column in columns)
    expected = f"expected {width} fields as the header has, got {len(cells)}"
    if len(cells) - width > _MOST_CELLS:
        return Found(None, f"{expected}: more than {_MOST_CELLS} too many")
    ways = _ways(cells, columns, delimiter)
    if ways is None:
        return Found(None, f"{expected}: too many texts may hold the delimiter")
    rows: list[tuple[tuple[int, ...], dict[str, str]]] = []
    agreement: dict[tuple[str, ...], tuple[int | None, int]] = {}
    for (_, *ends), in_syntax in ways.items():
        row = {
            column.field: delimiter.join(cells[first:last])
            for column, first, last in zip((each for each in columns if each.field), ends[::2], ends[1::2], strict=True)
        }
        texts = tuple(text for field, text in row.items() if field != "name")
        if texts not in agreement:
            agreement[texts] = _agreement(row)
        against, agreed = agreement[texts]
        if against is not None and not any(row.get(field) == "" for field in _FILLED):
            seen = sum(row.get(field) in values for field, values in known.items())
            rows.append(((-against, agreed, seen, int(in_syntax == len(cells) - width)), row))
    if not rows:
        return Found(None, f"{expected}, and no way to join some leaves each column as it should look")
    best = max(score for score, _ in rows)
    first, *others = (row for score, row in rows if score == best)
    differ = sorted({field for row in others for field in row if row[field] != first[field]})
    if differ and differ != ["name"]:
        return Found(
            None, f"{expected}: which text holds the delimiter is not clear, {' and '.join(differ)} would differ"
        )
    if differ:
        return Found({**first, "name": ""}, marked="where the name ends is not clear, it is left empty")
    by_syntax = any(score[:-1] == best[:-1] and row != first for score, row in rows)
    return Found(first, marked="taken for part of a list or of constraints" if by_syntax else "")


def _ways(cells: Sequence[str], columns: Sequence[Column], delimiter: str) -> dict[tuple[int, ...], int] | None:
    """Ways to give the cells to columns: where the rest begins, where each field begins and ends.

    With each comes how many delimiters are part of a text's syntax, the most of those that differ in no field. None if
    they are too many to follow.
    """
    ways: dict[tuple[int, ...], int] = {(0,): 0}
    left = sum(column.width for column in columns)
    for column in columns:
        left -= column.width
        further: dict[tuple[int, ...], int] = {}
        for (begin, *ends), in_syntax in ways.items():
            for end in column.ends(cells, begin, len(cells) - left, delimiter):
                way = (end, *ends, begin, end) if column.field else (end, *ends)
                gain = end - begin - 1 if column.look else 0
                further[way] = max(further.get(way, 0), in_syntax + gain)
        if len(further) > _MOST_WAYS:
            return None
        ways = further
    return {way: in_syntax for way, in_syntax in ways.items() if way[0] == len(cells)}


def _agreement(row: Row) -> tuple[int | None, int]:
    """How many pairs of fields contradict each other, and how many agree; None if the allocated sizes contradict."""
    held, asked = tres(row.get("alloc_tres", "")), tres(row.get("req_tres", ""))
    numbers = {name: count(row.get(name, "")) or 0 for name in ("ncpus", "alloc_cpus", "nnodes", "alloc_nodes")}
    cores = {each for each in (numbers["ncpus"], numbers["alloc_cpus"], held.cores) if each > 0}
    nodes = {each for each in (numbers["nnodes"], numbers["alloc_nodes"], held.nodes, _hosts(row)) if each > 0}
    if len(cores) > 1 or len(nodes) > 1:
        return None, 0
    pairs = [min(cores) >= min(nodes)] if cores and nodes else []
    for name, stated in (("req_cpus", asked.cores), ("req_nodes", asked.nodes)):
        if (number := count(row.get(name, "")) or 0) > 0 and stated > 0:
            pairs.append(number == stated)
    times = [instant(row[name]) or 0 for name in ("submit", "eligible", "start", "end") if name in row]
    known = [each for each in times if each > 0]
    pairs += [before <= after for before, after in pairwise(known)]
    elapsed = [found for name in ("elapsed", "elapsed_raw") if (found := seconds(row.get(name, "")) or 0) > 0]
    if len(known) > 1 and {"start", "end"} <= row.keys() and min(times[-2:]) > 0:
        elapsed.append(times[-1] - times[-2] - max(seconds(row.get("suspended", "")) or 0, 0))
    pairs += [abs(first - second) <= 60 for first, second in pairwise(elapsed)]
    limits = [found for name in ("limit", "limit_raw") if (found := minutes(row.get(name, "")) or 0) > 0]
    pairs += [first == second for first, second in pairwise(limits)]
    if row.get("job", "").isdecimal() and row.get("raw", "").isdecimal():
        pairs.append(row["job"] == row["raw"])
    return len(pairs) - sum(pairs), sum(pairs)


def _hosts(row: Row) -> int:
    text = row.get("nodes", "").strip()
    if not text or text.startswith("(") or " " in text:
        return 0
    try:
        return len(hosts(text))
    except ValueError:
        return 0
