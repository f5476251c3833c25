"""Records of ``Name=value``, as ``scontrol show`` prints them and configurations list them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from transom.errors import SlurmError
from transom.traces.records.hostlist import hosts

Record = Mapping[str, str]
"""The fields of a record by their names in lower case, the first of which says what it is a record of."""

JOB, NODE, PARTITION, SWITCH, BLOCK = "jobid", "nodename", "partitionname", "switchname", "blockname"
RESERVATION, LICENCE, NODE_SET = "reservationname", "licensename", "nodeset"

_BEGIN = re.compile(
    r"[ \t]*((?:JobId|NodeName|PartitionName|SwitchName|BlockName|ReservationName|LicenseName|NodeSet)=)", re.IGNORECASE
)
_FIELD = re.compile(r'(?:^|(?<=\s))([A-Za-z][\w:/.-]*)=(?:"([^"]*)"(?=\s|$))?')
_COMMENT = re.compile(r"(?<!\\)#.*")
_SHOWN = (JOB, RESERVATION, LICENCE)  # which no configuration states
_KERNEL = re.compile(r"\sOS=")
_NAMED = re.compile(r"(JobName=).*(\sUserId=\S+\(\d+\) GroupId=)", re.DOTALL)
_NAMED_LINES = re.compile(r"JobName=.*(^\s+UserId=\S+\(\d+\) GroupId=)", re.DOTALL | re.MULTILINE)

Where = TypeVar("Where")


def named_hosts(text: str) -> list[str]:
    """The names in a list of a running Slurm.

    Raises
    ------
    SlurmError : the list is damaged.
    """
    try:
        return hosts(text)
    except ValueError as error:
        raise SlurmError(f"Slurm's answer: {error}") from None


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without comments; those that end with a backslash go on on the next one.

    What ``scontrol`` prints has no comments: a job or a reservation may be named ``#1``, and so are kernels of nodes.
    """
    begun, said, shown = 0, "", False
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if (found := _BEGIN.match(line)) is not None:
            shown = found[1][:-1].lower() in _SHOWN
        if shown:
            if line.strip():
                yield number, line
            continue
        begun = begun or number
        said += line if _KERNEL.search(line) else _COMMENT.sub("", line)
        if said.endswith("\\"):
            said = said[:-1] + " "
            continue
        if said.strip():
            yield begun, said
        begun, said = 0, ""
    if said.strip():
        yield begun, said


def records_of(lines: Iterable[tuple[Where, str]]) -> Iterator[tuple[Where, str, Record]]:
    """The records of some lines: where each begins, its kind, and its fields.

    A record stands on one line, or goes on on lines that begin with blanks; what stands between records is left out. A
    job's name, too, for it may hold line breaks and whatever looks like another field. Of a field that is stated twice
    the first counts.
    """
    whole: list[str] = []
    first: tuple[Where, str] | None = None
    for where, line in lines:
        begins, indented = _BEGIN.match(line), line[:1] in (" ", "\t")
        if indented and first is not None and first[1] in (JOB, RESERVATION):
            begins = None  # a reservation lists the cores of each node
        if first is not None and begins is None and (first[1] == JOB or indented):
            whole.append(line)
            continue
        if first is not None:
            yield *first, _fields(first[1], "\n".join(whole))
        first = None if begins is None else (where, begins[1][:-1].lower())
        whole = [line.lstrip()]
    if first is not None:
        yield *first, _fields(first[1], "\n".join(whole))


def is_reservation(kind: str, record: Record) -> bool:
    """Whether a record is a reservation, not its name alone, which a reserved node prints on a line of its own."""
    return kind == RESERVATION and len(record) > 1


def _fields(kind: str, text: str) -> Record:
    if kind == JOB:
        text, several_lines = _NAMED_LINES.subn(r"\1", text, count=1)
        text = text if several_lines else _NAMED.sub(r"\2", text, count=1)
    found = list(_FIELD.finditer(text))
    ends = [each.start() for each in found[1:]] + [len(text)]
    record: dict[str, str] = {}
    for each, end in zip(found, ends, strict=True):
        value = each[2] if each[2] is not None else text[each.end() : end].strip()
        # Of free text there are a job's reason and its comment; what else stands behind a value is none of it.
        record.setdefault(each[1].lower(), value if kind == JOB or each[2] is not None else value.partition(" ")[0])
    return record
