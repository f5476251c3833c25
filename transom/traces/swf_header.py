"""The header comments of a trace: machine size, names of partitions and of further columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from transom.errors import TraceError
from transom.traces.partitions import PartitionNodes

_SIZE = re.compile(rb";[ \t]*(MaxNodes|MaxProcs)[ \t]*:[ \t]*(\d+(?:,\d{3})*)", re.IGNORECASE)
_PARTITION = re.compile(rb";[ \t]*Partition[ \t]*:[ \t]*(\d{1,18})[ \t]+([^ \t\r\n]+)", re.IGNORECASE)
_COLUMNS = re.compile(rb";[ \t]*Columns[ \t]*:(.*)", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_GENERIC = re.compile(r"column\d+", re.IGNORECASE)

FIELDS = (
    "job number",
    "submit time",
    "wait time",
    "run time",
    "allocated processors",
    "average CPU time",
    "used memory",
    "requested processors",
    "requested time",
    "requested memory",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding job",
    "think time",
)
"""The 18 fields of a line that the format knows, in order."""


@dataclass(slots=True)
class Header:
    """The comments of a trace, as far as they matter here.

    Parameters
    ----------
    path : the file, for messages.
    sizes : ``maxprocs`` and ``maxnodes``, each as it stands first.
    partitions : names of partitions by number.
    columns : names of the fields behind the 18th, in order; None where no comment names them.
    fault : what is wrong with a size, for whoever needs sizes.
    over : whether jobs have begun: what names columns now comes too late.
    counted : how many there are of what a further field may count, by its name (``cores``).
    partition_nodes : sizes of partitions, in what sizes of jobs are counted in.
    told_by : where the size of the machine comes from, if nobody stated it.
    groups : names of groups of users by number.
    """

    path: str
    sizes: dict[str, int] = field(default_factory=dict)
    partitions: dict[int, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    fault: str = ""
    over: bool = False
    counted: Mapping[str, int] = field(default_factory=dict)
    partition_nodes: PartitionNodes = field(default_factory=PartitionNodes)
    told_by: str = ""
    groups: Mapping[int, str] = field(default_factory=dict)

    def read(self, comment: bytes, line: int) -> None:
        """Take what a line says that begins with a semicolon.

        Raises
        ------
        TraceError : it names columns, and a name is none, stands twice or is one of the format's own.
        """
        if found := _SIZE.match(comment):
            size = int(found[2].replace(b",", b"")[:20])
            self.sizes.setdefault(found[1].decode().lower(), size)
            if size >= 2**63 and not self.fault:
                self.fault = f"{self.path}: line {line}: {found[1].decode()} does not fit into 63 bits"
        elif found := _PARTITION.match(comment):
            self.partitions.setdefault(int(found[1]), found[2].decode("utf-8", "replace"))
        elif (found := _COLUMNS.match(comment)) and self.columns is None and not self.over:
            self.columns = self._names(found[1].decode("utf-8", "replace"), line)

    def machine(self) -> int | None:
        """The size of the machine in processors: MaxProcs, else MaxNodes; 0 stands for unknown, as -1 does.

        Raises
        ------
        TraceError : a size does not fit into 63 bits.
        """
        if self.fault:
            raise TraceError(self.fault)
        return self.sizes.get("maxprocs") or self.sizes.get("maxnodes") or None

    def _names(self, text: str, line: int) -> tuple[str, ...]:
        names = tuple(text.replace(",", " ").split())
        known = [*map(standard_name, range(1, len(FIELDS) + 1))]
        if [name.lower() for name in names[: len(known)]] == known:
            names = names[len(known) :]
        for at, name in enumerate(names):
            where = f"{self.path}: line {line}: Columns: {name!r}"
            if not _NAME.fullmatch(name) or _GENERIC.fullmatch(name):
                raise TraceError(f"{where}: expected a name of letters, digits, _, . and -, other than column19 ...")
            if name.lower() in known and len(names) <= len(known):  # with more names, these may be those of all fields
                raise TraceError(f"{where} is a field of the format; the names are for those behind the 18th")
            if name.lower() in (other.lower() for other in names[:at]):
                raise TraceError(f"{where} stands twice")
        return names


def standard_name(number: int) -> str:
    """What options call a field of the format, by its number from 1: ``requested-processors`` is the 8th."""
    return FIELDS[number - 1].lower().replace(" ", "-")


def field_name(number: int, columns: tuple[str, ...] | None) -> str:
    """What a message calls a field, by its number from 1."""
    if number <= len(FIELDS):
        return FIELDS[number - 1]
    at = number - len(FIELDS) - 1
    return columns[at] if columns is not None and at < len(columns) else f"column{number}"
