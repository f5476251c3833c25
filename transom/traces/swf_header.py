"""The header comments of a trace: machine size, names of partitions and of further columns."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from transom.errors import TraceError
from transom.traces.partitions import PartitionNodes

_SIZE = re.compile(rb";[ \t]*(MaxNodes|MaxProcs)[ \t]*:[ \t]*([^ \t\r\n]*)", re.IGNORECASE)
_NUMBER = re.compile(rb"([0-9]+(?:,[0-9]{3})*)(?![0-9._]|[eE][0-9])")
_EPOCH = re.compile(rb";[ \t]*UnixStartTime[ \t]*:[ \t]*([0-9]{1,11})(?![0-9.])", re.IGNORECASE)
_BEGUN = re.compile(rb"[-+.]?[0-9]")
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

Field = int | str
"""A field of a line: its number from 1, its name in the format with dashes (``requested-processors``), the name that
the header gives it, or ``column19`` ..."""


@dataclass(slots=True)
class Header:
    """The comments of a trace, as far as they matter here.

    Parameters
    ----------
    path : the file, for messages.
    sizes : ``maxprocs`` and ``maxnodes``, each as it stands first; 0 where it is said to be unknown.
    partitions : names of partitions by number.
    columns : names of the fields behind the 18th, in order; None where no comment names them.
    faults : what is wrong with a size, by its name, for whoever needs sizes.
    unsaid : the sizes that are stated as unknown, 0 or -1, as they stand there.
    over : whether jobs have begun: what names columns now comes too late.
    counted : how many there are of what a further field may count, by its name (``cores``).
    partition_nodes : sizes of partitions, in what sizes of jobs are counted in.
    told_by : where the size of the machine comes from, if nobody stated it.
    groups : names of groups of users by number.
    epoch : 0 s on the trace's clock in Unix time [s]; 0 where the times themselves are Unix times or nobody says so.
    """

    path: str
    sizes: dict[str, int] = field(default_factory=dict)
    partitions: dict[int, str] = field(default_factory=dict)
    columns: tuple[str, ...] | None = None
    faults: dict[str, str] = field(default_factory=dict)
    unsaid: tuple[str, ...] = ()
    over: bool = False
    counted: Mapping[str, int] = field(default_factory=dict)
    partition_nodes: PartitionNodes = field(default_factory=PartitionNodes)
    told_by: str = ""
    groups: Mapping[int, str] = field(default_factory=dict)
    epoch: int = 0

    def read(self, comment: bytes, line: int) -> None:
        """Take what a line says that begins with a semicolon.

        Raises
        ------
        TraceError : it names columns, and a name is none, stands twice or is one of the format's own.
        """
        if found := _SIZE.match(comment):
            self._take_size(found[1].decode(), found[2], line)
        elif found := _PARTITION.match(comment):
            self.partitions.setdefault(int(found[1]), found[2].decode("utf-8", "replace"))
        elif found := _EPOCH.match(comment):
            self.epoch = self.epoch or int(found[1])
        elif (found := _COLUMNS.match(comment)) and self.columns is None and not self.over:
            self.columns = self._names(found[1].decode("utf-8", "replace"), line)

    def machine(self) -> int | None:
        """The size of the machine in processors: MaxProcs, else MaxNodes; 0 stands for unknown, as -1 does.

        Raises
        ------
        TraceError : a size is none of a machine.
        """
        for name in ("maxprocs", "maxnodes"):
            if name in self.faults:
                raise TraceError(self.faults[name])
            if self.sizes.get(name):
                return self.sizes[name]
        return None

    def _take_size(self, name: str, text: bytes, line: int) -> None:
        if name.lower() in self.sizes:
            return
        number = _NUMBER.match(text)
        size = 0 if number is None else int(number[1].replace(b",", b"")[:20])
        self.sizes[name.lower()] = size
        said = text[:40].decode("utf-8", "replace")
        if size >= 2**63:
            self.faults[name.lower()] = f"{self.path}: line {line}: {name} does not fit into 63 bits"
        elif number is None and text != b"-1" and _BEGUN.match(text):
            words = f"{name}: expected how many there are, > 0, or -1 where that is unknown, got {said!r}"
            self.faults[name.lower()] = f"{self.path}: line {line}: {words} (--nodes states the size of the machine)"
        elif not size:
            self.unsaid += (f"{name}: {said}".strip(),)

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
