"""Reservations of a Slurm, as ``scontrol show reservation`` prints them, text or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from transom.errors import TraceError
from transom.traces.records.hostlist import hosts
from transom.traces.records.importing import ImportRules
from transom.traces.records.slurm_text.documents import decoded, json_records
from transom.traces.records.slurm_text.tokens import Record, is_reservation, numbered_lines, records_of
from transom.traces.records.values import count, instant, nothing
from transom.traces.swf_blocks import blocks

_REFUSED = {
    "FLEX": "jobs begin before it and use other nodes",
    "TIME_FLOAT": "it moves with the clock",
    **dict.fromkeys(
        ("HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY"), "it comes again; state each time as one of its own"
    ),
}


class SlurmReservation(NamedTuple):
    """A reservation: nodes that only certain jobs may use from ``begin`` to before ``end`` [s].

    Parameters
    ----------
    name : in lower case, as all names but those of hosts.
    begin, end : on the clock of the trace, which in imported traces counts from 1970.
    hosts : the reserved nodes; made up where only their number is stated.
    users, accounts : who has access, or, behind a ``-``, who has not. Who is on one list has to be on the other, too,
        if there are both; without a list nobody has access.
    flags : in upper case, sorted.
    """

    name: str
    begin: int
    end: int
    hosts: tuple[str, ...]
    users: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def lets(self, user: str, accounts: Sequence[str]) -> bool:
        """Whether a user has access whose account is the first of these, with those above it behind it."""
        return bool(self.users or self.accounts) and _on(self.users, (user,)) and _on(self.accounts, accounts)


def read_reservations(path: str, timezone: str = "") -> tuple[SlurmReservation, ...]:
    """The reservations of nodes in a file; those of licenses alone are left out.

    Parameters
    ----------
    path : what ``scontrol show reservation`` printed, also with ``--oneliner`` or ``--json``, once or several times.
    timezone : of dates, by name; empty is UTC.

    Raises
    ------
    SpecError : there is no such time zone.
    TraceError : the file cannot be read or holds no reservation, or one of them cannot be read, differs from one of
        its name at the same time, or is not modelled: one that comes again, one that moves with the clock, ``FLEX``,
        or one of parts of nodes.
    """
    zone = ImportRules(timezone=timezone or None).zone()
    text = b"".join(bytes(block) for _, block in blocks(path)).decode("utf-8", "replace")
    found: dict[str, list[SlurmReservation]] = {}
    for where, record in _records(path, text):
        made = _reservation(where, record, zone)
        same = found.setdefault(made.name, [])
        if made in same:  # printed more than once
            continue
        if any(each.begin < made.end and made.begin < each.end for each in same):
            raise TraceError(f"{where}: reservation {made.name!r} is stated before, with other terms")
        same.append(made)
    if not found:
        raise TraceError(f"{path}: holds no reservation; expected scontrol show reservation")
    return tuple(each for same in found.values() for each in same if each.hosts)


def for_maintenance(found: Sequence[SlurmReservation]) -> list[tuple[SlurmReservation, set[str]]]:
    """The reservations with the flag ``MAINT`` and their hosts, without those that one before them has at that time."""
    kept = [each for each in found if "MAINT" in each.flags]
    made = []
    for k, each in enumerate(kept):
        together = (other.hosts for other in kept[:k] if other.begin < each.end and each.begin < other.end)
        if own := set(each.hosts).difference(*together):
            made.append((each, own))
    return made


def _records(path: str, text: str) -> Iterator[tuple[str, Record]]:
    if text.lstrip()[:1] in ("{", "["):
        word, records = "reservation", json_records(decoded(path, text))
    else:
        word, records = "line", records_of(numbered_lines(text))
    for number, kind, record in records:
        if is_reservation(kind, record):
            yield f"{path}: {word} {number}", record


def _reservation(where: str, record: Record, zone: ZoneInfo | None) -> SlurmReservation:
    name = record.get("reservationname", "").lower()
    broken = f"{where}: reservation {name!r}"
    if not name:
        raise TraceError(f"{where}: a reservation without a name")
    flags = tuple(sorted({each.partition("=")[0].upper() for each in _names(record.get("flags", ""))}))
    for flag in flags:
        if flag in _REFUSED:
            raise TraceError(f"{broken}: {flag} is not modelled: {_REFUSED[flag]}")
    if "coreids" in record and not nothing(record["coreids"]):
        raise TraceError(f"{broken}: parts of nodes are not modelled")
    times = [instant(record.get(key, ""), zone) for key in ("starttime", "endtime")]
    for key, time in zip(("StartTime", "EndTime"), times, strict=True):
        if time is None or time < 0:
            raise TraceError(f"{broken}: {key} {record.get(key.lower(), '')!r} is no time")
    begin, end = (time or 0 for time in times)
    if end <= begin:
        raise TraceError(f"{broken}: EndTime must be after StartTime = {begin} s, got {end} s")
    return SlurmReservation(
        name,
        begin,
        end,
        _reserved(broken, record, f"{name} {begin}"),
        tuple(each.lower() for each in _names(record.get("users", ""))),
        tuple(each.lower() for each in _names(record.get("accounts", ""))),
        flags,
    )


def _reserved(broken: str, record: Record, label: str) -> tuple[str, ...]:
    """The hosts of a reservation, or as many made-up names as it states nodes."""
    listed, stated = record.get("nodes", ""), record.get("nodecnt", "")
    number = count(stated)
    if number is None:
        raise TraceError(f"{broken}: NodeCnt {stated!r} is no number of nodes")
    try:
        named = () if nothing(listed) or listed.upper() == "ALL" else tuple(dict.fromkeys(hosts(listed)))
    except ValueError as error:
        raise TraceError(f"{broken}: {error}") from None
    if named and number >= 0 and len(named) != number:
        raise TraceError(f"{broken}: Nodes names {len(named)} nodes, NodeCnt says {number}")
    return named or tuple(f"{label} {i}" for i in range(max(number, 0)))


def _names(text: str) -> list[str]:
    return [] if nothing(text) else [each for each in text.split(",") if each]


def _on(names: Sequence[str], mine: Sequence[str]) -> bool:
    """Whether a list lets one of these in."""
    denied = {each[1:] for each in names if each.startswith("-")}
    allowed = {each for each in names if not each.startswith("-")}
    return denied.isdisjoint(mine) and (not allowed or not allowed.isdisjoint(mine))
