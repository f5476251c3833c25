"""What stands beside jobs and nodes: partitions, reservations, licences, and the switches as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from transom._system.wording import counted
from transom.models import FatTree, tree_of_switches
from transom.traces.records.slurm_text.documents import stated
from transom.traces.records.slurm_text.switches import Switch, from_left
from transom.traces.records.slurm_text.tokens import BLOCK, LICENCE, PARTITION, RESERVATION, SWITCH, Record, named_hosts
from transom.traces.records.values import UNKNOWN, count, instant, minutes


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition: its nodes, whether it is the default one, its longest limit [s] (-1 for none), and whether a job
    there has its nodes for itself."""

    name: str
    nodes: frozenset[str]
    default: bool
    limit: int
    whole: bool
    up: bool


@dataclass(frozen=True, slots=True)
class Reservation:
    """Nodes that are set aside from ``start`` to ``end`` [s since 1970]."""

    name: str
    start: int
    end: int
    nodes: frozenset[str]


class Licence(NamedTuple):
    """A licence of the cluster: how many there are, and how many are free."""

    name: str
    total: int
    free: int


def partitions_of(records: Iterable[Record]) -> Iterator[Partition]:
    """Partitions of ``scontrol show partition``."""
    for record in records:
        limit = minutes(stated(record.get("maxtime")))
        yield Partition(
            name=record[PARTITION],
            nodes=frozenset(named_hosts(stated(record.get("nodes")))),
            default=record.get("default", "").upper() == "YES",
            limit=limit if limit is not None and limit > 0 else UNKNOWN,
            whole=record.get("oversubscribe", "").upper() == "EXCLUSIVE",
            up=stated(record.get("state")).upper() in ("", "UP"),
        )


def reservations_of(records: Iterable[Record]) -> Iterator[Reservation]:
    """Reservations of ``scontrol show reservation``."""
    for record in records:
        start, end = (instant(record.get(name, "")) for name in ("starttime", "endtime"))
        if start is not None and end is not None:
            nodes = frozenset(named_hosts(stated(record.get("nodes"))))
            yield Reservation(record[RESERVATION], start, end, nodes)


def licences_of(records: Iterable[Record]) -> Iterator[Licence]:
    """Licences of ``scontrol show licenses``."""
    for record in records:
        total, free, reserved = (max(count(record.get(name, "")) or 0, 0) for name in ("total", "free", "reserved"))
        yield Licence(record[LICENCE], total, max(free - reserved, 0))


def switches_of(records: Iterable[Record]) -> Iterator[Switch]:
    """Switches of ``scontrol show topology`` or ``topology.conf``; a block counts as a switch."""
    for record in records:
        below = named_hosts(stated(record.get("switches")))
        nodes = () if below else named_hosts(stated(record.get("nodes")))
        yield Switch(record.get(SWITCH) or record[BLOCK], tuple(nodes), tuple(below))


def tree_of(switches: Sequence[Switch], names: Sequence[str]) -> tuple[FatTree | None, list[str], list[str]]:
    """The tree above some nodes, the nodes from left to right, and what it does not say.

    The tree has as many levels as the switches. Nodes that no switch names stand at the end, each alone. None where
    none of the nodes hangs on a switch.
    """
    ordered = from_left(switches)
    above = {name: each.name for each in ordered for name in each.below}
    wanted, leaf_of, order = set(names), dict[str, str](), list[str]()
    for each in ordered:
        for name in each.nodes:
            if name in wanted and name not in leaf_of:
                leaf_of[name] = each.name
                order.append(name)
    if not leaf_of:
        return None, list(names), []
    alone = [name for name in names if name not in leaf_of]
    remarks = [f"{counted(len(alone), 'node')} below no switch: each counts as one of its own"] if alone else []
    order += alone
    # A switch that joins pods joins the nodes alone, too: the tree becomes no deeper by them.
    cores = [each.name for each in ordered if each.name not in above]
    if len(cores) == 1 and any(above.get(up) == cores[0] for up in above.values()):
        above |= {f"\0{name}": cores[0] for name in alone}
    leaf = [leaf_of.get(name, f"\0{name}") for name in order]
    number = {name: i for i, name in enumerate(dict.fromkeys([*(each.name for each in ordered), *leaf]))}
    over = [number.get(above.get(name, ""), -1) for name in number]
    return tree_of_switches([number[name] for name in leaf], over), order, remarks
