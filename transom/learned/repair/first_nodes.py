"""Annealing in which a network chooses where a removed job comes back: the kernel of ``nsa``."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.allocation.annealing import first_nodes, settle, take_out
from transom.heuristics.allocation.arrays import block_cost, gather, take
from transom.learned.repair.forward import Network, forward
from transom.learned.repair.process import SEEN, observe
from transom.learned.scorer import highest, sample, softmax
from transom.models.arrays import FloatArray, IntArray, SingleArray


@compiled
def anneal_learned(
    rng: np.random.Generator,
    owner: IntArray,
    best: IntArray,
    costs: FloatArray,
    state: FloatArray,
    leaf: IntArray,
    pod: IntArray,
    sizes: IntArray,
    weights: IntArray,
    options: IntArray,
    temperatures: FloatArray,
    first: int,
    count: int,
    steps: int,
    tree_leaf: IntArray,
    tree_pod: IntArray,
    scale: SingleArray,
    rows: int,
    network: Network,
    space: SingleArray,
    greedy: bool,
) -> int:
    """Take steps in which a network sees the first 100 entries of what is left of Q, and chooses one of them.

    Parameters
    ----------
    tree_leaf, tree_pod : leaf switch and pod of each idle node, numbered as in the tree.
    scale : what observations are divided by: :func:`~transom.learned.repair.process.scale_of`.
    rows : of an observation.
    network, space : of :func:`~transom.learned.repair.forward.prepare` and ``room``.
    greedy : whether the first node with the highest score is taken; drawn by the softmax otherwise.

    The others, and what is returned, are those of :func:`transom.heuristics.allocation.annealing.anneal_left`.
    """
    n, jobs = len(owner), len(sizes)
    in_leaf, in_pod = np.zeros(leaf.max() + 1, np.int64), np.zeros(pod.max() + 1, np.int64)
    left, before, paid = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(jobs)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    seen, chances = np.empty((rows, SEEN), np.float32), np.empty(SEEN)
    better_at = 0
    for step in range(first, first + count):
        before[:] = owner
        paid[:] = costs
        moved = take_out(rng, owner, out, removed, sizes, options, state)
        m = gather(owner, left)
        for k in range(moved):
            job = out[k]
            last = min(first_nodes(m, sizes[job], options), SEEN)
            observe(left, m, tree_leaf, tree_pod, out, k, moved, sizes, scale, seen)
            scores = forward(network, seen, space)
            if greedy:
                start = highest(scores, last)
            else:
                softmax(scores, last, chances)
                start = sample(rng, chances, last)
            costs[job] = block_cost(left, m, start, sizes[job], leaf, pod, weights, in_leaf, in_pod)
            m = take(owner, left, m, start, sizes[job], job)
        if settle(rng, owner, before, best, costs, paid, state, sizes, options, temperatures, step, steps):
            better_at = step - first + 1
    return better_at
