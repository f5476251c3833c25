"""The JSON of ``scontrol``, ``sinfo`` and slurmrestd: values whose form changed with versions, and records as in text.

Jobs have readers of their own: there may be millions of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from transom.errors import TraceError
from transom.traces.records.slurm_text.tokens import LICENCE, NODE, PARTITION, RESERVATION, Record
from transom.traces.records.values import UNKNOWN, nothing

GROUP = "group"
"""What a record of nodes has that is one of several: nobody knows which of them have which features."""

_INFINITE = frozenset((2**32 - 1, 2**64 - 1))
_NOT_SET = frozenset((2**32 - 2, 2**64 - 2))


def number_of(value: Any) -> str | None:
    """A number as text, from all forms it has."""
    if isinstance(value, dict):
        if value.get("infinite"):
            return "UNLIMITED"
        return number_of(value.get("number")) if value.get("set", True) else None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    if isinstance(value, float):
        value = int(value) if abs(value) < 2**62 else None
    if value in _INFINITE:
        return "UNLIMITED"
    return None if value in _NOT_SET or value is None else str(value)


def number(value: Any) -> int:
    """A whole number from all forms it has; -1 for none, and for one without end."""
    found = number_of(value)
    if found is None or found == "UNLIMITED":
        return UNKNOWN
    try:
        return max(int(float(found)), UNKNOWN)
    except (ValueError, OverflowError):
        return UNKNOWN


def stated(value: Any) -> str:
    """A text, empty where Slurm says that there is none; lists with commas between."""
    if isinstance(value, (list, tuple)):
        return ",".join(filter(None, map(stated, value)))
    if isinstance(value, dict):
        return stated(number_of(value) or "")
    return "" if value is None or nothing(str(value)) else str(value).strip()


def decoded(path: str, text: str) -> Any:
    """A document that ``scontrol`` printed.

    Raises
    ------
    TraceError : it is no JSON; the message begins with ``path``.
    """
    try:
        return msgspec.json.decode(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceError(f"{path}: is not the JSON that scontrol prints: {error}") from None


def json_records(document: Any) -> Iterator[tuple[int, str, Record]]:
    """The nodes, groups of nodes, partitions, reservations and licences of a document, as text tells them: the number
    of each in its list, its kind, and those of its fields that are stated.
    """
    for place, (kind, made) in PLACES.items():
        listed = document.get(place) if isinstance(document, dict) else None
        for number, each in enumerate(listed if isinstance(listed, list) else (), 1):
            if isinstance(each, dict):
                yield number, kind, {name: value for name, value in made(each).items() if value is not None}


def _at(stated: Any, *keys: str) -> Any:
    for key in keys:
        stated = stated.get(key) if isinstance(stated, dict) else None
    return stated


def _words(*values: Any) -> str:
    every = (each for value in values for each in (value if isinstance(value, list) else [value]))
    return "+".join(str(each) for each in every if each)


def _node(node: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {
        "nodename": stated(node.get("name")),
        "state": _words(node.get("state"), node.get("state_flags")),
        "cputot": number_of(node.get("cpus")),
        "realmemory": number_of(node.get("real_memory")),
        "cpualloc": number_of(node.get("alloc_cpus")),
        "partitions": stated(node.get("partitions")),
        "availablefeatures": stated(node.get("features")),
        "activefeatures": stated(node.get("active_features")),
        "gres": stated(node.get("gres")),
    }


def _group(group: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {
        GROUP: "sinfo",
        "nodename": stated(_at(group, "nodes", "nodes")),
        "state": _words(_at(group, "node", "state")),
        "cputot": number_of(_at(group, "cpus", "minimum")),
        "realmemory": number_of(_at(group, "memory", "minimum")),
        "partitions": stated(_at(group, "partition", "name")),
    }


def _partition(partition: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {
        "partitionname": stated(partition.get("name")),
        "state": stated(_at(partition, "partition", "state") or partition.get("state")),
        "default": "YES" if "DEFAULT" in stated(partition.get("flags")).upper() else None,
        "nodes": stated(_at(partition, "nodes", "configured") or _text(partition.get("nodes"))),
        "totalnodes": number_of(_at(partition, "nodes", "total") or partition.get("total_nodes")),
        "totalcpus": number_of(_at(partition, "cpus", "total") or partition.get("total_cpus")),
        "maxtime": number_of(_at(partition, "maximums", "time") or partition.get("max_time_limit")),
        "defaulttime": number_of(_at(partition, "defaults", "time") or partition.get("default_time_limit")),
        "maxnodes": number_of(_at(partition, "maximums", "nodes") or partition.get("max_nodes_per_job")),
        "minnodes": number_of(_at(partition, "minimums", "nodes")),
        "oversubscribe": _sharing(_at(partition, "maximums", "oversubscribe")),
        "prioritytier": number_of(_at(partition, "priority", "tier") or partition.get("priority_tier")),
    }


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _sharing(sharing: Any) -> str | None:
    """``EXCLUSIVE``, ``NO``, ``YES:4`` or ``FORCE:4``, as the text says it."""
    jobs = number_of(_at(sharing, "jobs"))
    flags = stated(_at(sharing, "flags") if isinstance(sharing, dict) else sharing).upper()
    if "EXCLUSIVE" in flags:
        return "EXCLUSIVE"
    if jobs is None:
        return None
    return {"0": "EXCLUSIVE", "1": "NO"}.get(jobs, f"{'FORCE' if 'FORCE' in flags else 'YES'}:{jobs}")


def _reservation(reservation: Mapping[str, Any]) -> Mapping[str, str | None]:
    return {
        "reservationname": stated(reservation.get("name")),
        "starttime": number_of(reservation.get("start_time")),
        "endtime": number_of(reservation.get("end_time")),
        "nodes": stated(reservation.get("node_list")),
        "nodecnt": number_of(reservation.get("node_count")),
        "flags": stated(reservation.get("flags")),
        "users": stated(reservation.get("users")),
        "accounts": stated(reservation.get("accounts")),
        "coreids": "some" if reservation.get("core_specializations") else None,
    }


def _licence(licence: Mapping[str, Any]) -> Mapping[str, str | None]:
    amounts = {name.lower(): number_of(licence.get(name)) for name in ("Total", "Free", "Reserved")}
    return {"licensename": stated(licence.get("LicenseName")), **amounts}


PLACES = {
    "nodes": (NODE, _node),
    "sinfo": (NODE, _group),
    "partitions": (PARTITION, _partition),
    "reservations": (RESERVATION, _reservation),
    "licenses": (LICENCE, _licence),
}
