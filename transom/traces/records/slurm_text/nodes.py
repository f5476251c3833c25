"""The nodes of a Slurm, from ``scontrol show nodes`` or ``sinfo``, as text or JSON."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from transom.traces.records.slurm_text.documents import GROUP, number, stated
from transom.traces.records.slurm_text.tokens import NODE, Record, named_hosts

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


def nodes_of(records: Iterable[Record]) -> Iterator[SlurmNode]:
    """Nodes of ``scontrol show nodes``, or of ``sinfo``, which may list groups of nodes in one partition."""
    found: dict[str, SlurmNode] = {}
    for record in records:
        grouped, partitions = GROUP in record, _names(record.get("partitions"))
        for name in named_hosts(record[NODE]):
            before = found[name].partitions if name in found else ()
            found[name] = SlurmNode(
                name=name,
                states=_states(record.get("state", "")),
                cpus=number(record.get("cputot")),
                memory=number(record.get("realmemory")),
                used=max(number(record.get("cpualloc")), 0),
                partitions=tuple(dict.fromkeys((*before, *partitions))),
                features=None if grouped else frozenset(_names(record.get("activefeatures"))),
                gres=None if grouped else gres_counts(stated(record.get("gres"))),
            )
    yield from found.values()


def _states(text: str) -> frozenset[str]:
    """``IDLE+DRAIN``, ``idle*``: each word by itself; ``*`` says that it does not respond."""
    return frozenset(filter(None, re.split(r"[+,\s]+", re.sub(r"[*~#!%$@^-]", " ODD ", text.upper()))))


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


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(filter(None, stated(text).split(",")))
