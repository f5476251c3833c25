"""The constrained shortest path that static allocation without wrap-around amounts to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from transom.errors import ModelError
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, Frozen, IntArray, Like, as_array, frozen_floats, frozen_ints, model, whole

if TYPE_CHECKING:
    from networkx import DiGraph

_MOST = 2**40  # of a size or a count, as in an allocation
_DEAREST = 1e300  # sums of costs stay finite


@model
class ConstrainedPath(Frozen):
    r"""The cheapest path from 0 to n that takes exactly :math:`\epsilon_r` operation arcs of each size r.

    The graph has the nodes 0 to n, a free *transition* arc from i to i + 1, and for each size r an
    *operation* arc from i to i + r with the cost of the block of r entries that begins at i. The paper
    draws operation arcs to i + r - 1, which lets neighbours share an entry; and its :math:`|J|` is the
    *sum* of the :math:`\epsilon_r`.

    A solution lists the operation arcs of the path: rows (start, size) by ascending start, an int array of
    shape ``(arcs, 2)``.

    Parameters
    ----------
    length : n, the number of entries, >= 0.
    sizes : the distinct sizes r, >= 2, ascending, shape ``(sizes,)``.
    counts : :math:`\epsilon_r`, >= 1, shape ``(sizes,)``; neither a size nor a count is above :math:`2^{40}`.
    costs : cost of the operation arc of each size from each node, from -1e300 to 1e300, shape ``(sizes, n)``;
        infinite without an arc, which includes every arc that would end beyond n.

    Raises
    ------
    ModelError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), section IV-B and figure 3.
    """

    kind: ClassVar[str] = "csp"
    sense: ClassVar[str] = "min"

    length: int
    sizes: Like[IntArray]
    counts: Like[IntArray]
    costs: Like[FloatArray]

    def __post_init__(self) -> None:
        length = whole(self.length, "path: length")
        sizes = frozen_ints(self.sizes, "path: sizes", (-1,))
        counts = frozen_ints(self.counts, "path: counts", (len(sizes),))
        if length < 0:
            raise ModelError(f"path: length must be >= 0, got {length}")
        if (sizes < 2).any() or (np.diff(sizes) <= 0).any():
            raise ModelError(f"path: sizes must be at least 2, distinct and ascending, got {sizes.tolist()}")
        if (counts < 1).any():
            raise ModelError(f"path: counts must be > 0, got {counts.tolist()}")
        for what, values in (("size", sizes), ("count", counts)):
            if len(values) and int(values.max()) > _MOST:
                raise ModelError(f"path: {what} {values.max()} is more than any system has")
        costs = frozen_floats(self.costs, "path: costs", (len(sizes), length))
        if np.isnan(costs).any() or (costs == -np.inf).any():
            raise ModelError("path: costs must be numbers, or infinite where there is no arc")
        dear = costs[np.isfinite(costs) & (np.abs(costs) > _DEAREST)]
        if dear.size:
            raise ModelError(f"path: costs must be from {-_DEAREST:g} to {_DEAREST:g}, got {dear[0]:g}")
        for row, size in enumerate(sizes.tolist()):
            beyond = costs[row, max(0, length - size + 1) :]
            if np.isfinite(beyond).any():
                raise ModelError(f"path: an arc of size {size} would end beyond the last node {length}")
        object.__setattr__(self, "length", length)
        object.__setattr__(self, "sizes", sizes)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "costs", costs)

    @classmethod
    def from_allocation(cls, allocation: Allocation) -> ConstrainedPath:
        """The path problem of a static allocation without wrap-around (section IV-B).

        Raises
        ------
        ModelError : the rule is another, or blocks may wrap around.
        """
        if allocation.rule != "static" or allocation.wrap:
            raise ModelError("path: only a static allocation without wrap-around is a constrained shortest path")
        sizes, counts = np.unique(allocation.sizes, return_counts=True)
        return cls(len(allocation.idle), sizes, counts, allocation.block_costs(sizes))

    def __len__(self) -> int:
        return sum(self.counts.tolist())

    def trivial(self) -> IntArray | Literal["infeasible"] | None:
        """The answer, shape ``(arcs, 2)``, where nothing is to search for: no arc wanted, or more than fit."""
        if not len(self):
            return np.empty((0, 2), np.int64)
        wanted = sum(size * count for size, count in zip(self.sizes.tolist(), self.counts.tolist(), strict=True))
        return "infeasible" if wanted > self.length else None

    def value(self, solution: ArrayLike) -> float:
        """Total cost of operation arcs, shape ``(arcs, 2)``, exactly rounded; an int where all costs are whole."""
        arcs = self._arcs(solution)
        costs = self.costs[np.searchsorted(self.sizes, arcs[:, 1]), arcs[:, 0]]
        total = math.fsum(costs)
        return int(total) if (costs == np.floor(costs)).all() else total

    def violations(self, solution: ArrayLike) -> list[str]:
        """Every condition that ``solution``, shape ``(arcs, 2)``, breaks, in words; empty if it is feasible."""
        given = as_array(solution)
        if given.size and (given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu"):
            return [f"a solution has shape (arcs, 2) and holds whole numbers, got {given.shape} of {given.dtype}"]
        arcs = self._arcs(given)
        row = np.searchsorted(self.sizes, arcs[:, 1])
        known = row < len(self.sizes)
        known[known] = self.sizes[row[known]] == arcs[known, 1]
        if not known.all():
            return [f"there is no arc of size {arcs[~known][0, 1]}"]
        outside = (arcs[:, 0] < 0) | (arcs[:, 0] >= self.length)
        if not outside.any():
            outside = np.isinf(self.costs[row, arcs[:, 0]])
        if outside.any():
            start, size = arcs[outside][0].tolist()
            return [f"there is no arc of size {size} from {start}"]
        wrong = []
        early = np.flatnonzero(arcs[1:, 0] < arcs[:-1, 0] + arcs[:-1, 1])
        if early.size:
            i = int(early[0])
            wrong.append(f"the arc from {arcs[i + 1, 0]} begins before the one from {arcs[i, 0]} has ended")
        taken = np.bincount(row, minlength=len(self.sizes))
        for size, has, wants in zip(self.sizes.tolist(), taken.tolist(), self.counts.tolist(), strict=True):
            if has != wants:
                wrong.append(f"takes {has} arcs of size {size} instead of {wants}")
        return wrong

    def frozen(self, solution: ArrayLike) -> IntArray:
        """``solution`` as a read-only int64 array of its own, shape ``(arcs, 2)``."""
        return frozen_ints(self._arcs(solution), "path: solution")

    def to_owner(self, solution: ArrayLike, sizes: ArrayLike | None = None) -> IntArray:
        """The owner of each entry, -1 for none, shape ``(length,)``: a solution of the allocation that this was.

        ``sizes`` are those of the jobs in their order, by default ascending; of jobs of one size the
        first gets the first block.
        """
        wanted = np.repeat(self.sizes, self.counts) if sizes is None else np.asarray(sizes)
        free = {int(size): np.flatnonzero(wanted == size).tolist()[::-1] for size in self.sizes}
        owner = np.full(self.length, -1)
        for start, size in self._arcs(solution).tolist():
            owner[start : start + size] = free[size].pop()
        return owner

    def graph(self) -> DiGraph:
        """The graph as a ``networkx.DiGraph``: nodes 0 to n, arcs with ``weight`` and ``size`` (0: transition)."""
        from networkx import DiGraph

        graph = DiGraph()
        graph.add_nodes_from(range(self.length + 1))
        graph.add_edges_from((i, i + 1, {"weight": 0.0, "size": 0}) for i in range(self.length))
        for row, size in enumerate(self.sizes.tolist()):
            for start in np.flatnonzero(np.isfinite(self.costs[row])).tolist():
                graph.add_edge(start, start + size, weight=float(self.costs[row, start]), size=size)
        return graph

    @staticmethod
    def _arcs(solution: ArrayLike) -> IntArray:
        return np.asarray(solution, dtype=np.int64).reshape(-1, 2)
