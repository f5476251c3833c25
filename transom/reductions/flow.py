"""Static allocation and the constrained path as one unit of flow, with a count row for each size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.reductions.packing import Packing


class Flow(NamedTuple):
    """The programme: columns are the n transitions, then operation arcs by row of their size, then start."""

    row: IntArray  # of each operation arc's size, (arcs,)
    start: IntArray  # its first entry, (arcs,)
    costs: FloatArray  # of each column
    equals: FloatArray  # n nodes, the last entry, each size
    where: IntArray  # row of the matrix of each entry, (entries,)
    column: IntArray
    value: FloatArray


def as_flow(packed: Packing, unit: float = 1.0) -> Flow:
    """The circulation of a packing, whose costs are in ``unit``.

    References
    ----------
    Lan et al. (2023), section IV-B.
    """
    n = packed.length
    row, start = np.nonzero(np.isfinite(packed.costs))
    tail = np.concatenate((np.arange(n), start))
    end = np.concatenate((np.arange(1, n + 1), start + packed.sizes[row]))  # of a column's span
    columns = np.arange(len(tail))
    moves = np.flatnonzero(tail != end % n)  # a block of all entries comes back to where it begins
    spans = np.flatnonzero(end >= n)
    where = np.concatenate((tail[moves], end[moves] % n, np.full(len(spans), n), n + 1 + row))
    column = np.concatenate((moves, moves, spans, columns[n:]))
    value = np.ones(len(where))
    value[len(moves) : 2 * len(moves)] = -1
    costs = np.concatenate((np.zeros(n), packed.costs[row, start] / unit))
    equals = np.concatenate((np.zeros(n), [1.0], packed.counts.astype(float)))
    return Flow(row, start, costs, equals, where, column, value)
