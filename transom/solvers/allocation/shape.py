"""What free allocation depends on: idle nodes per leaf switch, leaf switches per pod, jobs per size."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from transom._system.sorting import radix_order
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray


class Shape(NamedTuple):
    r"""A window in counts. With :math:`a_{js}` nodes of job j on leaf s and :math:`b_{jp}` in pod p, maximise

    .. math:: \sum_j u_j \Bigl( w_1 \sum_p \tbinom{b_{jp}}{2} + w_2 \sum_s \tbinom{a_{js}}{2} \Bigr)

    the savings against a job whose nodes are all in different pods; total cost is ``base`` minus savings.

    Leaves of one pod with equally many idle nodes are interchangeable, and so are pods with the same
    leaves: they share a *class*, and leaves of one class the same prices (the dual function is convex and
    does not change when they are swapped, so that one of its minima has this symmetry). Jobs of one size are one
    *type* for the same reason.

    ``caps`` ``(S,)`` idle nodes of each leaf that has any, pod by pod, ascending within the pod; ``first``
    ``(P + 1,)`` first leaf of each pod; ``cls`` ``(S,)`` class of each leaf; ``members`` ``(C,)`` leaves of each class,
    floats; ``entries`` the idle entries leaf by leaf; ``sizes``, ``mult``, ``units`` ``(T,)`` nodes, jobs and
    :math:`u = c/n` of each type; ``types`` ``(J,)`` type of each job; ``steps`` :math:`(w_1, w_2)`; ``base``;
    ``loss``: by how much rounding down can lower the total cost, 0 where costs are not rounded (``floored``);
    ``weights`` as in :class:`transom.models.hop_cost.HopCost`.
    """

    caps: IntArray
    first: IntArray
    cls: IntArray
    members: FloatArray
    entries: IntArray
    sizes: IntArray
    mult: IntArray
    units: FloatArray
    types: IntArray
    steps: FloatArray
    base: float
    loss: float
    floored: bool
    weights: IntArray

    def owners(self, counts: IntArray) -> IntArray:
        """The solution that gives job j ``counts[j, s]`` nodes of leaf s, the leaf's idle nodes in ascending order."""
        owner = np.full(len(self.entries), -1)
        held = counts.sum(axis=0)
        # Within a leaf the jobs' nodes follow one another, from the first entry of the leaf on.
        skipped = np.cumsum(self.caps - held) - (self.caps - held)
        places = np.arange(int(held.sum())) + np.repeat(skipped, held)
        job = np.tile(np.arange(len(self.types)), len(self.caps))
        owner[self.entries[places]] = np.repeat(job, counts.T.ravel())
        return owner

    def counts(self, owner: IntArray) -> IntArray:
        """Nodes of each job on each leaf, shape ``(J, S)``: the inverse of :meth:`owners`."""
        leaf = np.repeat(np.arange(len(self.caps)), self.caps)
        held = owner[self.entries]
        counts = np.zeros((len(self.types), len(self.caps)), np.int64)
        np.add.at(counts, (held[held >= 0], leaf[held >= 0]), 1)
        return counts


def shape(problem: Allocation) -> Shape:
    """The counts of a problem that has idle nodes."""
    leaf, pod = problem.leaf, problem.pod
    idle = np.bincount(leaf)
    switches = np.flatnonzero(idle)
    inverse, caps = (np.cumsum(idle > 0) - 1)[leaf], idle[switches]
    at = np.empty(len(switches), np.int64)
    at[inverse] = pod
    # Leaves by pod and number of idle nodes; then pods that look alike side by side, large ones first.
    order = np.lexsort((switches, caps, at))
    bounds = np.flatnonzero(np.diff(at[order], prepend=-1, append=-1))
    sorted_caps = caps[order].tolist()
    pods = [(sorted_caps[i:j], i) for i, j in pairwise(bounds.tolist())]
    pods.sort(key=lambda pod: (-sum(pod[0]), pod))
    places: list[int] = []
    classes: dict[tuple[int, ...], list[int]] = {}
    cls: list[int] = []
    first, found = [0], 0
    for held, begin in pods:
        places += range(begin, begin + len(held))
        first.append(first[-1] + len(held))
        alike = tuple(held)
        if alike not in classes:
            # Ascending, so that leaves of one class follow one another.
            changes = [0, *(i != j for i, j in pairwise(held))]
            classes[alike] = [found + level for level in accumulate(changes)]
            found = classes[alike][-1] + 1
        cls += classes[alike]
    order = order[places]
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    sizes, types, mult = np.unique(problem.sizes, return_inverse=True, return_counts=True)
    h3, w1, w2, c, floored = problem.cost.weights.tolist()
    return Shape(
        caps=caps[order].astype(np.int64),
        first=np.array(first, np.int64),
        cls=np.array(cls, np.int64),
        members=np.bincount(cls).astype(np.float64),
        entries=radix_order(rank[inverse]),
        sizes=sizes,
        mult=mult.astype(np.int64),
        units=c / sizes,
        types=types.astype(np.int64),
        steps=np.array([w1, w2], np.float64),
        base=float(sum(c * h3 * (n - 1) / 2 for n in problem.sizes.tolist())),
        # floor(x / n) of a multiple of gcd(c, n) loses at most 1 - gcd / n.
        loss=float((mult * (1 - np.gcd(c, sizes) / sizes)).sum()) if floored else 0.0,
        floored=bool(floored),
        weights=problem.cost.weights,
    )
