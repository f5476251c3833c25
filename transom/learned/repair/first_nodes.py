"""Annealing in which a network chooses where a removed job comes back: the kernel of ``nsa``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.heuristics.allocation.annealing import Options, Schedule, Standing, accept_or_undo, first_nodes, take_out
from transom.heuristics.allocation.arrays import AllocationArrays, block_cost, counting, gather, take
from transom.learned.repair.forward import Network, forward
from transom.learned.repair.process import SEEN, observe
from transom.learned.scorer import highest, sample, softmax
from transom.models.arrays import IntArray, SingleArray


class Encoding(NamedTuple):
    """What the network sees.

    Parameters
    ----------
    leaf, pod : leaf switch and pod of each idle node, numbered as in the tree.
    scale : what observations are divided by: :func:`~transom.learned.repair.process.scale_of`.
    rows : of an observation.
    """

    leaf: IntArray
    pod: IntArray
    scale: SingleArray
    rows: int


class Choice(NamedTuple):
    """How the first node is chosen.

    Parameters
    ----------
    network, space : of :func:`~transom.learned.repair.forward.prepare` and ``room``.
    greedy : whether the first node with the highest score is taken; drawn by the softmax otherwise.
    """

    network: Network
    space: SingleArray
    greedy: bool


@compiled
def anneal_learned(
    rng: np.random.Generator,
    standing: Standing,
    ground: AllocationArrays,
    options: Options,
    schedule: Schedule,
    encoding: Encoding,
    choice: Choice,
) -> int:
    """Take steps in which a network sees the first 100 entries of what is left of Q, and chooses one of them.

    Parameters
    ----------
    encoding : what the network sees.
    choice : how the first node is chosen.

    The others, and what is returned, are those of :func:`transom.heuristics.allocation.left_annealing.anneal_left`.
    """
    owner, costs, _, _ = standing
    sizes, switches = ground.sizes, counting(ground)
    n, jobs = len(owner), len(sizes)
    left, before, paid = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(jobs)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    seen, chances = np.empty((encoding.rows, SEEN), np.float32), np.empty(SEEN)
    better_at = 0
    for step in range(schedule.first, schedule.end):
        put(before, owner)
        put(paid, costs)
        moved = take_out(rng, owner, out, removed, sizes, options)
        m = gather(owner, left)
        for k in range(moved):
            job = out[k]
            last = min(first_nodes(m, sizes[job], options), SEEN)
            observe(left[:m], encoding.leaf, encoding.pod, out[k:moved], sizes, encoding.scale, seen)
            scores = forward(choice.network, seen, choice.space)
            if choice.greedy:
                start = highest(scores, last)
            else:
                softmax(scores, last, chances)
                start = sample(rng, chances, last)
            costs[job] = block_cost(left, m, start, sizes[job], switches)
            m = take(owner, left, m, start, sizes[job], job)
        if accept_or_undo(rng, standing, before, paid, sizes, options, schedule, step):
            better_at = step - schedule.first + 1
    return better_at
