"""Node types of a Slurm: which nodes a job takes by features, GPUs, cores and memory, and what a window says of them.

Jobs that take some nodes alone count against further resources, one for each set of nodes that some job is confined to,
and for each union of two of these that overlap: then no set of nodes is asked for more than it has, and all jobs can be
given nodes (Hall's theorem). A running job holds of each resource what it holds of the set.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.traces.records.slurm_text.jobs import SlurmJob
from transom.traces.records.slurm_text.nodes import SlurmNode, gres_counts

FEATURES = "features"
"""What a job asks for that names features."""
MORE_THAN_NODES = "more of a node than enough nodes have"
"""Why a job is left to Slurm whose nodes there are not."""
_MOST_SETS = 16
_NAME = r"[\w.:+/-]+"

NodeSet = frozenset[int]


class Kinds(NamedTuple):
    """The sets of nodes that jobs count against, by the names of their resources, and the set of each confined job."""

    sets: Mapping[str, NodeSet]
    of: Mapping[int, NodeSet]


def feature_test(expression: str) -> Callable[[frozenset[str]], bool] | None:
    """Whether features satisfy ``a``, ``a&b`` or ``a|b``; None for counts, brackets and mixtures, which are Slurm's."""
    if not expression:
        return lambda features: True
    for sign, holds in (("&", all), ("|", any)):
        if re.fullmatch(rf"{_NAME}(?:{re.escape(sign)}{_NAME})*", expression):
            return partial(_holds, holds, expression.split(sign))
    return None


def _holds(combined: Callable[[Iterable[bool]], bool], wanted: list[str], features: frozenset[str]) -> bool:
    return combined(each in features for each in wanted)


class Acceptance:
    """Which nodes of a partition jobs take, asked for one after the other; those that ask for the same share a set."""

    def __init__(self, nodes: Sequence[SlurmNode]) -> None:
        self._nodes = nodes
        self._known: dict[tuple[str, str, int, int], NodeSet | None] = {}

    def nodes_for(self, job: SlurmJob) -> NodeSet | None:
        """Ids of the nodes that a job takes; None where its features or generic resources are Slurm's affair."""
        cores, memory = -(-job.cpus // max(job.nodes, 1)), job.memory
        key = (job.asks.get(FEATURES, ""), job.gres, cores, memory)
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, expression: str, gres: str, cores: int, memory: int) -> NodeSet | None:
        has, wanted = feature_test(expression), gres_counts(gres)
        if has is None or (expression and any(node.features is None for node in self._nodes)):
            return None
        if wanted is None or (gres and any(node.gres is None for node in self._nodes)):
            return None
        return frozenset(
            i
            for i, node in enumerate(self._nodes)
            if has(node.features or frozenset())
            and not 0 < node.cpus < cores
            and not 0 < node.memory < memory
            and all((node.gres or {}).get(name, 0) >= amount for name, amount in wanted.items())
        )


def kinds_of(
    jobs: Sequence[SlurmJob], accepted: Callable[[SlurmJob], NodeSet | None], serving: NodeSet
) -> Kinds | None:
    """The sets of nodes that some jobs are confined to; None where they overlap in too many ways.

    Parameters
    ----------
    jobs : waiting jobs that can be expressed.
    accepted : the nodes that a job takes.
    serving : nodes that serve: a job that takes all of these is not confined.
    """
    of: dict[int, NodeSet] = {}
    sets: dict[NodeSet, str] = {}
    for job in jobs:
        nodes = accepted(job)
        if nodes is None or nodes >= serving:
            continue
        of[job.id] = nodes
        sets.setdefault(nodes, "nodes_of_" + _label(job))
    if not _closed(sets):
        return None
    names: dict[str, NodeSet] = {}
    for nodes, name in sets.items():
        unique = next(each for k in range(len(sets) + 1) if (each := f"{name}_{k}" if k else name) not in names)
        names[unique] = nodes
    return Kinds(names, of)


def _label(job: SlurmJob) -> str:
    return job.asks.get(FEATURES) or job.gres or "size"


def _closed(sets: dict[NodeSet, str]) -> bool:
    """Add the unions of sets that overlap, until there are no new ones; whether there are few enough."""
    new = list(sets)
    while new:
        if len(sets) > _MOST_SETS:
            return False
        found = {
            a | b: f"{sets[a]}_or_{sets[b].removeprefix('nodes_of_')}"
            for a, b in combinations(sets, 2)
            if a & b and not a <= b and not b <= a and a | b not in sets
        }
        new = list(found)
        sets |= found
    return len(sets) <= _MOST_SETS


def types_of(kinds: Kinds, jobs: Sequence[int], nodes: int) -> tuple[IntArray, BoolArray] | None:
    """The type of each node, shape ``(nodes,)``, and whether each job takes each type, shape ``(jobs, types)``; None
    where no job is confined."""
    if not any(job in kinds.of for job in jobs):
        return None
    sets = list(dict.fromkeys(kinds.of.values()))
    inside = np.array([[node in each for each in sets] for node in range(nodes)], np.bool_)
    signatures, types = np.unique(inside, axis=0, return_inverse=True)
    everything = np.ones(len(signatures), np.bool_)
    column = {each: signatures[:, k] for k, each in enumerate(sets)}
    accepts = np.array([column[kinds.of[job]] if job in kinds.of else everything for job in jobs], np.bool_)
    return types.reshape(-1).astype(np.int64), accepts
