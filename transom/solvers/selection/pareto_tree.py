"""Rows of integers in a k-d tree, and which of them another row makes needless.

A tree over n rows is complete: node i has the children 2i + 1 and 2i + 2, every node takes half of the rows of
its parent, and all leaves are on the last level. A node's entry holds the least and the largest value of its rows by
column, then its first row and the one after its last.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, IntArray

LEAF = 8  # most rows of a leaf
DEEP = 64  # more than a way through a tree ever holds


class Tree:
    """A k-d tree, built in portions.

    Parameters
    ----------
    rows : int64, shape ``(n, columns)``, ``n`` > 0; they are rearranged.

    Attributes
    ----------
    rows, order : the rows as they stand in the tree, and where each of them stood before.
    nodes : shape ``(nodes, 2 * columns + 2)``, see above.
    """

    def __init__(self, rows: IntArray) -> None:
        leaves = 1
        while leaves * LEAF < len(rows):
            leaves *= 2
        self.rows = rows
        self.order = np.arange(len(rows))
        self.nodes = np.empty((2 * leaves - 1, 2 * rows.shape[1] + 2), np.int64)
        self.nodes[0, -2:] = 0, len(rows)
        self._next = 0

    def grow(self, work: int) -> bool:
        """Build on, for about ``work`` rows; whether it is ready."""
        self._next = split(self.rows, self.order, self.nodes, self._next, work)
        return self._next == len(self.nodes)


@compiled
def split(rows: IntArray, order: IntArray, nodes: IntArray, node: int, work: int) -> int:
    """Bound nodes from ``node`` on and divide them at the median of their widest column; the next node."""
    columns = rows.shape[1]
    inner = len(nodes) // 2
    while node < len(nodes) and work > 0:
        first, last = nodes[node, 2 * columns], nodes[node, 2 * columns + 1]
        work -= last - first + 1
        widest, column = -1.0, 0
        for c in range(columns):
            least, most = rows[first, c], rows[first, c]
            for i in range(first + 1, last):
                value = rows[i, c]
                if value < least:
                    least = value
                elif value > most:
                    most = value
            nodes[node, c], nodes[node, columns + c] = least, most
            width = (most - least) / (nodes[0, columns + c] - nodes[0, c] + 1.0)
            if width > widest:
                widest, column = width, c
        if node < inner:
            middle = (first + last) // 2
            if widest > 0:
                _halve(rows, order, first, last - 1, middle, column)
            left = 2 * node + 1
            nodes[left, 2 * columns], nodes[left, 2 * columns + 1] = first, middle
            nodes[left + 1, 2 * columns], nodes[left + 1, 2 * columns + 1] = middle, last
        node += 1
    return node


@compiled
def _halve(rows: IntArray, order: IntArray, left: int, right: int, middle: int, column: int) -> None:
    """Rearrange rows so that none before ``middle`` is larger in a column, and none after it smaller (Hoare)."""
    columns = rows.shape[1]
    while left < right:
        a, b, c = rows[left, column], rows[(left + right) // 2, column], rows[right, column]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = left, right
        while i <= j:
            while rows[i, column] < pivot:
                i += 1
            while rows[j, column] > pivot:
                j -= 1
            if i <= j:
                if i < j:
                    for k in range(columns):
                        rows[i, k], rows[j, k] = rows[j, k], rows[i, k]
                    order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@compiled
def needed(
    rows: IntArray,
    order: IntArray,
    nodes: IntArray,
    words: IntArray,
    open_: IntArray,
    kept: BoolArray,
    row: int,
    work: int,
) -> int:
    """Mark rows, from ``row`` on, that no other one is at least as good as, about ``work`` nodes; the next row.

    ``words`` are bits by original position: the better row must have all of the ``open_`` bits of the other.
    Of rows that are equal in all this the first stays. ``kept`` goes by original position.
    """
    columns = rows.shape[1]
    inner = len(nodes) // 2
    stack = np.empty(DEEP, np.int64)
    while row < len(rows) and work > 0:
        stack[0], top, at, alive = 0, 1, order[row], True
        while top and alive:
            top -= 1
            work -= 1
            node = stack[top]
            fine = True
            for c in range(columns):
                if nodes[node, columns + c] < rows[row, c]:
                    fine = False
                    break
            if not fine:
                continue
            if node < inner:
                stack[top] = 2 * node + 1
                stack[top + 1] = 2 * node + 2
                top += 2
                continue
            for i in range(nodes[node, 2 * columns], nodes[node, 2 * columns + 1]):
                if _stronger(rows, order, words, open_, i, row):
                    alive = False
                    break
        kept[at] = alive
        row += 1
    return row


@compiled
def _stronger(rows: IntArray, order: IntArray, words: IntArray, open_: IntArray, i: int, row: int) -> bool:
    equal = True
    for c in range(rows.shape[1]):
        if rows[i, c] < rows[row, c]:
            return False
        if rows[i, c] > rows[row, c]:
            equal = False
    for w in range(len(open_)):
        mine, theirs = words[order[row], w] & open_[w], words[order[i], w] & open_[w]
        if mine & ~theirs:
            return False
        if mine != theirs:
            equal = False
    return not equal or order[i] < order[row]
