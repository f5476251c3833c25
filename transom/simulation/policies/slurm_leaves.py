"""The nodes of a machine below leaf switches, for plans of single nodes."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.simulation.passes.slurm_nodes import NodePlan


def node_plan(sizes: IntArray, nodes: int, leaf: int, depth: int) -> NodePlan:
    """An empty plan.

    Parameters
    ----------
    sizes : nodes of each job, shape ``(jobs,)``.
    nodes : of the machine; 0 for a plan that nobody makes.
    leaf : nodes below a leaf switch, > 0; the last one may have fewer.
    depth : reservations that a cycle makes at most.
    """
    edges = np.unique(np.append(np.arange(0, nodes, leaf), nodes))
    first = np.concatenate(([0], np.cumsum(sizes))) if nodes else np.empty(0, np.int64)
    most = min(depth, len(sizes)) if nodes else 0
    return NodePlan(
        leaf=edges.astype(np.int64),
        first=first.astype(np.int64),
        held=np.empty(int(first[-1]) if nodes else 0, np.int64),
        idle=np.zeros(nodes, np.int64),
        usable=np.zeros(nodes, np.int64),
        freed=np.zeros(nodes, np.int64),
        chosen=np.zeros(nodes, np.int64),
        room=np.zeros(max(len(edges) - 1, 0), np.int64),
        begin=np.zeros(most, np.int64),
        end=np.zeros(most, np.int64),
        taken=np.zeros((most, nodes), np.int64),
        made=np.zeros(1, np.int64),
    )
