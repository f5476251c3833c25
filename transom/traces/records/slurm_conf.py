"""The configuration of a site: ``slurm.conf``, ``topology.conf``, and what ``scontrol show`` prints, text or JSON."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from transom._system.wording import counted
from transom.errors import TraceError
from transom.traces.records.hostlist import compressed, hosts
from transom.traces.records.importing import Site
from transom.traces.records.slurm_text.documents import decoded, json_records
from transom.traces.records.slurm_text.reservations import SlurmReservation, for_maintenance, read_reservations
from transom.traces.records.slurm_text.tokens import (
    NODE,
    NODE_SET,
    PARTITION,
    SWITCH,
    Record,
    is_reservation,
    numbered_lines,
    records_of,
)
from transom.traces.records.values import amount, count, gpus, minutes
from transom.traces.swf_blocks import blocks

_RECORDS = (NODE, PARTITION, SWITCH, NODE_SET)
_INCLUDE = re.compile(r"^[ \t]*include[ \t]+(\S+)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_ENDLESS = ("UNLIMITED", "INFINITE", "")


def read_site(paths: Sequence[str], timezone: str | None = None) -> Site:
    """What configurations say about machine, partitions and topology.

    Parameters
    ----------
    paths : ``slurm.conf``, ``topology.conf``, ``scontrol show nodes``, ``show partitions``, ``show topology``, the
        first two of these also with ``--json``; in any order. What they include is read in its place; a note names an
        included file that is not there. Of what ``scontrol show reservation`` prints maintenance is kept.
    timezone : of dates of reservations, by name; None is UTC.

    Raises
    ------
    TraceError : a file cannot be read, holds none of these, or names hosts in a list that is damaged.
    """
    found: dict[str, list[Record]] = {kind: [] for kind in _RECORDS}
    notes: list[str] = []
    seen: set[str] = set()
    reserved: list[SlurmReservation] = []
    for path in paths:
        text = _text(path)
        if text.lstrip()[:1] in ("{", "["):
            records = [(path, kind, record) for _, kind, record in json_records(decoded(path, text))]
        else:
            records = list(records_of(_lines(path, text, seen, paths, notes)))
        if any(is_reservation(kind, record) for _, kind, record in records):
            reserved += read_reservations(path, timezone or "")
            continue
        records = [(where, kind, record) for where, kind, record in records if kind in found and record[kind]]
        if not records and not _INCLUDE.search(text):
            raise TraceError(f"{path}: names no node, partition or switch; expected slurm.conf or scontrol show")
        for where, kind, record in records:
            found[kind].append({**record, "": where})
    if left := sum("MAINT" not in each.flags for each in reserved):
        notes.append(f"{counted(left, 'reservation')} without the flag MAINT: not kept, they are for certain jobs")
    return _site(found, notes, reserved)


def _text(path: str) -> str:
    return b"".join(bytes(block) for _, block in blocks(path)).decode("utf-8", "replace")


def _lines(path: str, text: str, seen: set[str], given: Sequence[str], notes: list[str]) -> Iterator[tuple[str, str]]:
    """Lines without comments, and those of files in the place where they are included; each with its file.

    Parameters
    ----------
    path, text : the file, and what it holds.
    seen : files that are not read again, by their real paths: one may include itself by ever longer ones.
    given : files that are read in their turn, wherever an included path says that they are.
    notes : takes included files that are not there.
    """
    seen.add(os.path.realpath(path))
    for _, line in numbered_lines(text):
        found = _INCLUDE.fullmatch(line)
        if found is None:
            yield path, line
        else:
            name = str(Path(path).parent / found[1])
            if os.path.realpath(name) in seen or Path(name).name in (Path(each).name for each in given):
                continue
            if Path(name).exists():
                yield from _lines(name, _text(name), seen, given, notes)
            else:
                notes.append(f"{path}: includes {found[1]}, which is not there: what it says is not known")


def _site(found: Mapping[str, Sequence[Record]], notes: list[str], reserved: Sequence[SlurmReservation]) -> Site:
    nodes: dict[str, Record] = {}
    future: dict[str, None] = {}
    for each in _with_defaults(NODE, found[NODE]):
        hosts_ = _hosts(each, each[NODE])
        if "FUTURE" in re.split(r"\W+", each.get("state", "").upper()):
            future |= dict.fromkeys(hosts_)
        else:
            nodes |= dict.fromkeys(hosts_, each)
    future = dict.fromkeys(host for host in future if host not in nodes)
    if future:
        notes.append(f"{counted(len(future), 'node')} in state FUTURE: not counted")
    sets = {each[NODE_SET]: _set_members(each, nodes) for each in found[NODE_SET]}
    members: dict[str, list[str]] = {}
    partitions: dict[str, dict[str, Any]] = {}
    for each in _with_defaults(PARTITION, found[PARTITION]):
        name, listed = each[PARTITION], each.get("nodes", "")
        if listed.upper() == "ALL":
            members[name] = list(nodes)
        elif listed not in ("", "(null)"):
            named = [host for part in _hosts(each, listed) for host in sets.get(part, (part,))]
            members[name] = [host for host in dict.fromkeys(named) if host not in future]
        partitions[name] = _limits(each) | _sizes(members.get(name, ()), nodes)
        if members.get(name, []) not in ([], _hosts(each, listed)):  # ALL, sets of nodes, nodes in state FUTURE
            partitions[name]["node_list"] = compressed(members[name])
        for size, key in (("nodes", "totalnodes"), ("cores", "totalcpus")):
            stated = count(each.get(key, ""))
            if partitions[name].get(size, 0) <= 0 and stated is not None and stated > 0:
                partitions[name][size] = stated
    for names, hosts_ in _pools(members):
        shared = _sizes(hosts_, nodes)
        for name in names:
            partitions[name] |= {"pool": names, "pool_nodes": shared["nodes"], "pool_cores": shared["cores"]}
    used = dict.fromkeys(host for each in members.values() for host in each) or dict.fromkeys(nodes)
    if nodes and (missing := [host for host in used if host not in nodes]):
        notes.append(
            f"{counted(len(missing), 'node')} of partitions without a NodeName line ({missing[0]}): counted, without "
            "cores"
        )
    machine = _sizes(list(used), nodes)
    if not used:  # partitions that state numbers only; they may share nodes
        machine = {
            size: max((int(each.get(size, 0)) for each in partitions.values()), default=0)
            for size in ("nodes", "cores")
        }
    elif machine["cores"] <= 0:
        machine["cores"] = max((int(each.get("cores", 0)) for each in partitions.values()), default=0)
    return Site(
        {name: size for name, size in machine.items() if size > 0},
        partitions,
        _topology(found[SWITCH], list(used)),
        tuple(notes),
        [
            {"begin": each.begin, "end": each.end, "nodes": len(own), "cores": _sizes(list(own), nodes)["cores"]}
            for each, own in for_maintenance(reserved)
        ],
    )


def _set_members(record: Record, nodes: Mapping[str, Record]) -> list[str]:
    """The nodes of a set: those that it lists, and those that have its feature."""
    feature, listed = record.get("feature", ""), _hosts(record, record.get("nodes", ""))
    if feature:
        listed += [host for host, node in nodes.items() if feature in _features(node)]
    return listed


def _features(node: Record) -> list[str]:
    stated = (node.get(key, "") for key in ("feature", "features", "availablefeatures"))
    return next(filter(None, stated), "").split(",")


def _pools(members: Mapping[str, Sequence[str]]) -> list[tuple[list[str], list[str]]]:
    """Partitions that are linked to each other by nodes that they share, and all nodes of these."""
    made: list[tuple[list[str], set[str]]] = []
    for name, listed in members.items():
        linked = [each for each in made if not each[1].isdisjoint(listed)]
        made = [each for each in made if each not in linked]
        made.append(
            ([*(other for names, _ in linked for other in names), name], set(listed).union(*(h for _, h in linked)))
        )
    return [(names, sorted(hosts_)) for names, hosts_ in made if hosts_]


def _with_defaults(kind: str, records: Iterable[Record]) -> Iterator[Record]:
    """Records with what a line named DEFAULT before them says."""
    default: Record = {}
    for each in records:
        if each[kind].upper() == "DEFAULT":
            default = {**default, **{key: value for key, value in each.items() if key != kind}}
        else:
            yield {**default, **each}


def _hosts(record: Record, text: str) -> list[str]:
    try:
        return hosts(text)
    except ValueError as error:
        raise TraceError(f"{record['']}: {error}") from None


def _sizes(names: Sequence[str], nodes: Mapping[str, Record]) -> dict[str, int]:
    """What there is on some nodes."""
    known = [nodes[name] for name in names if name in nodes]
    records = {id(record): record for record in known}  # most nodes share one
    of_each = {one: _resources(record) for one, record in records.items()}
    totals = [sum(of_each[id(record)][i] for record in known) for i in range(3)]
    return {"nodes": len(names), "cores": totals[0], "gpus": totals[1], "memory": totals[2]}


def _resources(node: Record) -> tuple[int, int, int]:
    memory = amount(node.get("realmemory", ""))
    return _cpus(node), max(gpus(node.get("gres", "")) or 0, 0), max(memory.mebibytes if memory else 0, 0)


def _cpus(node: Record) -> int:
    """The CPUs of a node; as Slurm does, those that are stated only if they fit the sockets, cores and threads."""

    def stated(*keys: str) -> int:
        return next((value for key in keys if (value := count(node.get(key, ""))) is not None and value > 0), 0)

    if total := stated("cputot"):
        return total
    cpus, cores, threads = stated("cpus", "procs"), stated("corespersocket") or 1, stated("threadspercore") or 1
    boards, on_board, sockets = stated("boards") or 1, stated("socketsperboard"), stated("sockets")
    if on_board:
        sockets = boards * on_board
    elif not sockets:
        sockets = cpus // (cores * threads) if cpus and cpus % (cores * threads) == 0 else boards
    return cpus if cpus in (sockets, sockets * cores) else sockets * cores * threads


def _limits(record: Record) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, key in (("max_time", "maxtime"), ("default_time", "defaulttime")):
        value = minutes(record.get(key, ""))
        if value is not None and value > 0:
            made[name] = value
    for name, key in (("max_nodes", "maxnodes"), ("min_nodes", "minnodes"), ("priority_tier", "prioritytier")):
        number = count(record.get(key, "")) if record.get(key, "").upper() not in _ENDLESS else None
        if number is not None and number >= 0:
            made[name] = number
    if "default" in record:
        made["default"] = record["default"].upper() == "YES"
    for name, key in (("oversubscribe", "oversubscribe"), ("qos", "qos"), ("node_list", "nodes")):
        if record.get(key, "") not in ("", "N/A", "(null)"):
            made[name] = record[key]
    return made


def _topology(records: Sequence[Record], nodes: Sequence[str]) -> dict[str, Any]:
    """The lowest switch of each node and the one above it, as numbers from 0 in the order of the file; -1 for none."""
    leaves = [each for each in records if each.get("nodes", "") not in ("", "(null)") and not each.get("switches")]
    if not leaves:
        return {}
    above: dict[str, int] = {}
    for number, each in enumerate(each for each in records if each.get("switches", "") not in ("", "(null)")):
        for name in _hosts(each, each["switches"]):
            above.setdefault(name, number)
    leaf_of: dict[str, int] = {}
    for number, each in enumerate(leaves):
        for host in _hosts(each, each["nodes"]):
            leaf_of.setdefault(host, number)
    pods = [above.get(each[SWITCH], -1) for each in leaves]
    leaf = [leaf_of.get(host, -1) for host in nodes]
    return {"nodes": list(nodes), "leaf": leaf, "pod": [pods[each] if each >= 0 else -1 for each in leaf]}


def read_settings(path: str) -> tuple[dict[str, str], dict[str, Record]]:
    """Settings of a ``slurm.conf`` by name, and its partitions by name, all names in lower case.

    Raises
    ------
    TraceError : the file cannot be read, or includes one that is not there.
    """
    notes: list[str] = []
    lines = list(_lines(path, _text(path), set(), (), notes))
    if notes:
        raise TraceError(notes[0])
    settings: dict[str, str] = {}
    for _, line in lines:
        name, equals, value = line.strip().partition("=")
        if equals and name.strip().lower() not in _RECORDS:
            settings[name.strip().lower()] = value.strip().strip('"')
    found = [record for _, kind, record in records_of(lines) if kind == PARTITION]
    return settings, {each[PARTITION].lower(): each for each in _with_defaults(PARTITION, found)}
