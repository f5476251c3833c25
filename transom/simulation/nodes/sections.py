"""Which nodes the partitions of a replay have, so that jobs are placed on those of their own alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom.errors import PolicyError, SpecError
from transom.models import Cluster, JobTable
from transom.models.arrays import IntArray
from transom.simulation.nodes.allocator import Placed
from transom.traces.partitions import PREFIX


class Sections(NamedTuple):
    """Consecutive nodes for each partition, in the order of the machine's resources.

    ``bounds``: the first node of each, and the end of the last, shape ``(partitions + 1,)``; ``of``: the partition of
    each job, shape ``(jobs,)``.
    """

    bounds: IntArray
    of: IntArray

    def within(self, section: int, nodes: IntArray) -> IntArray:
        """Those of some nodes, ascending, that a partition has."""
        first, end = np.searchsorted(nodes, self.bounds[section : section + 2])
        return nodes[first:end]

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
        """Refuse nodes of another partition.

        Raises
        ------
        PolicyError : there is one; the message begins with ``what``.
        """
        first, end = self.bounds[self.of[job] : self.of[job] + 2].tolist()
        for node in nodes.tolist():
            if not first <= node < end:
                raise PolicyError(f"{what} gets node {node}, and its partition has {first} to {end - 1}")


def sections_of(cluster: Cluster, jobs: JobTable) -> Sections | None:
    """The nodes of each partition, where jobs keep to those of their own; None where they do not.

    Raises
    ------
    SpecError : nobody says which nodes are whose: partitions share nodes, or a job may use any node.
    """
    columns = [r for r, name in enumerate(cluster.resources) if name.startswith(PREFIX)]
    if not columns:
        return None
    uses = jobs.demand[:, columns] > 0
    sizes = np.array([cluster.capacities[r] for r in columns], np.int64)
    if (uses.sum(axis=1) > 1).any() or int(sizes.sum()) > cluster.num_nodes:
        raise SpecError("--cluster: nodes are placed by partition (--partition-nodes), but these share nodes")
    if free := np.flatnonzero(~uses.any(axis=1)).tolist():
        job = int(jobs.id[free[0]])
        raise SpecError(
            f"--cluster: nodes are placed by partition (--partition-nodes), but that of job {job} has no size: state it"
        )
    return Sections(np.concatenate(([0], np.cumsum(sizes))), uses.argmax(axis=1).astype(np.int64))
