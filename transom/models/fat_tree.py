"""A tree of switches: which leaf switch, which pod and which switches above pods every node hangs on."""

from __future__ import annotations

from dataclasses import field

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.arrays import UNSET, Frozen, IntArray, Like, frozen_ints, model, whole


class _Known:
    """The digest: all windows of a system share one tree, and each is asked for its own digest."""

    __slots__ = ("_digest",)
    _digest: str


@model
class FatTree(_Known, Frozen):
    r"""Nodes 0 to ``num_nodes - 1``, from left to right, below leaf switches, below pods.

    The distance of two nodes is given by the lowest level that joins them: leaf switch, pod or core. The
    switch and the pod of each node define any three-level shape; :meth:`k_ary` and :meth:`uniform` build
    regular ones. Deeper trees have further levels between pods and core; :func:`tree_of_switches` builds any tree.

    Parameters
    ----------
    leaf : leaf switch of each node, shape ``(num_nodes,)``; any distinct numbers, kept as 0, 1, 2 ...
        in the order in which they first appear.
    pod : pod of each node, shape ``(num_nodes,)``; numbered in the same way.
    above : switch of each node on each level between pods and core, the lowest first, shape
        ``(levels, num_nodes)``; numbered in the same way level by level. A last level of one switch is the core and
        is left out; None where no level is left.

    Raises
    ------
    ModelError : there is no node, shapes differ, or a leaf switch belongs to two pods, a pod to two switches above.

    References
    ----------
    Lan et al. (2023), section III-A and figure 1.
    """

    leaf: Like[IntArray]
    pod: Like[IntArray]
    above: IntArray | None = field(default=None, metadata=UNSET)

    def __post_init__(self) -> None:
        leaf = frozen_ints(self.leaf, "fat tree: leaf", (-1,))
        pod = frozen_ints(self.pod, "fat tree: pod", (len(leaf),))
        if not len(leaf):
            raise ModelError("fat tree: it must have at least one node")
        leaf, first = _numbered(leaf)
        pod, _ = _numbered(pod)
        wrong = np.flatnonzero(pod != pod[first][leaf])
        if wrong.size:
            node = int(wrong[0])
            other = int(first[leaf[node]])
            raise ModelError(f"fat tree: nodes {other} and {node} share a leaf switch but not the pod")
        object.__setattr__(self, "leaf", frozen_ints(leaf, "fat tree: leaf"))
        object.__setattr__(self, "pod", frozen_ints(pod, "fat tree: pod"))
        if self.above is not None:
            object.__setattr__(self, "above", _levels(self.above, pod))

    @classmethod
    def k_ary(cls, k: int, nodes: int | None = None) -> FatTree:
        r"""The k-ary fat tree of :math:`k^3/4` nodes, or one pruned to its first ``nodes`` nodes.

        Parameters
        ----------
        k : ports of a switch, even and > 0: leaves of :math:`k/2`, pods of :math:`(k/2)^2` nodes.
        nodes : how many nodes are kept, > 0; pods that are left empty are pruned.

        Raises
        ------
        ModelError : ``k`` is odd or not positive, or there are not so many nodes.
        """
        k = whole(k, "fat tree: k")
        if k <= 0 or k % 2:
            raise ModelError(f"fat tree: k must be even and > 0, got {k}")
        most = k**3 // 4
        kept = most if nodes is None else whole(nodes, "fat tree: nodes")
        if not 0 < kept <= most:
            raise ModelError(f"fat tree: a {k}-ary tree has up to {most} nodes, got nodes={kept}")
        return cls.uniform(kept, k // 2, (k // 2) ** 2)

    @classmethod
    def uniform(cls, nodes: int, leaf_nodes: int, pod_nodes: int) -> FatTree:
        """Leaves of ``leaf_nodes`` and pods of ``pod_nodes`` nodes; the last ones may be smaller.

        Parameters
        ----------
        nodes : how many there are, > 0.
        leaf_nodes : nodes of a leaf switch, > 0.
        pod_nodes : nodes of a pod, a multiple of ``leaf_nodes``.

        Raises
        ------
        ModelError : a condition above does not hold.
        """
        nodes, leaf_nodes = whole(nodes, "fat tree: nodes"), whole(leaf_nodes, "fat tree: leaf_nodes")
        pod_nodes = whole(pod_nodes, "fat tree: pod_nodes")
        if not 0 < nodes <= _MOST or leaf_nodes <= 0 or pod_nodes <= 0:
            raise ModelError(
                f"fat tree: nodes (up to {_MOST}), leaf_nodes and pod_nodes must be > 0, "
                f"got {nodes}, {leaf_nodes} and {pod_nodes}"
            )
        if pod_nodes % leaf_nodes:
            raise ModelError(f"fat tree: pod_nodes must be a multiple of leaf_nodes, got {pod_nodes} and {leaf_nodes}")
        ids = np.arange(nodes)
        return cls(ids // leaf_nodes, ids // pod_nodes)

    def digest(self) -> str:
        """As of every model, made once."""
        if not hasattr(self, "_digest"):
            object.__setattr__(self, "_digest", Frozen.digest(self))
        return self._digest

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.leaf)

    @property
    def num_leaves(self) -> int:
        """Number of leaf switches."""
        return int(self.leaf.max()) + 1

    @property
    def num_pods(self) -> int:
        """Number of pods."""
        return int(self.pod.max()) + 1

    @property
    def upper(self) -> IntArray:
        """:attr:`above` as an array in any case, shape ``(levels, num_nodes)``: without rows for three levels."""
        return np.empty((0, self.num_nodes), np.int64) if self.above is None else self.above

    @property
    def num_levels(self) -> int:
        """Levels of switches, the core included: 3 where there is none between pods and core."""
        return 3 + len(self.upper)

    @property
    def contiguous(self) -> bool:
        """Whether the nodes of each switch are consecutive, as the figures draw them."""
        return all(bool((np.diff(level) >= 0).all()) for level in (self.leaf, self.pod, *self.upper))

    @property
    def regular(self) -> tuple[int, int] | None:
        """``(leaf_nodes, pod_nodes)`` with which :meth:`uniform` makes this tree; None if it does not."""
        if self.above is not None:
            return None
        leaf_nodes, pod_nodes = int((self.leaf == 0).sum()), int((self.pod == 0).sum())
        if pod_nodes % leaf_nodes:
            # A single pod that is not full: any multiple describes it.
            pod_nodes += leaf_nodes - pod_nodes % leaf_nodes
        ids = np.arange(self.num_nodes)
        same = (self.leaf == ids // leaf_nodes).all() and (self.pod == ids // pod_nodes).all()
        return (leaf_nodes, pod_nodes) if same else None

    def level(self, a: int, b: int) -> int:
        """The lowest level that joins two different nodes: 0 leaf switch, 1 pod, one for each up to the core."""
        levels = (self.leaf, self.pod, *self.upper)
        return next((number for number, of in enumerate(levels) if of[a] == of[b]), len(levels))

    def spread(self, nodes: ArrayLike) -> tuple[int, int]:
        """How many leaf switches and how many pods some nodes, ids of shape ``(nodes,)``, touch."""
        ids = np.asarray(nodes, dtype=np.int64)
        return len(np.unique(self.leaf[ids])), len(np.unique(self.pod[ids]))

    def leaf_spans(self, nodes: IntArray, owner: IntArray, jobs: int) -> IntArray:
        """How many leaf switches the nodes of each job hang on, shape ``(jobs,)``.

        Parameters
        ----------
        nodes : ids of nodes, shape ``(nodes,)``.
        owner : position of the job of each of them, or -1, shape ``(nodes,)``.
        jobs : number of jobs.
        """
        held, leaves = owner >= 0, self.num_leaves
        pairs = np.unique(owner[held] * leaves + self.leaf[nodes[held]])
        return np.bincount(pairs // leaves, minlength=jobs)


_MOST = 10**8  # nodes of a tree; a document may claim any number


def _levels(above: ArrayLike, pod: IntArray) -> IntArray | None:
    """The levels above pods, numbered, without a last one that is the core; None if none is left."""
    given = frozen_ints(above, "fat tree: above", (-1, len(pod)))
    levels, below = [], pod
    for number, labels in enumerate(given):
        level, _ = _numbered(labels)
        of = np.full(int(below.max()) + 1, -1)
        of[below] = level
        wrong = np.flatnonzero(of[below] != level)
        if wrong.size:
            raise ModelError(
                f"fat tree: node {wrong[0]} and another one hang on two switches of above[{number}], but on one of the "
                "level below"
            )
        levels.append(level)
        below = level
    while levels and not levels[-1].any():
        levels.pop()
    return frozen_ints(np.array(levels), "fat tree: above") if levels else None


def _numbered(labels: IntArray) -> tuple[IntArray, IntArray]:
    """The labels as 0, 1, 2 ... in the order of first appearance, and where each first appears."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], np.sort(first)
