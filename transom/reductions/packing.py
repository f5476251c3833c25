"""Static allocation and the constrained path as one problem: blocks of given sizes on a line or circle."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import ascending, front, stable_order, sum_of
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.shortest_path import ConstrainedPath


class Packing(NamedTuple):
    r"""Choose disjoint blocks of consecutive entries, :math:`\epsilon_r` of each size r, at the least total cost.

    ``length`` entries; ``sizes`` ``(R,)`` ascending, and distinct but for jobs with different limits or node types;
    ``counts`` ``(R,)`` >= 1; ``costs`` ``(R, length)`` by the block's first entry, infinite where there is no block;
    ``wrap``: whether blocks that reach the end go on at the head; ``whole``: whether all costs are whole numbers, so
    that bounds may be rounded up.
    """

    length: int
    sizes: IntArray
    counts: IntArray
    costs: FloatArray
    wrap: bool
    whole: bool

    def safe(self, bound: float) -> float:
        """A bound that was computed in floating point, as one that holds: a little less, or the next whole number."""
        if not math.isfinite(bound):
            return bound
        lower = bound - 1e-9 * max(1.0, abs(bound))
        return float(math.ceil(lower)) if self.whole else lower


class _Static:
    """Static allocations; of jobs that are alike the first gets the block that begins first."""

    # Copies of what is read-only: the kernels would be compiled once more for it.
    @staticmethod
    def shape(problem: Allocation) -> tuple[IntArray, IntArray, int, bool]:
        if problem.limited:
            of, first = problem.classes
            return problem.sizes[first], np.bincount(of), len(problem.idle), problem.wrap
        return (*distinct_sizes(problem.sizes.copy()), len(problem.idle), problem.wrap)

    @staticmethod
    def apply(problem: Allocation) -> Packing:
        sizes, counts, length, wrap = _Static.shape(problem)
        costs = problem.class_costs() if problem.limited else problem.block_costs(sizes)
        return Packing(length, sizes, counts, costs, wrap, problem.cost.floored)

    @staticmethod
    def invert(problem: Allocation, rows: IntArray, starts: IntArray) -> IntArray:
        if problem.limited:
            return _owners_by_class(problem, rows, starts)
        owners: IntArray = block_owners(problem.sizes.copy(), len(problem.idle), rows, starts)
        return owners

    @staticmethod
    def blocks(problem: Allocation, packed: Packing, solution: Any) -> tuple[IntArray, IntArray]:
        return rows_of(problem, packed), problem.starts(solution).copy()


class _Path:
    """Constrained paths, whose operation arcs are the blocks."""

    @staticmethod
    def shape(problem: ConstrainedPath) -> tuple[IntArray, IntArray, int, bool]:
        return problem.sizes, problem.counts, problem.length, False

    @staticmethod
    def apply(problem: ConstrainedPath) -> Packing:
        finite = problem.costs[np.isfinite(problem.costs)]
        whole = bool((finite == np.floor(finite)).all())
        return Packing(problem.length, problem.sizes.copy(), problem.counts.copy(), problem.costs.copy(), False, whole)

    @staticmethod
    def invert(problem: ConstrainedPath, rows: IntArray, starts: IntArray) -> IntArray:
        return np.column_stack((starts, problem.sizes[rows]))

    @staticmethod
    def blocks(problem: ConstrainedPath, packed: Packing, solution: Any) -> tuple[IntArray, IntArray]:
        starts, sizes = np.asarray(solution, dtype=np.int64).reshape(-1, 2).T
        return np.searchsorted(packed.sizes, sizes), starts.copy()


def rows_of(problem: Allocation, packed: Packing) -> IntArray:
    """The row of each job in the packing, shape ``(jobs,)``."""
    return problem.classes.of if problem.limited else np.searchsorted(packed.sizes, problem.sizes)


def _owners_by_class(problem: Allocation, rows: IntArray, starts: IntArray) -> IntArray:
    of, n = problem.classes.of, len(problem.idle)
    waiting = [np.flatnonzero(of == row).tolist() for row in range(int(of.max(initial=-1)) + 1)]
    owner = np.full(n, -1)
    for row, start in zip(rows.tolist(), starts.tolist(), strict=True):
        job = waiting[row].pop(0)
        owner[np.arange(start, start + int(problem.sizes[job])) % n] = job
    return owner


_FROM: dict[type, Any] = {Allocation: _Static, ConstrainedPath: _Path}


def apply(problem: Allocation | ConstrainedPath) -> Packing:
    """The packing of a static allocation or of a constrained path."""
    packed: Packing = _FROM[type(problem)].apply(problem)
    return packed


def shape(problem: Allocation | ConstrainedPath) -> tuple[IntArray, IntArray, int, bool]:
    """Sizes, counts, length and wrap of the packing of a problem, without its costs."""
    found: tuple[IntArray, IntArray, int, bool] = _FROM[type(problem)].shape(problem)
    return found


def invert(problem: Allocation | ConstrainedPath, rows: IntArray, starts: IntArray) -> Any:
    """The problem's solution, owners or arcs, that consists of these blocks.

    Parameters
    ----------
    rows : position of each block's size in ``Packing.sizes``, shape ``(blocks,)``.
    starts : first entry of each block, shape ``(blocks,)``.
    """
    order = np.argsort(starts, kind="stable")
    return _FROM[type(problem)].invert(problem, rows[order], starts[order])


def blocks(problem: Allocation | ConstrainedPath, packed: Packing, solution: Any) -> tuple[IntArray, IntArray]:
    """Rows and starts, both of shape ``(blocks,)``, of a feasible solution: what :func:`invert` makes it of."""
    found: tuple[IntArray, IntArray] = _FROM[type(problem)].blocks(problem, packed, solution)
    return found


def first_fit(pack: Packing) -> tuple[IntArray, IntArray] | None:
    """Rows and starts of blocks placed from the first entry on, the largest that has a block there first.

    Returns
    -------
    Both of shape ``(blocks,)``; None if not all fit in this way, which happens only where blocks are missing.
    """
    rows, starts = _first_fit(pack.costs, pack.sizes, pack.counts)
    return (rows, starts) if len(rows) == int(pack.counts.sum()) else None


@compiled
def _first_fit(costs: FloatArray, sizes: IntArray, counts: IntArray) -> tuple[IntArray, IntArray]:
    length, left = costs.shape[1], counts.copy()
    rows, starts = np.empty(sum_of(counts), np.int64), np.empty(sum_of(counts), np.int64)
    found, i = 0, 0
    while i < length and found < len(rows):
        step = 1
        for r in range(len(sizes) - 1, -1, -1):
            if left[r] > 0 and i + sizes[r] <= length and costs[r, i] < np.inf:
                rows[found], starts[found] = r, i
                left[r] -= 1
                found += 1
                step = sizes[r]
                break
        i += step
    return front(rows, found), front(starts, found)


@compiled
def distinct_sizes(sizes: IntArray) -> tuple[IntArray, IntArray]:
    """``np.unique(sizes, return_counts=True)`` of shape ``(jobs,)``, at a tenth of its price for few jobs."""
    ordered = ascending(sizes)
    distinct = np.empty(len(sizes), np.int64)
    counts = np.empty(len(sizes), np.int64)
    found = 0
    for i in range(len(ordered)):
        size = ordered[i]
        if found == 0 or distinct[found - 1] != size:
            distinct[found], counts[found] = size, 0
            found += 1
        counts[found - 1] += 1
    return front(distinct, found), front(counts, found)


@compiled
def block_owners(sizes: IntArray, length: int, rows: IntArray, starts: IntArray) -> IntArray:
    ranked = stable_order(sizes)  # jobs by size, of one size in the window's order
    distinct = np.empty(len(sizes) + 1, np.int64)
    found = 0
    for k in range(len(sizes)):
        if k == 0 or sizes[ranked[k]] != sizes[ranked[k - 1]]:
            distinct[found] = k
            found += 1
    owner = np.empty(length, np.int64)
    for i in range(length):
        owner[i] = -1
    for block in range(len(rows)):
        job = ranked[distinct[rows[block]]]
        distinct[rows[block]] += 1
        for i in range(starts[block], starts[block] + sizes[job]):
            owner[i if i < length else i - length] = job
    return owner
