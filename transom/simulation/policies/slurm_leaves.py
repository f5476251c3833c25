"""The nodes of a machine below leaf switches, for plans of single nodes."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.simulation.passes.slurm_nodes import WORD, NodePlan


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
    words, rows = -(-nodes // WORD), min(nodes, len(sizes))
    return NodePlan(
        leaf=edges.astype(np.int64),
        first=first.astype(np.int64),
        held=np.empty(int(first[-1]) if nodes else 0, np.int64),
        idle=np.zeros(words, np.uint64),
        usable=np.zeros(words, np.uint64),
        freed=np.zeros(words, np.uint64),
        chosen=np.zeros(nodes, np.int64),
        picked=np.zeros(words, np.uint64),
        room=np.zeros(max(len(edges) - 1, 0), np.int64),
        order=np.zeros(max(len(edges) - 1, 0), np.int64),
        places=np.zeros(min(leaf, nodes) + 1, np.int64),
        slot=np.zeros(len(sizes) if nodes else 0, np.int64),
        runs=np.zeros((rows, words), np.uint64),
        begin=np.zeros(most, np.int64),
        end=np.zeros(most, np.int64),
        taken=np.zeros((most, words), np.uint64),
        opened=np.zeros((most, 3), np.int64),
        closed=np.zeros((most, 2), np.int64),
        made=np.zeros(3, np.int64),
    )
