"""The configuration of a site: ``slurm.conf``, ``topology.conf``, and what ``scontrol show`` prints, text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from transom.errors import TraceError
from transom.traces.records.hostlist import hosts
from transom.traces.records.importing import Site
from transom.traces.records.slurm_json import number_of
from transom.traces.records.values import amount, count, gpus, minutes
from transom.traces.swf_blocks import blocks

_RECORDS = ("nodename", "partitionname", "switchname", "nodeset")
_PAIR = re.compile(r'(\S+?)=("[^"]*"|\S*)')
_JSON = {
    "nodename": ("nodes", "name"),
    "partitionname": ("partitions", "name"),
}
_ENDLESS = ("UNLIMITED", "INFINITE", "")

Record = Mapping[str, str]


def read_site(paths: Sequence[str]) -> Site:
    """What configurations say about machine, partitions and topology.

    Parameters
    ----------
    paths : ``slurm.conf``, ``topology.conf``, ``scontrol show nodes``, ``show partitions``, ``show topology``, the
        first two of these also with ``--json``; in any order.

    Raises
    ------
    TraceError : a file cannot be read, holds none of these, or names hosts in a list that is damaged.
    """
    found: dict[str, list[Record]] = {kind: [] for kind in _RECORDS}
    files = list(paths)
    for path in files:  # which grows by those that are included
        text = b"".join(bytes(block) for _, block in blocks(path)).decode("utf-8", "replace")
        included = re.findall(r"^[ \t]*include[ \t]+(\S+)", text, re.IGNORECASE | re.MULTILINE)
        files += [each for name in included if (each := str(Path(path).parent / name)) not in files]
        any_ = bool(included) or path not in paths
        for kind, record in _json_records(path, text) if text.lstrip()[:1] in ("{", "[") else _text_records(text):
            found[kind].append({**record, "": path})
            any_ = True
        if not any_:
            raise TraceError(f"{path}: names no node, partition or switch; expected slurm.conf or scontrol show")
    return _site(found)


def _text_records(text: str) -> Iterator[tuple[str, Record]]:
    """Records that begin with their kind, on one line or with further ones that begin with blanks."""
    lines: list[str] = []
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        line = re.sub(r"(^|\s)#.*", "", line)
        if line[:1] in (" ", "\t") and lines and not re.match(r"\s*(?:NodeName|PartitionName|SwitchName)=", line, re.I):
            lines[-1] += " " + line
        elif line.strip():
            lines.append(line.strip())
    for line in lines:
        pairs = {key.lower(): value.strip('"') for key, value in _PAIR.findall(line)}
        kind = line.partition("=")[0].strip().lower()
        if kind in _RECORDS and pairs.get(kind):
            yield kind, pairs


def _json_records(path: str, text: str) -> Iterator[tuple[str, Record]]:
    try:
        stated = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise TraceError(f"{path}: is not the JSON that scontrol prints: {error}") from None
    for kind, (place, name) in _JSON.items():
        listed = stated.get(place) if isinstance(stated, dict) else None
        for each in listed if isinstance(listed, list) else ():
            if isinstance(each, dict) and isinstance(each.get(name), str):
                made = _node(each) if kind == "nodename" else _partition(each)
                yield kind, {kind: each[name], **{key: value for key, value in made.items() if value is not None}}


def _node(stated: dict[str, Any]) -> dict[str, str | None]:
    return {
        "cpus": number_of(stated.get("cpus")),
        "realmemory": number_of(stated.get("real_memory")),
        "gres": stated.get("gres") if isinstance(stated.get("gres"), str) else None,
    }


def _partition(stated: dict[str, Any]) -> dict[str, str | None]:
    def at(*keys: str) -> Any:
        value: Any = stated
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    nodes = at("nodes", "configured") or at("nodes")
    return {
        "nodes": nodes if isinstance(nodes, str) else None,
        "totalnodes": number_of(at("nodes", "total") or at("total_nodes")),
        "totalcpus": number_of(at("cpus", "total") or at("total_cpus")),
        "maxtime": number_of(at("maximums", "time") or at("max_time_limit")),
        "defaulttime": number_of(at("defaults", "time") or at("default_time_limit")),
        "maxnodes": number_of(at("maximums", "nodes") or at("max_nodes_per_job")),
        "minnodes": number_of(at("minimums", "nodes")),
        "oversubscribe": _sharing(at("maximums", "oversubscribe")),
        "prioritytier": number_of(at("priority", "tier") or at("priority_tier")),
    }


def _sharing(stated: Any) -> str | None:
    """``EXCLUSIVE``, ``NO``, ``YES:4`` or ``FORCE:4``, as the text says it."""
    jobs = number_of(stated.get("jobs")) if isinstance(stated, dict) else None
    if jobs is None:
        return None
    forced = "FORCE" in str(stated.get("flags")).upper()
    return {"0": "EXCLUSIVE", "1": "NO"}.get(jobs, f"{'FORCE' if forced else 'YES'}:{jobs}")


def _site(found: Mapping[str, Sequence[Record]]) -> Site:
    sets = {each["nodeset"]: each.get("nodes", "") for each in found["nodeset"]}
    nodes: dict[str, Record] = {}
    for each in _with_defaults("nodename", found["nodename"]):
        if "FUTURE" not in each.get("state", "").upper():
            nodes |= dict.fromkeys(_hosts(each, each["nodename"]), each)
    members: dict[str, list[str]] = {}
    partitions: dict[str, dict[str, Any]] = {}
    for each in _with_defaults("partitionname", found["partitionname"]):
        name, listed = each["partitionname"], each.get("nodes", "")
        if listed.upper() == "ALL":
            members[name] = list(nodes)
        elif listed not in ("", "(null)"):
            named = [host for part in _hosts(each, listed) for host in _hosts(each, sets.get(part, part))]
            members[name] = list(dict.fromkeys(named))
        partitions[name] = _limits(each) | _sizes(members.get(name, ()), nodes)
        for size, key in (("nodes", "totalnodes"), ("cores", "totalcpus")):
            stated = count(each.get(key, ""))
            if partitions[name].get(size, 0) <= 0 and stated is not None and stated > 0:
                partitions[name][size] = stated
    for names, hosts_ in _pools(members):
        shared = _sizes(hosts_, nodes)
        for name in names:
            partitions[name] |= {"pool": names, "pool_nodes": shared["nodes"], "pool_cores": shared["cores"]}
    used = dict.fromkeys(host for each in members.values() for host in each) or dict.fromkeys(nodes)
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
        _topology(found["switchname"], list(used)),
    )


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
    of_each = {id(record): _resources(record) for record in known}
    totals = [sum(of_each[id(record)][i] for record in known) for i in range(3)]
    return {"nodes": len(names), "cores": totals[0], "gpus": totals[1], "memory": totals[2]}


def _resources(node: Record) -> tuple[int, int, int]:
    def count_of(*keys: str) -> int:
        return next((value for key in keys if (value := count(node.get(key, ""))) is not None and value > 0), 0)

    sockets = count_of("sockets") or count_of("boards", "") * count_of("socketsperboard")
    cores = count_of("cputot", "cpus") or (sockets or 1) * (count_of("corespersocket") or 1) * (
        count_of("threadspercore") or 1
    )
    memory = amount(node.get("realmemory", ""))
    return cores, max(gpus(node.get("gres", "")) or 0, 0), max(memory.mebibytes if memory else 0, 0)


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
    pods = [above.get(each["switchname"], -1) for each in leaves]
    leaf = [leaf_of.get(host, -1) for host in nodes]
    return {"nodes": list(nodes), "leaf": leaf, "pod": [pods[each] if each >= 0 else -1 for each in leaf]}


def read_settings(path: str) -> tuple[dict[str, str], dict[str, Record]]:
    """Settings of a ``slurm.conf`` by name, and its partitions by name, all names in lower case.

    What it includes is not read.

    Raises
    ------
    TraceError : the file cannot be read.
    """
    text = b"".join(bytes(block) for _, block in blocks(path)).decode("utf-8", "replace")
    settings: dict[str, str] = {}
    for line in re.sub(r"\\\r?\n", " ", text).splitlines():
        name, equals, value = re.sub(r"(^|\s)#.*", "", line).strip().partition("=")
        if equals and name.lower() not in _RECORDS:
            settings[name.strip().lower()] = value.strip().strip('"')
    found = [record for kind, record in _text_records(text) if kind == "partitionname"]
    return settings, {each["partitionname"].lower(): each for each in _with_defaults("partitionname", found)}
