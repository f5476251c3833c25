"""The points that are known so far, in a tree that grows with them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from transom.compiling import compiled
from transom.models._arrays import IntArray
from transom.solvers._pareto_tree import DEEP, LEAF, Tree, needed

SLOTS = 2 * LEAF  # rows a leaf has room for: half of them are free in a fresh tree
_WORK = 100_000  # rows or nodes between two pauses


class Archive:
    """Values of known selections and the selections, as bits, for the question whether one of them is as good.

    Parameters
    ----------
    columns : objectives.
    words : 64-bit words of a selection.

    Attributes
    ----------
    rows : leaf after leaf, :data:`SLOTS` rows each: values, then words.
    nodes : the largest value of each node by objective, then (for a leaf) how many rows it holds.
    size : how many rows there were when they were last spread.
    last : position of the row that answered the last question with yes.
    """

    def __init__(self, columns: int, words: int) -> None:
        self._columns = columns
        self.rows = np.zeros((SLOTS, columns + words), np.int64)
        self.nodes = np.full((1, columns + 1), -1, np.int64)
        self.nodes[0, columns] = 0
        self.last = np.zeros(1, np.int64)
        self.size = 1
        self._sifted = 64
        self._removed = 0

    def __len__(self) -> int:
        return int(self.nodes[len(self.nodes) // 2 :, self._columns].sum())

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        """What kernels take: rows, nodes, last."""
        return self.rows, self.nodes, self.last

    @property
    def added(self) -> int:
        """How many rows have ever come in."""
        return len(self) + self._removed

    def content(self) -> IntArray:
        """All rows: values, then words; newer ones may beat older ones."""
        counts = self.nodes[len(self.nodes) // 2 :, self._columns]
        taken = np.arange(SLOTS)[None, :] < counts[:, None]
        rows: IntArray = self.rows[taken.ravel()]
        return rows

    def spread(self, pause: Callable[[], None]) -> None:
        """Make room again in every leaf; what has been beaten leaves from time to time.

        ``pause`` is called every few milliseconds. What it raises ends this; the archive is as it was then.
        """
        rows, sifted, removed = self.content(), self._sifted, 0
        tree = self._tree(rows, pause)
        if len(rows) >= sifted:
            kept, at = np.zeros(len(rows), np.bool_), 0
            none = np.zeros((len(rows), 0), np.int64)
            while at < len(rows):
                at = needed(tree.rows, tree.order, tree.nodes, none, none[0], kept, at, _WORK)
                pause()
            removed = len(rows) - int(kept.sum())
            rows = rows[kept]
            sifted = 2 * len(rows)
            tree = self._tree(rows, pause)
        self.size, self._sifted = len(rows), sifted
        self._removed += removed
        p = self._columns
        leaves = len(tree.nodes) // 2
        first, last = tree.nodes[leaves:, 2 * p], tree.nodes[leaves:, 2 * p + 1]
        self.nodes = np.column_stack((tree.nodes[:, p : 2 * p], tree.nodes[:, 2 * p + 1] - tree.nodes[:, 2 * p]))
        self.rows = np.zeros(((leaves + 1) * SLOTS, rows.shape[1]), np.int64)
        leaf = np.repeat(np.arange(leaves + 1), last - first)
        self.rows[leaf * SLOTS + np.arange(len(rows)) - first[leaf]] = rows[tree.order]
        self.last[0] = 0

    def _tree(self, rows: IntArray, pause: Callable[[], None]) -> Tree:
        tree = Tree(rows[:, : self._columns].copy())
        while not tree.grow(_WORK):
            pause()
        return tree


@compiled
def beaten(point, columns, rows, nodes, last):  # type: ignore[no-untyped-def]
    """Whether a known row is at least as good as ``point`` in each of its ``columns``."""
    inner = len(nodes) // 2
    # What beat the last point beats its neighbours too, as a rule.
    i = last[0]
    if i - i // SLOTS * SLOTS < nodes[inner + i // SLOTS, columns]:
        fine = True
        for c in range(columns):
            if rows[i, c] < point[c]:
                fine = False
                break
        if fine:
            return True
    stack = np.empty(DEEP, np.int64)
    stack[0], top = 0, 1
    while top:
        top -= 1
        node = stack[top]
        fine = True
        for c in range(columns):
            if nodes[node, c] < point[c]:
                fine = False
                break
        if not fine:
            continue
        if node < inner:
            stack[top] = 2 * node + 1
            stack[top + 1] = 2 * node + 2
            top += 2
            continue
        first = (node - inner) * SLOTS
        for i in range(first, first + nodes[node, columns]):
            fine = True
            for c in range(columns):
                if rows[i, c] < point[c]:
                    fine = False
                    break
            if fine:
                last[0] = i
                return True
    return False


@compiled
def insert(point, columns, rows, nodes):  # type: ignore[no-untyped-def]
    """Put a row, ``columns`` values and the words, into the leaf whose bounds it widens least.

    Returns whether that leaf is full now: then :meth:`Archive.spread` comes before the next row.
    """
    inner, node = len(nodes) // 2, 0
    while True:
        for c in range(columns):
            nodes[node, c] = max(nodes[node, c], point[c])
        if node >= inner:
            break
        left, right = 0.0, 0.0
        for c in range(columns):
            scale = nodes[0, c] + 1.0
            left += max(0, point[c] - nodes[2 * node + 1, c]) / scale
            right += max(0, point[c] - nodes[2 * node + 2, c]) / scale
        if left == right:
            # Both have room for it: the one whose best is nearer.
            for c in range(columns):
                left += nodes[2 * node + 1, c] / (nodes[0, c] + 1.0)
                right += nodes[2 * node + 2, c] / (nodes[0, c] + 1.0)
        node = 2 * node + (1 if left <= right else 2)
    at = (node - inner) * SLOTS + nodes[node, columns]
    for c in range(len(point)):
        rows[at, c] = point[c]
    nodes[node, columns] += 1
    return nodes[node, columns] == SLOTS
