"""Topologies of several trees without a path between them: each job keeps to the nodes of one tree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transom.errors import SpecError
from transom.models import Cluster, FatTree, JobTable
from transom.models.arrays import IntArray
from transom.simulation.nodes.sections import TREE, sections_of, tree_of_nodes
from transom.traces.workload import Workload


def tree_names(cluster: Cluster) -> tuple[str, ...]:
    """The names of the trees of a machine that jobs are kept in; none where there is one tree."""
    return tuple(name.removeprefix(TREE) for name in cluster.resources if name.startswith(TREE))


def kept_in_trees(workload: Workload, tree: FatTree, names: tuple[str, ...]) -> Workload:
    """A workload on several trees, each of which is a further resource of the machine that some jobs ask for.

    Each job is sent to a tree when it is submitted: of those that are large enough to the one in which it would start
    first if all jobs ran to their limits in the order of their submissions, of these to the one in which the fewest
    nodes would be left. Jobs larger than every tree are left out, as Slurm refuses them.

    Parameters
    ----------
    workload : what is replayed.
    tree : the trees, joined by a core that is none.
    names : of the trees, in the order of their numbers.

    Raises
    ------
    SpecError : jobs keep to partitions, one of which has nodes of several trees; or no job fits a tree.
    """
    of_node = tree_of_nodes(tree)
    sections = sections_of(workload.cluster, workload.jobs)
    workload = replace(workload, cluster=replace(workload.cluster, topology=tree))
    if sections is not None:
        for partition in range(int(sections.of_node.max()) + 1):
            if len(there := np.unique(of_node[sections.of_node == partition])) > 1:
                listed = " and ".join(names[each] for each in there.tolist())
                raise SpecError(
                    f"--cluster: partition {partition + 1} of --partition-nodes has nodes of the trees {listed}, "
                    "which no path joins"
                )
        return workload
    sizes = np.bincount(of_node, minlength=len(names))
    large = workload.jobs.nodes > sizes.max()
    repairs = dict(workload.repairs)
    if large.any():
        first = int(workload.jobs.id[large.argmax()])
        if large.all():
            raise SpecError(f"--cluster: no job fits a tree; job {first} asks for more than {sizes.max()} nodes")
        workload = workload.take(~large)
        repairs[f"left out: larger than every tree of the topology (job {first} is the first)"] = int(large.sum())
    repairs[f"sent to one of {len(names)} trees of the topology at the submission"] = len(workload)
    chosen = _sent_to(workload.jobs, sizes)
    demand = np.where(chosen[:, None] == np.arange(len(names)), workload.jobs.nodes[:, None], 0)
    cluster = workload.cluster
    cluster = replace(
        cluster,
        resources=(*cluster.resources, *(TREE + name for name in names)),
        capacities=(*cluster.capacities, *sizes.tolist()),
    )
    jobs = JobTable(np.hstack((workload.jobs.data, demand)), workload.jobs.depends_on)
    return replace(workload, cluster=cluster, jobs=jobs, repairs=repairs)


def _sent_to(jobs: JobTable, sizes: IntArray) -> IntArray:
    """The tree of each job, shape ``(jobs,)``."""
    free = [np.zeros(size, np.int64) for size in sizes.tolist()]  # when each node is free by the walltimes, ascending
    chosen = np.empty(len(jobs), np.int64)
    rows = zip(jobs.submit.tolist(), jobs.nodes.tolist(), jobs.walltime.tolist(), strict=True)
    for job, (submit, nodes, walltime) in enumerate(rows):
        offers = []
        for tree, times in enumerate(free):
            if nodes <= len(times):
                start = max(submit, int(times[nodes - 1]))
                offers.append((start, int(np.searchsorted(times, start, side="right")) - nodes, tree))
        start, _, tree = min(offers)
        rest = free[tree][nodes:]
        at = int(np.searchsorted(rest, start + walltime))
        free[tree] = np.concatenate((rest[:at], np.full(nodes, start + walltime), rest[at:]))
        chosen[job] = tree
    return chosen
