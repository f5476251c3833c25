"""What a job of PBS had and what it asked for: nodes, cores and GPUs in the spellings of Torque and PBS Professional.

Assigned are ``exec_host`` (``n1/0+n1/1``, ``n1/0-3,6``, ``n1/0*4``), ``exec_vnode`` (``(n1:ncpus=4:ngpus=1)+(n2)``) and
``exec_gpus``. Asked for are ``select`` and ``nodes`` (``2:ppn=4:gpus=1+n7:ppn=2``), ``-L`` of Torque 6, Cray's
``mppwidth``, and totals such as ``ncpus``, which may also be the default of a queue beside any of the others.

References
----------
Altair PBS Professional Administrator's Guide, chapter "Accounting"; Torque Administrator Guide, "Accounting records",
"Requesting resources" and "-L NUMA resource request".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from transom._system.wording import digits

ASSIGNED = {
    "exec_host": "exec_host", "exec_vnode": "exec_vnode", "exec_gpus": "exec_gpus",
    "slots": "total_execution_slots", "hosts": "unique_node_count",
}  # fmt: skip
"""Keys of a record that state what was assigned."""

ASKED = {
    "select": r"Resource_List\.select", "nodes": r"Resource_List\.nodes", "neednodes": r"Resource_List\.neednodes",
    "nodect": r"Resource_List\.nodect", "place": r"Resource_List\.place", "ncpus": r"Resource_List\.ncpus",
    "procs": r"Resource_List\.procs", "size": r"Resource_List\.size", "tasks": r"Resource_Request_2\.0",
    "ngpus": r"Resource_List\.(?:n?gpus?|naccelerators)", "gres": r"Resource_List\.gres",
    "mppwidth": r"Resource_List\.mppwidth", "mppdepth": r"Resource_List\.mppdepth",
    "mppnppn": r"Resource_List\.mppnppn",
}  # fmt: skip
"""Keys of a record that state what was asked for."""

_GPUS = ("ngpus", "gpus", "gpu", "naccelerators")


class Size(NamedTuple):
    """Numbers of nodes, cores and GPUs; None is not stated."""

    nodes: int | None = None
    cores: int | None = None
    gpus: int | None = None


def assigned(told: Mapping[str, str]) -> Size:
    """What a job had, as far as its record says (:data:`ASSIGNED`; what is not stated is the empty text)."""
    vnodes = [_parts(part) for part in _listed(told["exec_vnode"])]
    slots = [part.partition("/")[::2] for part in _listed(told["exec_host"])]
    names = {host for host, _ in slots} or {re.sub(r"\[\d+\]$", "", vnode) for vnode, _ in vnodes}
    cores = sum(_number(has.get("ncpus")) or 0 for _, has in vnodes) or sum(_slots(numbers) for _, numbers in slots)
    gpus: int | None = sum(_slots(part.partition("/")[2]) for part in _listed(told["exec_gpus"]))
    if not gpus:
        gpus = _all_gpus([(1, has) for _, has in vnodes])
    return Size(len(names) or _number(told["hosts"]), cores or _number(told["slots"]), gpus)


def asked(told: Mapping[str, str]) -> Size:
    """What a job asked for (:data:`ASKED`): a specification of nodes before totals, which may be a queue's defaults."""
    total, procs, width = (_number(told[name]) or 0 for name in ("ncpus", "procs", "mppwidth"))
    # Some sites write the whole specification where the number of its nodes belongs.
    nodes = told["nodes"] or (told["nodect"] if ":" in told["nodect"] else "") or told["neednodes"]
    spec = _select(told["select"], total) or _tasks(told["tasks"]) or _nodes(nodes, max(total, procs)) or Size()
    count, cores, gpus = _number(told["nodect"]) or spec.nodes, spec.cores or procs or total or None, spec.gpus
    if width:
        each = _number(told["mppnppn"])
        count = -(-width // each) if each else count
        cores = width * (_number(told["mppdepth"]) or 1)
    elif size := _number(told["size"]):
        cores = size
    if "pack" in told["place"].split(":") and count:
        count = 1
    if gpus is None:
        found = re.search(r"\bgpus?[:=](\d{1,9})", told["gres"])
        gpus = _number(told["ngpus"]) if found is None else int(found[1])
    return Size(count, cores, gpus)


def _listed(text: str) -> list[str]:
    return [part for part in text.replace("(", "").replace(")", "").split("+") if part]


def _select(text: str, total: int) -> Size | None:
    """Chunks of ``2:ncpus=4:ngpus=1+1:ncpus=8``; where one does not state its cores, the total does."""
    if not text:
        return None
    chunks = [_chunk(part) for part in text.split("+")]
    cores = [_number(has.get("ncpus")) for _, has in chunks]
    known = sum(times * (number or 1) for (times, _), number in zip(chunks, cores, strict=True))
    return Size(sum(times for times, _ in chunks), total if None in cores and total else known, _all_gpus(chunks))


def _nodes(text: str, total: int) -> Size | None:
    """Parts of ``2:ppn=4:gpus=1+n7:ppn=2#shared``; where none states its cores, a larger total counts."""
    if not text:
        return None
    chunks = [_chunk(part) for part in text.partition("#")[0].split("+")]
    each = [_number(has.get("ppn")) or _number(has.get("ncpus")) for _, has in chunks]
    deep = [_number(has.get("cpp")) or 1 for _, has in chunks]
    cores = sum(times * (number or 1) * cpp for (times, _), number, cpp in zip(chunks, each, deep, strict=True))
    return Size(sum(times for times, _ in chunks), cores if any(each) else max(cores, total), _all_gpus(chunks))


def _tasks(text: str) -> Size | None:
    """Requests of Torque 6: ``-L tasks=2:lprocs=4:gpus=1 -L tasks=1``; how many nodes they need is not stated."""
    found = re.findall(r"-L tasks=(\d{1,9})(\S*)", text)
    if not found:
        return None
    chunks = [(int(times), _parts(rest)[1]) for times, rest in found]
    cores = [times * number for times, has in chunks if (number := _number(has.get("lprocs", "1"))) is not None]
    return Size(None, sum(cores) if len(cores) == len(chunks) else None, _all_gpus(chunks))


def _chunk(text: str) -> tuple[int, dict[str, str]]:
    """How many times a part is asked for, and what each has; a name of a node is one."""
    first, has = _parts(text)
    number = _number(first)
    return (1 if number is None else number), has


def _parts(text: str) -> tuple[str, dict[str, str]]:
    """``n1:ncpus=4:mem=8gb`` as the name and what follows; ``ncpus=4`` alone has no name."""
    first, *rest = text.strip().split(":")
    pairs = [each.partition("=") for each in ([first, *rest] if "=" in first else rest)]
    return ("" if "=" in first else first), {key: value for key, stated, value in pairs if stated}


def _all_gpus(chunks: list[tuple[int, dict[str, str]]]) -> int | None:
    """GPUs of all parts, each so many times; None where no part says a word of them."""
    stated = [
        (times, next((number for name in _GPUS if (number := _number(has.get(name))) is not None), None))
        for times, has in chunks
    ]
    known = [times * number for times, number in stated if number is not None]
    return sum(known) if known else None


def _slots(text: str) -> int:
    """How many of ``0``, ``0*4``, ``0-3``, ``0,2,4-5``."""
    number = 0
    for slot in text.split(","):
        times = slot.partition("*")[2]
        first, dash, last = slot.partition("-")
        if digits(times) and len(times) < 10:
            number += int(times)
        elif dash and digits(first) and digits(last) and len(first + last) < 19:
            number += max(int(last) - int(first) + 1, 1)
        else:
            number += 1
    return number


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and digits(text) and len(text) < 10 else None
