"""Partitions of a logged machine: which jobs to take, and the nodes that each may use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.models.cluster import LARGEST, Cluster

PREFIX = "partition_"
"""How the names of resources begin that stand for the nodes of partitions."""

STATED = "trace"
"""Sizes of partitions as the trace states them."""


@dataclass(frozen=True, slots=True)
class PartitionNodes:
    """Sizes of partitions.

    Parameters
    ----------
    sizes : nodes of each partition by number, in the unit of the jobs' sizes; those without nodes are left out.
    pools : of the partitions that share nodes with others: the numbers of all that are linked to each other by nodes
        that they share, and how many nodes these have together. Where it is not known which share nodes it is empty.
    """

    sizes: Mapping[int, int] = field(default_factory=dict)
    pools: Sequence[tuple[Sequence[int], int]] = ()


def parse_partition_nodes(text: str) -> dict[str, int] | None:
    """Sizes by name or number out of ``NAME=NODES,...``; None for ``trace``.

    Raises
    ------
    SpecError : the text is neither.
    """
    if text == STATED:
        return None
    made: dict[str, int] = {}
    for each in text.split(","):
        found = re.fullmatch(r"([^=]+)=([0-9]{1,13})", each.strip())
        if not found or not 0 < int(found[2]) <= LARGEST or found[1] in made:
            raise SpecError(f"partition nodes {text!r}: expected trace, or distinct NAME=NODES with commas between")
        made[found[1]] = int(found[2])
    return made


def unique_names(names: Mapping[int, str]) -> dict[int, str]:
    """Names by number, each once: those that several partitions have are made unique by the number (``batch_2``)."""
    made = dict(names)
    while twice := {name for name, count in Counter(made.values()).items() if count > 1}:
        made = {number: f"{name}_{number}" if name in twice else name for number, name in made.items()}
    return made


def numbers_of(text: str, names: Mapping[int, str], there: Collection[int] = ()) -> list[int]:
    """The partitions that a text may mean, by number, ascending: those of this name, and the one of this number.

    Parameters
    ----------
    text : a name as the trace or :func:`unique_names` spell it, else in any case, or a number.
    names : of partitions by number.
    there : further partitions, which have no name.
    """
    spelt = [*names.items(), *unique_names(names).items()]
    found = {number for number, name in spelt if name == text}
    found = found or {number for number, name in spelt if name.lower() == text.lower()}
    return sorted(found | {number for number in (*names, *there) if str(number) == text})


def sized(
    text: str, stated: PartitionNodes, partition: IntArray, names: Mapping[int, str], path: str
) -> PartitionNodes:
    """The sizes that ``text`` asks for: those that the trace states, or those in the text.

    Parameters
    ----------
    text : ``trace``, or sizes by name or number; one by a name that several partitions have is that of each of them.
    stated : sizes that the trace states.
    partition : of each job, shape ``(jobs,)``.
    names : of partitions by number.
    path : the file, for messages.

    Raises
    ------
    SpecError : the trace states no sizes, or has no such partition, or one has two sizes.
    """
    wanted = parse_partition_nodes(text)
    if wanted is None:
        if not stated.sizes:
            raise SpecError(f"{path}: states no sizes of partitions: give them as NAME=NODES,... (--partition-nodes)")
        return stated
    there = np.unique(partition).tolist()
    sizes: dict[int, int] = {}
    for each, nodes in wanted.items():
        numbers = numbers_of(each, names, there)
        if not numbers:
            raise SpecError(f"{path}: --partition-nodes: no partition {each!r}. Known: {_listed(there, names)}")
        for number in numbers:
            if sizes.setdefault(number, nodes) != nodes:
                raise SpecError(f"{path}: --partition-nodes {text!r}: partition {number} has two sizes")
    return PartitionNodes(sizes)


def nodes_of_partitions(
    stated_sizes: PartitionNodes, partition: IntArray, names: Mapping[int, str], nodes: int
) -> list[tuple[str, int, BoolArray]]:
    """The resources that keep each job on the nodes of its partition.

    A resource counts the nodes of a partition, another one those of partitions that share nodes. Jobs that run side by
    side are within all of them; the other way round this holds where partitions share no nodes or are the same nodes.
    Where they overlap, counts allow more: jobs of one may hold just those nodes that the other has.

    Parameters
    ----------
    stated_sizes : sizes; where they add up to more than the machine has, and nobody says which share nodes, all do.
    partition : of each job, shape ``(jobs,)``; jobs of a partition without a size may use any node.
    names : of partitions by number.
    nodes : of the machine.

    Returns
    -------
    Name, number of nodes, and which jobs use it, for each resource.
    """
    names = unique_names(names)
    used = [number for number in np.unique(partition).tolist() if number in stated_sizes.sizes]
    pools = [([number for number in pool if number in used], size) for pool, size in stated_sizes.pools]
    if not stated_sizes.pools and sum(stated_sizes.sizes.values()) > nodes:
        pools = [(used, nodes)]
    shared = {number: size for pool, size in pools for number in pool if len(pool) > 1}
    made = [
        (PREFIX + _named(names, [number]), min(stated_sizes.sizes[number], nodes), partition == number)
        for number in used
        if stated_sizes.sizes[number] < shared.get(number, nodes + 1)
    ]
    made += [
        (PREFIX + _named(names, pool), min(size, nodes), np.isin(partition, pool))
        for pool, size in pools
        if len(pool) > 1
    ]
    return [] if len(made) == 1 and made[0][1] == nodes else made


def partition_sizes(cluster: Cluster) -> dict[str, int]:
    """The nodes of each partition that jobs of a machine keep to, and of those that share nodes (``debug+batch``)."""
    amounts = zip(cluster.resources, cluster.capacities, strict=True)
    return {name.removeprefix(PREFIX): size for name, size in amounts if name.startswith(PREFIX)}


def partition_groups(resources: Sequence[str], demand: IntArray) -> IntArray:
    """Which jobs compete for nodes: those of partitions that share nodes have the same number, from 0.

    Parameters
    ----------
    resources : names of the further resources of a machine, some of which :func:`nodes_of_partitions` made.
    demand : of jobs on each of them, shape ``(jobs, R)``.

    Returns
    -------
    A number for each job, shape ``(jobs,)``; all 0 where no resource stands for partitions.
    """
    columns = [r for r, name in enumerate(resources) if name.startswith(PREFIX)]
    if not columns:
        return np.zeros(len(demand), np.int64)
    uses = demand[:, columns] > 0
    kinds, of = np.unique(uses, axis=0, return_inverse=True)
    number = np.arange(len(kinds))
    for column in kinds.T:
        if column.any():
            number[np.isin(number, number[column])] = number[column].min()
    groups: IntArray = np.unique(number, return_inverse=True)[1][of.reshape(-1)].astype(np.int64)
    return groups


def _named(names: Mapping[int, str], numbers: Sequence[int]) -> str:
    return "+".join(names.get(number, str(number)) for number in numbers)


def _listed(numbers: Iterable[int], names: Mapping[int, str]) -> str:
    return ", ".join(f"{number} {names.get(number, '')}".strip() for number in numbers)


def selected(partition: IntArray, names: Mapping[int, str], wanted: Sequence[int | str], path: str) -> BoolArray:
    """Which jobs are in the partitions that are wanted; all where none is stated.

    Parameters
    ----------
    partition : of each job, shape ``(jobs,)``.
    names : of partitions in the header, by number.
    wanted : numbers or names; a name that several partitions have stands for all of them.
    path : the file, for messages.

    Raises
    ------
    SpecError : no job is in one of them.
    """
    if not wanted:
        return np.ones(len(partition), bool)
    there = np.unique(partition).tolist()
    taken: list[int] = []
    for each in wanted:
        numbers = [number for number in numbers_of(str(each), names, there) if number in there]
        if not numbers:
            raise SpecError(f"{path}: no job is in partition {each!r}. Known: {_listed(there, names)}")
        taken += numbers
    return np.isin(partition, taken)
