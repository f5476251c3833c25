"""Partitions of a logged machine: which jobs to take, and the nodes that each may use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.models.cluster import LARGEST

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
        found = re.fullmatch(r"([^=]+)=(\d{1,13})", each.strip())
        if not found or not 0 < int(found[2]) <= LARGEST or found[1].lower() in made:
            raise SpecError(f"partition nodes {text!r}: expected trace, or distinct NAME=NODES with commas between")
        made[found[1].lower()] = int(found[2])
    return made


def sized(text: str, stated: PartitionNodes, names: Mapping[int, str], path: str) -> PartitionNodes:
    """The sizes that ``text`` asks for: those that the trace states, or those in the text.

    Raises
    ------
    SpecError : the trace states no sizes, or has no such partition.
    """
    wanted = parse_partition_nodes(text)
    if wanted is None:
        if not stated.sizes:
            raise SpecError(f"{path}: states no sizes of partitions: give them as NAME=NODES,... (--partition-nodes)")
        return stated
    numbers = {str(number): number for number in names} | {name.lower(): number for number, name in names.items()}
    for each in wanted:
        if each not in numbers and not each.isdigit():
            known = ", ".join(names.values()) or "none has a name; take numbers"
            raise SpecError(f"{path}: --partition-nodes: no partition {each!r}. Known: {known}")
    return PartitionNodes({numbers.get(each, int(each) if each.isdigit() else -1): n for each, n in wanted.items()})


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


def selected(partition: IntArray, names: Mapping[int, str], wanted: Sequence[int | str], path: str) -> BoolArray:
    """Which jobs are in the partitions that are wanted; all where none is stated.

    Parameters
    ----------
    partition : of each job, shape ``(jobs,)``.
    names : of partitions in the header, by number.
    wanted : numbers or names.
    path : the file, for messages.

    Raises
    ------
    SpecError : no job is in one of them.
    """
    if not wanted:
        return np.ones(len(partition), bool)
    there = np.unique(partition).tolist()
    numbers = {name.lower(): number for number, name in names.items()} | {str(number): number for number in there}
    taken: list[int] = []
    for each in wanted:
        number = numbers.get(str(each).lower())
        if number is None or number not in there:
            known = ", ".join(" ".join(filter(None, (str(n), names.get(n, "")))) for n in there)
            raise SpecError(f"{path}: no job is in partition {each!r}. Known: {known}")
        taken.append(number)
    return np.isin(partition, taken)
