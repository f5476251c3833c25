"""Nodes that are drained: jobs that run there go on, no job starts there, and a node is out of service without one."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.outage_log import DRAIN

Piece = tuple[int, int, int, int, int, int]
"""A row of the log of outages: kind, stated row, begin, end [s], first and last node."""


class Drains:
    """The drains under way on a machine of so many nodes."""

    def __init__(self, nodes: int) -> None:
        self._count = np.zeros(nodes, np.int64)
        self._rows: dict[int, tuple[IntArray, int]] = {}

    @property
    def nodes(self) -> BoolArray:
        """Which nodes are drained, whether a job runs there or not, shape ``(nodes,)``."""
        drained: BoolArray = self._count > 0
        return drained

    def begin(self, row: int, ids: IntArray, end: int) -> None:
        """Drain nodes until an instant [s]."""
        self._rows[row] = ids, end
        self._count[ids] += 1

    def end(self, row: int) -> None:
        """A drain is over."""
        ids, _ = self._rows.pop(row)
        self._count[ids] -= 1

    def pieces(self, free: IntArray, now: int, rows: tuple[int, ...] = ()) -> list[Piece]:
        """What the log says of nodes that no job has any more from now on, ascending; of some rows, or of all."""
        found: list[Piece] = []
        for row in rows or tuple(self._rows):
            ids, end = self._rows[row]
            out = free[np.isin(free, ids)]
            if not len(out) or end <= now:
                continue
            for piece in np.split(out, np.flatnonzero(np.diff(out) != 1) + 1):
                found.append((DRAIN, row, now, end, int(piece[0]), int(piece[-1])))
        return found
