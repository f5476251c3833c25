"""How far the nodes of jobs lie apart: hop cost, leaf switches and pods of each job of a schedule."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import largest
from transom.models import FatTree, HopCost
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Spread


def spread_of(runs: NodeRuns, tree: FatTree, cost: HopCost) -> Spread:
    """What the nodes of each job cost.

    Parameters
    ----------
    runs : the nodes of each job.
    tree : where nodes hang.
    cost : the cost of a node set.

    References
    ----------
    Lan et al. (2023), section III-A, eq. (1).
    """
    switches = np.vstack((tree.leaf, tree.pod, tree.upper))
    weights = cost.weights_above(len(tree.upper))
    costs, leaves, pods = _spread(runs.offsets, runs.first, runs.last, switches, weights)
    return Spread(costs, leaves, pods)


@compiled
def _spread(
    offsets: IntArray, first: IntArray, last: IntArray, switches: IntArray, weights: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    jobs, leaf, pod = len(offsets) - 1, switches[0], switches[1]
    costs = np.zeros(jobs)
    leaves, pods = np.zeros(jobs, np.int64), np.zeros(jobs, np.int64)
    in_leaf, in_pod = np.zeros(largest(leaf) + 1, np.int64), np.zeros(largest(pod) + 1, np.int64)
    for job in range(jobs):
        nodes, leaf_pairs, pod_pairs = 0, 0, 0
        for run in range(offsets[job], offsets[job + 1]):
            for node in range(first[run], last[run] + 1):
                a, b = leaf[node], pod[node]
                leaves[job] += in_leaf[a] == 0
                pods[job] += in_pod[b] == 0
                leaf_pairs += in_leaf[a]
                pod_pairs += in_pod[b]
                in_leaf[a] += 1
                in_pod[b] += 1
                nodes += 1
        for run in range(offsets[job], offsets[job + 1]):
            for node in range(first[run], last[run] + 1):
                in_leaf[leaf[node]] = 0
                in_pod[pod[node]] = 0
        for level in range(2, len(switches)):
            of = switches[level]
            for run in range(offsets[job], offsets[job + 1]):
                for node in range(first[run], last[run] + 1):
                    pod_pairs += in_pod[of[node]]  # of which there are fewer than pods
                    in_pod[of[node]] += 1
            for run in range(offsets[job], offsets[job + 1]):
                for node in range(first[run], last[run] + 1):
                    in_pod[of[node]] = 0
        costs[job] = hop_cost(nodes, leaf_pairs, pod_pairs, weights)
    return costs, leaves, pods
