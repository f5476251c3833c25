"""The two forms of Slurm's answers: records of ``name=value``, and JSON whose numbers changed their form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from transom.errors import SlurmError
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_json import number_of
from transom.traces.records.values import nothing

UNKNOWN = -1
"""What stands for a number or a time that is not reported; for a limit: there is none."""

_BEGIN = re.compile(
    r"^(?=(?:JobId|NodeName|PartitionName|SwitchName|BlockName|ReservationName|LicenseName)=)", re.MULTILINE
)
_KEY = re.compile(r"(?:^|\s)([A-Za-z][\w:/.-]*)=")
_NAMED = re.compile(r"(JobName=).*(\sUserId=\S+\(\d+\) GroupId=)", re.DOTALL)
_NAMED_LINES = re.compile(r"JobName=.*(^\s+UserId=\S+\(\d+\) GroupId=)", re.DOTALL | re.MULTILINE)


def text_records(text: str) -> Iterator[dict[str, str]]:
    """The records that ``scontrol show`` prints, one to a line or not, or that a configuration lists.

    A job's name is left out, for it may hold whatever looks like another field. Of a field that is reported twice the
    first counts.
    """
    for part in _BEGIN.split(text):
        if not _BEGIN.match(part):
            continue
        if part.startswith("JobId="):
            part, several_lines = _NAMED_LINES.subn(r"\1", part, count=1)
            part = part if several_lines else _NAMED.sub(r"\2", part, count=1)
        found = list(_KEY.finditer(part))
        ends = [each.start() for each in found[1:]] + [len(part)]
        record: dict[str, str] = {}
        for each, end in zip(found, ends, strict=True):
            record.setdefault(each[1], part[each.end() : end].strip())
        yield record


def stated(value: Any) -> str:
    """A text, empty where Slurm says that there is none."""
    if isinstance(value, (list, tuple)):
        return ",".join(filter(None, map(stated, value)))
    if isinstance(value, dict):
        return stated(number_of(value) or "")
    return "" if value is None or nothing(str(value)) else str(value).strip()


def number(value: Any) -> int:
    """A whole number from all forms it has; :data:`UNKNOWN` for none, and for one without end."""
    found = number_of(value)
    if found is None or found == "UNLIMITED":
        return UNKNOWN
    try:
        return max(int(float(found)), UNKNOWN)
    except (ValueError, OverflowError):
        return UNKNOWN


def named_hosts(text: str) -> list[str]:
    """The names in one of Slurm's lists.

    Raises
    ------
    SlurmError : the list is damaged.
    """
    try:
        return hosts(text)
    except ValueError as error:
        raise SlurmError(f"Slurm's answer: {error}") from None
