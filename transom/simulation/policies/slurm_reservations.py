"""What the reservations of a Slurm mean for the jobs of a workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.passes.slurm_reservations import NONE, ORDINARY, Reserved
from transom.traces.job_facts import JobFacts
from transom.traces.partitions import PREFIX
from transom.traces.records.hostlist import hosts
from transom.traces.records.slurm_text.limits import Association, Key, chain
from transom.traces.records.slurm_text.reservations import SlurmReservation
from transom.traces.trace_file import TraceCard
from transom.traces.workload import Workload


def nothing_reserved(jobs: int, amounts: int) -> Reserved:
    """That all nodes are for all jobs; ``amounts`` counts nodes and further resources, one each."""
    nobody, nothing = np.full((jobs, 1), ORDINARY), np.zeros(jobs, np.int64)
    return _reserved((), [0], np.empty((0, 2), np.int64), nobody, nothing, amounts)


def reserved_for(
    reservations: Sequence[SlurmReservation],
    facts: JobFacts,
    associations: Mapping[Key, Association],
    nodes: int,
    amounts: int,
    cores: int = 0,
    partitions: Mapping[int, Collection[str]] = MappingProxyType({}),
) -> Reserved:
    """Which jobs may use which nodes.

    A job that names reservations uses the nodes of these alone until the last of them ends, then those for all. Other
    jobs may also use reservations with the flag ``MAGNETIC`` to which their user and account have access; where no job
    names a reservation, the flag is not asked for.

    Parameters
    ----------
    reservations : in any order; those of one name are used as they come.
    facts : of the jobs.
    associations : of the site, for the accounts above one.
    nodes : of the machine.
    amounts : nodes and further resources, one each.
    cores : of a node that jobs share; single nodes are then reserved, the highest ids first. 0: nodes are counted.
    partitions : the hosts of each amount that counts the nodes of partitions, by its number.

    Raises
    ------
    SpecError : more nodes are reserved at an instant than the machine has.
    """
    known = tuple(sorted(reservations, key=lambda each: (each.begin, each.name)))
    changes = _changes(known, nodes, list(partitions.values()))
    named = any(kind.reservation for kind in facts.kinds)
    choices, last = [], []
    for kind in facts.kinds:
        own = [k for k, each in enumerate(known) if each.name == kind.reservation]
        above = [each.account for each in chain(associations, (kind.account, kind.user, kind.partition))]
        accounts = (kind.account, *above)
        magnetic = [
            k for k, each in enumerate(known)
            if not kind.reservation and (not named or "MAGNETIC" in each.flags) and each.lets(kind.user, accounts)
        ]  # fmt: skip
        choices.append([*own, *magnetic, ORDINARY])
        last.append(max((known[k].end for k in own), default=0))
    width = max(map(len, choices), default=1)
    table = np.array([row + [NONE] * (width - len(row)) for row in choices], np.int64).reshape(len(choices), width)
    if cores:
        changes[:, 1:] *= cores
    single = _nodes(known, nodes) if cores else np.empty((len(known), 0), bool)
    last_of, counts = np.array(last, np.int64)[facts.of], [0, *partitions]
    return _reserved(known, counts, changes, table[facts.of], last_of, amounts, single)


def hosts_of_partitions(workload: Workload, card: TraceCard) -> dict[int, frozenset[str]]:
    """The hosts of each amount of a machine that counts the nodes of partitions, by its number; nodes are 0.

    Raises
    ------
    SpecError : the trace does not say which nodes a partition has.
    """
    names, found = list(card.partitions), dict[int, frozenset[str]]()
    for r, resource in enumerate(workload.cluster.resources):
        if resource.startswith(PREFIX):
            uses, numbers = workload.jobs.demand[:, r] > 0, workload.origin.partition
            used = [resource.removeprefix(PREFIX)]
            if numbers is not None:
                used = [names[number - 1] for number in np.unique(numbers[uses]).tolist() if 0 < number <= len(names)]
            found[1 + r] = frozenset().union(*(_hosts(card, name) for name in used))
    return found


def hosts_of_all(card: TraceCard) -> dict[str, None]:
    """The hosts of all partitions of which the trace says which nodes they have, each once."""
    return dict.fromkeys(host for each in card.partitions.values() for host in _listed(each))


def _hosts(card: TraceCard, name: str) -> frozenset[str]:
    stated = card.partitions.get(name, {})
    made = frozenset(_listed(stated))
    if len(made) != stated.get("nodes"):
        raise SpecError(
            f"slurm-backfill: reservations need to know which nodes partition {name!r} has, and the trace does not say "
            "(transom import --conf does, --merge-partitions makes one machine)"
        )
    return made


def _listed(partition: Mapping[str, Any]) -> list[str]:
    try:
        return hosts(str(partition.get("node_list", "")))
    except ValueError:  # no list of hosts
        return []


def on_hosts_of(
    reservations: Sequence[SlurmReservation], known: Collection[str], nodes: int
) -> tuple[SlurmReservation, ...]:
    """Reservations of hosts that partitions have; one of the whole machine that names none has all of them.

    Raises
    ------
    SpecError : it is not known whose nodes a reservation takes.
    """
    made = []
    for each in reservations:
        if set(known).isdisjoint(each.hosts):
            if len(each.hosts) < nodes:
                raise SpecError(
                    f"slurm-backfill: reservation {each.name!r} names no node of a partition: whose nodes it takes is "
                    "not known (--merge-partitions makes one machine)"
                )
            each = each._replace(hosts=(*known, *each.hosts[len(known) :]))
        made.append(each)
    return tuple(made)


def _reserved(
    known: Sequence[SlurmReservation],
    counts: Sequence[int],
    changes: IntArray,
    choices: IntArray,
    last: IntArray,
    amounts: int,
    single: BoolArray | None = None,
) -> Reserved:
    ends = [each.end for each in known]
    before = [[_beats(other, one) for one in known] for other in known]
    return Reserved(
        np.array(counts, np.int64),
        np.ascontiguousarray(changes),
        np.array(ends, np.int64),
        np.ascontiguousarray(choices, np.int64),
        np.ascontiguousarray(last),
        np.full(len(choices), ORDINARY, np.int64),
        np.zeros(amounts + len(ends) * len(counts), np.int64),
        np.array([each.begin for each in known], np.int64),
        np.empty((len(known), 0), bool) if single is None else single,
        np.array(before, bool).reshape(len(known), len(known)),
    )


def _nodes(known: Sequence[SlurmReservation], nodes: int) -> BoolArray:
    """Which nodes each reservation has: of each host the same, the highest ids that others at that time leave."""
    found = np.zeros((len(known), nodes), bool)
    times = Counter(host for each in known for host in each.hosts)
    again = {host: i for i, host in enumerate(host for host, count in times.items() if count > 1)}
    if len(again) <= nodes:
        for k, each in enumerate(known):
            found[k, [nodes - 1 - again[host] for host in each.hosts if host in again]] = True
    for k, each in enumerate(known):
        together = [o for o, other in enumerate(known) if other.begin < each.end and each.begin < other.end]
        free = np.flatnonzero(~found[together].any(axis=0))[::-1]
        once = sum(times[host] == 1 for host in each.hosts)
        if once > len(free) or len(again) > nodes:
            raise SpecError(f"slurm-backfill: {each.name!r} and others name more nodes than the machine has, {nodes}")
        found[k, free[:once]] = True
    return found


def _changes(known: Sequence[SlurmReservation], nodes: int, partitions: Sequence[Collection[str]] = ()) -> IntArray:
    """Rows of an instant [s], by how much the nodes for all change then, and those of each reservation.

    Each is a number of nodes, then numbers of nodes of partitions.
    """
    of = [set(each.hosts) for each in known]
    hosts_of = [set(each) for each in partitions]

    def counted(hosts: set[str]) -> list[int]:
        return [len(hosts), *(len(hosts & each) for each in hosts_of)]

    rows: list[list[int]] = []
    before = [0] * ((1 + len(known)) * (1 + len(partitions)))
    for time in sorted({time for each in known for time in (each.begin, each.end)}):
        active = [k for k, each in enumerate(known) if each.begin <= time < each.end]
        reserved = set[str]().union(*(of[k] for k in active))
        if len(reserved) > nodes:
            raise SpecError(
                f"slurm-backfill: {known[active[-1]].name!r} and other reservations of {time} s take {len(reserved)} "
                f"nodes, the machine has {nodes}"
            )
        levels = [-count for count in counted(reserved)]
        for k in range(len(known)):
            others = (of[o] for o in active if o != k and _beats(known[o], known[k]))
            levels += counted(of[k].difference(*others) if k in active else set())
        rows.append([time, *(level - old for level, old in zip(levels, before, strict=True))])
        before = levels
    return np.array(rows, np.int64).reshape(len(rows), 1 + len(before))


def _beats(other: SlurmReservation, one: SlurmReservation) -> bool:
    """Whether jobs of one reservation keep off the nodes that it shares with the other."""
    return "MAINT" not in one.flags and ("OVERLAP" not in one.flags or "MAINT" in other.flags)
