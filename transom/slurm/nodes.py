"""The nodes of a Slurm, from ``scontrol show nodes`` or ``sinfo``, as text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from transom.slurm.answers import named_hosts, number, stated

_SERVING = frozenset(("IDLE", "ALLOCATED", "MIXED", "COMPLETING", "PLANNED", "ALLOC", "MIX", "COMP"))
_HARMLESS = frozenset(("PLANNED", "CLOUD", "DYNAMIC_NORM", "DYNAMIC_FUTURE", "COMPLETING", "BLOCKED"))


@dataclass(frozen=True, slots=True)
class SlurmNode:
    """A node as Slurm reports it.

    Parameters
    ----------
    name : its name.
    states : its state and all flags beside it, upper case.
    cpus, memory : how many, and how much [MiB]; -1 where it is not reported.
    used : CPUs that jobs hold.
    partitions : those it belongs to; empty where they are not reported.
    features : those that are active; None where they are not reported, as by groups, which are not made by features.
    gres : how many of each generic resource, by name and by ``name:type``; None where they are not reported.
    """

    name: str
    states: frozenset[str]
    cpus: int
    memory: int
    used: int
    partitions: tuple[str, ...]
    features: frozenset[str] | None = None
    gres: Mapping[str, int] | None = field(default=None, hash=False)

    @property
    def serves(self) -> bool:
        """Whether jobs may run here, now or later: it is neither down, drained, reserved nor in any state unknown."""
        return bool(self.states & _SERVING) and self.states <= _SERVING | _HARMLESS

    @property
    def idle(self) -> bool:
        """Whether a job that takes whole nodes could start here now."""
        return (
            self.serves and self.states <= {"IDLE", "PLANNED", *_HARMLESS} - {"COMPLETING", "BLOCKED"} and not self.used
        )


def nodes_of_records(records: Iterable[Mapping[str, str]]) -> Iterator[SlurmNode]:
    """Nodes of ``scontrol show nodes``."""
    for record in records:
        yield SlurmNode(
            name=record["NodeName"],
            states=_states([record.get("State", "")]),
            cpus=number(record.get("CPUTot")),
            memory=number(record.get("RealMemory")),
            used=max(number(record.get("CPUAlloc")), 0),
            partitions=_names(record.get("Partitions")),
            features=frozenset(_names(record.get("ActiveFeatures"))),
            gres=gres_counts(stated(record.get("Gres"))),
        )


def nodes_of_json(nodes: Iterable[Any]) -> Iterator[SlurmNode]:
    """Nodes of ``scontrol show nodes --json``, or ``sinfo --json`` of versions that list nodes one by one."""
    for node in nodes:
        if isinstance(node, dict) and stated(node.get("name")):
            yield SlurmNode(
                name=stated(node["name"]),
                states=_states(_list(node.get("state")) + _list(node.get("state_flags"))),
                cpus=number(node.get("cpus")),
                memory=number(node.get("real_memory")),
                used=max(number(node.get("alloc_cpus")), 0),
                partitions=_names(node.get("partitions")),
                features=frozenset(_several(node.get("active_features"))),
                gres=gres_counts(",".join(_several(node.get("gres")))),
            )


def nodes_of_groups(groups: Iterable[Any]) -> Iterator[SlurmNode]:
    """Nodes of ``sinfo --json`` of versions that list groups of nodes in the same state."""
    found: dict[str, SlurmNode] = {}
    for group in groups:
        if not isinstance(group, dict):
            continue
        cpus, memory = _inside(group, "cpus"), _inside(group, "memory")
        partition = stated(_inside(group, "partition").get("name"))
        for name in (each for text in _list(_inside(group, "nodes").get("nodes")) for each in named_hosts(text)):
            before = found.get(name)
            found[name] = SlurmNode(
                name=name,
                states=_states(_list(_inside(group, "node").get("state"))),
                cpus=number(cpus.get("minimum")),
                memory=number(memory.get("minimum")),
                used=0,  # reported of the group alone, as its state does
                partitions=(*(before.partitions if before else ()), *([partition] if partition else [])),
            )
    yield from found.values()


def _states(texts: Iterable[str]) -> frozenset[str]:
    """``IDLE+DRAIN``, ``["IDLE", "DRAIN"]``, ``idle*``: each word by itself; ``*`` says that it does not respond."""
    words: set[str] = set()
    for text in texts:
        words |= {word for word in re.split(r"[+,\s]+", re.sub(r"[*~#!%$@^-]", " ODD ", text.upper())) if word}
    return frozenset(words)


def _inside(group: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = group.get(name)
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else [stated(value)]


def gres_counts(text: str) -> dict[str, int] | None:
    """``gpu:a100:4(S:0-1),gres/disk`` as amounts by name and by ``name:type``; None for what is no such text."""
    found: dict[str, int] = {}
    for part in filter(None, re.sub(r"\([^)]*\)", "", text).split(",")):
        match = re.fullmatch(r"(?:gres[:/])?([A-Za-z_][\w-]*)(:[\w.+-]+?)??(?:[:=](\d{1,9}))?", part.strip())
        if match is None:
            return None
        for name in {match[1], match[1] + (match[2] or "")}:
            found[name] = found.get(name, 0) + int(match[3] or 1)
    return found


def _several(value: Any) -> list[str]:
    """Names in a list, or in one text."""
    return [name for each in _list(value) for name in _names(each)]


def _names(value: Any) -> tuple[str, ...]:
    return tuple(filter(None, stated(value).split(",")))
