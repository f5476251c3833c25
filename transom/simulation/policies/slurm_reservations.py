"""What the reservations of a Slurm mean for the jobs of a workload."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.passes.slurm_reservations import NONE, ORDINARY, Reserved
from transom.traces.job_facts import JobFacts
from transom.traces.records.slurm_text.limits import Association, Key, chain
from transom.traces.records.slurm_text.reservations import SlurmReservation


def nothing_reserved(jobs: int, amounts: int) -> Reserved:
    """That all nodes are for all jobs; ``amounts`` counts nodes and further resources, one each."""
    return _reserved((), np.empty((0, 2), np.int64), np.full((jobs, 1), ORDINARY), np.zeros(jobs, np.int64), amounts)


def reserved_for(
    reservations: Sequence[SlurmReservation],
    facts: JobFacts,
    associations: Mapping[Key, Association],
    nodes: int,
    amounts: int,
    cores: int = 0,
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

    Raises
    ------
    SpecError : more nodes are reserved at an instant than the machine has.
    """
    known = tuple(sorted(reservations, key=lambda each: (each.begin, each.name)))
    changes = _changes(known, nodes)
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
    return _reserved(known, changes, table[facts.of], np.array(last, np.int64)[facts.of], amounts, single)


def _reserved(
    known: Sequence[SlurmReservation],
    changes: IntArray,
    choices: IntArray,
    last: IntArray,
    amounts: int,
    single: BoolArray | None = None,
) -> Reserved:
    ends = [each.end for each in known]
    before = [[_beats(other, one) for one in known] for other in known]
    return Reserved(
        np.ascontiguousarray(changes),
        np.array(ends, np.int64),
        np.ascontiguousarray(choices, np.int64),
        np.ascontiguousarray(last),
        np.full(len(choices), ORDINARY, np.int64),
        np.zeros(amounts + len(ends), np.int64),
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


def _changes(known: Sequence[SlurmReservation], nodes: int) -> IntArray:
    """Rows of an instant [s], by how much the nodes for all change then, and those of each reservation."""
    of = [set(each.hosts) for each in known]
    rows: list[list[int]] = []
    before = [0] * (1 + len(known))
    for time in sorted({time for each in known for time in (each.begin, each.end)}):
        active = [k for k, each in enumerate(known) if each.begin <= time < each.end]
        reserved = len(set[str]().union(*(of[k] for k in active)))
        if reserved > nodes:
            raise SpecError(
                f"slurm-backfill: {known[active[-1]].name!r} and other reservations of {time} s take {reserved} nodes, "
                f"the machine has {nodes}"
            )
        levels = [-reserved, *[0] * len(known)]
        for k in active:
            others = (of[o] for o in active if o != k and _beats(known[o], known[k]))
            levels[1 + k] = len(of[k].difference(*others))
        rows.append([time, *(level - old for level, old in zip(levels, before, strict=True))])
        before = levels
    return np.array(rows, np.int64).reshape(len(rows), 2 + len(known))


def _beats(other: SlurmReservation, one: SlurmReservation) -> bool:
    """Whether jobs of one reservation keep off the nodes that it shares with the other."""
    return "MAINT" not in one.flags and ("OVERLAP" not in one.flags or "MAINT" in other.flags)
