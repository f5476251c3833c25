"""Which nodes the partitions or trees of a replay have, so that jobs are placed on those of their own alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom.errors import PolicyError, SpecError
from transom.models import Cluster, FatTree, JobTable
from transom.models.arrays import IntArray
from transom.simulation.nodes.allocator import Placed
from transom.traces.partitions import PREFIX

TREE = "tree_"
"""How the names of resources begin that stand for the trees of a topology."""


class Sections(NamedTuple):
    """The nodes of each partition, or of each tree of a topology that no path joins.

    ``of_node``: the section of each node, -1 for none, shape ``(nodes,)``; ``of``: that of each job, shape ``(jobs,)``;
    ``kind``: what messages call one.
    """

    of_node: IntArray
    of: IntArray
    kind: str

    def within(self, section: int, nodes: IntArray) -> IntArray:
        """Those of some nodes that a section has."""
        found: IntArray = nodes[self.of_node[nodes] == section]
        return found

    def place(self, jobs: IntArray, idle: IntArray, placer: Callable[[IntArray, IntArray], Placed]) -> Placed:
        """Nodes for jobs that start at one instant, partition by partition.

        Parameters
        ----------
        jobs : by their place in the workload, shape ``(jobs,)``.
        idle : ids of the idle nodes, ascending.
        placer : finds nodes for some of the jobs among some of the nodes.
        """
        nodes, count, cost, proved = [idle[:0] for _ in jobs], 0, 0.0, True
        for section in np.unique(self.of[jobs]).tolist():
            which = np.flatnonzero(self.of[jobs] == section)
            placed = placer(jobs[which], self.within(section, idle))
            for k, ids in zip(which.tolist(), placed.nodes, strict=True):
                nodes[k] = ids
            count, cost, proved = count + placed.jobs, cost + placed.cost, proved and placed.proved
        return Placed(nodes, count, cost, proved)

    def check(self, job: int, nodes: IntArray, what: str) -> None:
        """Refuse nodes of another section.

        Raises
        ------
        PolicyError : there is one; the message begins with ``what``.
        """
        for node in nodes.tolist():
            if not 0 <= node < len(self.of_node) or self.of_node[node] != self.of[job]:
                own = np.flatnonzero(self.of_node == self.of[job])
                raise PolicyError(f"{what} gets node {node}, and its {self.kind} has {own[0]} to {own[-1]}")


def tree_of_nodes(tree: FatTree) -> IntArray:
    """The number of the tree of each node, where the switches of the highest level are joined by nothing."""
    return tree.pod if tree.above is None else tree.above[-1]


def sections_of(cluster: Cluster, jobs: JobTable) -> Sections | None:
    """The nodes of each partition or tree, where jobs keep to those of one; None where they do not.

    Partitions have consecutive nodes, in the order of the machine's resources.

    Raises
    ------
    SpecError : nobody says which nodes are whose: partitions share nodes, or a job may use any node.
    """
    trees = [r for r, name in enumerate(cluster.resources) if name.startswith(TREE)]
    if trees and cluster.topology is not None:
        of = (jobs.demand[:, trees] > 0).argmax(axis=1).astype(np.int64)
        return Sections(tree_of_nodes(cluster.topology), of, "tree")
    columns = [r for r, name in enumerate(cluster.resources) if name.startswith(PREFIX)]
    if not columns:
        return None
    uses = jobs.demand[:, columns] > 0
    sizes = np.array([cluster.capacities[r] for r in columns], np.int64)
    if (uses.sum(axis=1) > 1).any() or int(sizes.sum()) > cluster.num_nodes:
        raise SpecError(
            "--cluster: nodes are placed by partition (--partition-nodes), but these share nodes "
            "(--merge-partitions makes one machine)"
        )
    if free := np.flatnonzero(~uses.any(axis=1)).tolist():
        job = int(jobs.id[free[0]])
        raise SpecError(
            f"--cluster: nodes are placed by partition (--partition-nodes), but that of job {job} has no size: state "
            "it, or make them one machine (--merge-partitions)"
        )
    of_node = np.full(cluster.num_nodes, -1, np.int64)
    of_node[: sizes.sum()] = np.repeat(np.arange(len(sizes)), sizes)
    return Sections(of_node, uses.argmax(axis=1).astype(np.int64), "partition")
