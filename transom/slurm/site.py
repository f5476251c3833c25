"""What stands beside jobs and nodes: partitions, reservations, licences, and the switches as a tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from transom._system.wording import counted
from transom.models import FatTree, tree_of_switches
from transom.slurm.answers import UNKNOWN, named_hosts, number, stated
from transom.traces.records.values import count, instant, minutes


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


class Switch(NamedTuple):
    """A switch and what hangs on it: nodes, or other switches."""

    name: str
    nodes: tuple[str, ...]
    below: tuple[str, ...]


def partitions_of_records(records: Iterable[Mapping[str, str]]) -> Iterator[Partition]:
    """Partitions of ``scontrol show partition``."""
    for record in records:
        limit = minutes(stated(record.get("MaxTime")))
        yield Partition(
            name=record["PartitionName"],
            nodes=frozenset(named_hosts(stated(record.get("Nodes")))),
            default=record.get("Default", "").upper() == "YES",
            limit=limit if limit is not None and limit > 0 else UNKNOWN,
            whole=record.get("OverSubscribe", "").upper() == "EXCLUSIVE",
            up=record.get("State", "UP").upper() == "UP",
        )


def partitions_of_json(partitions: Iterable[Any]) -> Iterator[Partition]:
    """Partitions of ``scontrol show partitions --json``."""
    for each in partitions:
        if not isinstance(each, dict):
            continue
        inside = {name: each[name] if isinstance(each.get(name), dict) else {} for name in ("nodes", "maximums")}
        state = each["partition"].get("state") if isinstance(each.get("partition"), dict) else each.get("state")
        limit = number(inside["maximums"].get("time", each.get("max_time_limit")))
        shares = inside["maximums"].get("oversubscribe")
        flags = stated(shares.get("flags") if isinstance(shares, dict) else shares).upper()
        yield Partition(
            name=stated(each.get("name")),
            nodes=frozenset(named_hosts(stated(inside["nodes"].get("configured") or each.get("nodes")))),
            default="DEFAULT" in stated(each.get("flags")).upper(),
            limit=60 * limit if limit > 0 else UNKNOWN,
            whole="EXCLUSIVE" in flags or (isinstance(shares, dict) and number(shares.get("jobs")) == 0),
            up=stated(state).upper() in ("", "UP"),
        )


def reservations_of_records(records: Iterable[Mapping[str, str]]) -> Iterator[Reservation]:
    """Reservations of ``scontrol show reservation``."""
    for record in records:
        start, end = (instant(record.get(name, "")) for name in ("StartTime", "EndTime"))
        if start is not None and end is not None:
            yield Reservation(
                record["ReservationName"], start, end, frozenset(named_hosts(stated(record.get("Nodes"))))
            )


def reservations_of_json(reservations: Iterable[Any]) -> Iterator[Reservation]:
    """Reservations of ``scontrol show reservations --json``."""
    for each in reservations:
        if isinstance(each, dict):
            yield Reservation(
                stated(each.get("name")),
                number(each.get("start_time")),
                number(each.get("end_time")),
                frozenset(named_hosts(stated(each.get("node_list")))),
            )


def licences_of_records(records: Iterable[Mapping[str, str]]) -> Iterator[Licence]:
    """Licences of ``scontrol show licenses``."""
    for record in records:
        amounts = [count(record.get(name, "")) or 0 for name in ("Total", "Free", "Reserved")]
        yield Licence(record["LicenseName"], max(amounts[0], 0), max(amounts[1] - max(amounts[2], 0), 0))


def licences_of_json(licences: Iterable[Any]) -> Iterator[Licence]:
    """Licences of ``scontrol show licenses --json``."""
    for each in licences:
        if isinstance(each, dict):
            amounts = [max(number(each.get(name)), 0) for name in ("Total", "Free", "Reserved")]
            yield Licence(stated(each.get("LicenseName")), amounts[0], max(amounts[1] - amounts[2], 0))


def switches_of_records(records: Iterable[Mapping[str, str]]) -> Iterator[Switch]:
    """Switches of ``scontrol show topology`` or ``topology.conf``; a block counts as a switch."""
    for record in records:
        below = named_hosts(stated(record.get("Switches")))
        nodes = () if below else named_hosts(stated(record.get("Nodes")))
        yield Switch(record.get("SwitchName") or record["BlockName"], tuple(nodes), tuple(below))


def tree_of(switches: Sequence[Switch], names: Sequence[str]) -> tuple[FatTree | None, list[str], list[str]]:
    """The tree above some nodes, the nodes from left to right, and what it does not say.

    The tree has as many levels as the switches. Nodes that no switch names stand at the end, each alone. None where
    none of the nodes hangs on a switch.
    """
    ordered = list(_from_left(switches))
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


def _from_left(switches: Sequence[Switch]) -> Iterator[Switch]:
    """Switches in depth-first order, from those that hang below no other; a ring does no harm."""
    by_name = {each.name: each for each in switches}
    below = {name for each in switches for name in each.below}
    seen: set[str] = set()
    open_ = [each.name for each in switches if each.name not in below][::-1]
    while open_:
        each = by_name.get(open_.pop())
        if each is not None and each.name not in seen:
            seen.add(each.name)
            yield each
            open_ += each.below[::-1]
