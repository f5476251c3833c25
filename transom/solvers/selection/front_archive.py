"""The selections that are known so far, asked whether one of them is at least as good as a given point.

They stand in a k-d tree that grows with them: leaves that are full are split.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.models.arrays import BoolArray, IntArray

SLOTS = 16  # rows a leaf has room for
NODES, LEAVES, ROWS, LAST, DEEPEST, STACK = range(6)
"""Entries of ``counts``: nodes, leaves and rows in use, the row that answered the last question with yes, the depth
of the deepest leaf; from :data:`STACK` on there is room for the numbers of nodes."""
CHILD, AXIS, SPLIT, DEPTH, LEAST = range(5)
"""Entries of a node, see :class:`FrontArchive`."""
HELD = AXIS  # how many rows there are in a leaf

_LEAVES = 128  # room of an empty tree
_DEEP = 96  # levels of it: far more than a balanced one ever has
_GROWN = 4  # what has been beaten leaves when there are so many times more rows than after the last time
_FEW = 2000  # where that begins
_BLOCK = 1000  # rows filtered or inserted between two pauses


def _go_on() -> None:
    """Nothing is to be seen to in a pause."""


class ArchiveTree(NamedTuple):
    """The tree as kernels take it.

    Parameters
    ----------
    rows : leaf after leaf, :data:`SLOTS` rows each: values, then words.
    nodes : per node the first of its two children, which are neighbours, the objective and the value that separate
        them, and its depth; of a leaf, -1 and below for leaf 0 and so on, how many rows it holds, 0, and its depth.
        Then the least value of its rows by objective, and the largest one.
    counts : see :data:`NODES`.
    """

    rows: IntArray
    nodes: IntArray
    counts: IntArray


class FrontArchive:
    """Values of known selections, and the selections as bits. A row that a later one beats may stay for a while.

    Parameters
    ----------
    columns : objectives.
    words : 64-bit words of a selection.
    memory : most bytes for all of it, also while it is filtered.

    Attributes
    ----------
    tree : what kernels take.
    """

    def __init__(self, columns: int, words: int, memory: float = math.inf) -> None:
        self._columns, self._words, self._memory = columns, words, memory
        self.tree = _empty(_LEAVES, _DEEP, columns, words)
        self._sifted = 0
        self._removed = 0

    def __len__(self) -> int:
        return int(self.tree.counts[ROWS])

    @property
    def added(self) -> int:
        """How many rows have ever come in."""
        return len(self) + self._removed

    @property
    def unsifted(self) -> int:
        """How many rows have come in since those that had been beaten left."""
        return len(self) - self._sifted

    def content(self) -> IntArray:
        """All rows: values, then words; newer ones may beat older ones."""
        rows, nodes, counts = self.tree
        nodes = nodes[: counts[NODES]]
        leaves = nodes[nodes[:, CHILD] < 0]
        taken = np.zeros((int(counts[LEAVES]), SLOTS), np.bool_)
        taken[-1 - leaves[:, CHILD]] = np.arange(SLOTS) < leaves[:, HELD, None]
        content: IntArray = rows[: taken.size][taken.ravel()]
        return content

    def add(self, rows: IntArray, pause: Callable[[], None] = _go_on) -> bool:
        """Let rows come in, no two with equal values; whether there was room for all of them."""
        # In an order without any order, so that no branch becomes long.
        rows, at = rows[np.argsort(np.arange(len(rows)) * 0x9E3779B1 % 2**32, kind="stable")], 0
        while at < len(rows):
            at, full = insert_all(rows, at, min(at + _BLOCK, len(rows)), self._columns, self.tree)
            if full and not self.make_room(pause):
                return False
            pause()
        return True

    def make_room(self, pause: Callable[[], None] = _go_on) -> bool:
        """Make room for further rows, which is due where :func:`insert` says so; False where there is no memory for it.

        ``pause`` is called every few milliseconds. What it raises ends this; the archive is as it was then.
        """
        rows, nodes, counts = self.tree
        deep = counts[LEAVES] * SLOTS < len(rows)
        if len(self) > _GROWN * max(self._sifted, _FEW) or (deep and len(self) >= 2 * self._sifted):
            self._sift(pause)
        elif deep:
            # Balanced lately, and yet a branch is long: rows come in as if sorted.
            self.tree = self.tree._replace(counts=np.concatenate((counts, np.zeros_like(counts))))
        elif 5 * (rows.nbytes + nodes.nbytes) <= self._memory:
            # Twice as large, it can still be filtered: that takes a list of its rows and a tree beside it.
            rows, nodes = (np.concatenate((part, np.empty_like(part))) for part in (rows, nodes))
            self.tree = ArchiveTree(rows, nodes, counts)
        else:
            return self._sift(pause, len(self) // 2)
        return True

    def shed(self, pause: Callable[[], None] = _go_on) -> None:
        """Let go what has been beaten; what stays stands in a balanced tree."""
        if self.unsifted:
            self._sift(pause)

    def _sift(self, pause: Callable[[], None] = _go_on, most: float = math.inf) -> bool:
        # Whether that leaves no more rows than asked for; else all of them stay.
        rows = self.content()
        kept: BoolArray = np.ones(len(rows), np.bool_)
        for first in range(0, len(rows), _BLOCK):
            unbeaten(rows, first, min(first + _BLOCK, len(rows)), self._columns, self.tree, kept)
            pause()
        if kept.sum() > most:
            return False
        fresh = FrontArchive(self._columns, self._words)
        fresh.tree = _empty(len(self.tree.rows) // SLOTS, _DEEP, self._columns, self._words)
        fresh._sifted = len(rows)  # it has been
        fresh.add(rows[kept], pause)
        self.tree = fresh.tree
        self._sifted = len(self)
        self._removed += len(rows) - len(self)
        return True


def _empty(leaves: int, deep: int, columns: int, words: int) -> ArchiveTree:
    rows = np.empty((leaves * SLOTS, columns + words), np.int64)
    rows[0] = -1  # beats nothing
    nodes = np.empty((2 * leaves, LEAST + 2 * columns), np.int64)
    nodes[0, :LEAST] = -1, 0, 0, 0
    nodes[0, LEAST : LEAST + columns], nodes[0, LEAST + columns :] = 2**62, -1
    counts = np.zeros(STACK + deep + 2, np.int64)
    counts[NODES] = counts[LEAVES] = 1
    return ArchiveTree(rows, nodes, counts)


@no_refcount
def beaten(point: IntArray, columns: int, tree: ArchiveTree, other: bool = False) -> bool:
    """Whether a known row, with ``other`` an unequal one, is at least as good as ``point`` in each of its columns."""
    rows, nodes, counts = tree
    if not other:
        # What beat the last point beats its neighbours too, as a rule. It may have moved, but its values are there
        # until those of another one are.
        i = counts[LAST]
        fine = True
        for c in range(columns):
            if rows[i, c] < point[c]:
                fine = False
                break
        if fine:
            return True
    counts[STACK] = 0
    top = STACK + 1
    while top > STACK:
        top -= 1
        node = counts[top]
        fine = True
        for c in range(columns):
            if nodes[node, LEAST + columns + c] < point[c]:
                fine = False
                break
        if not fine:
            continue
        child = nodes[node, CHILD]
        if child >= 0:
            same = other
            for c in range(columns):
                if nodes[node, LEAST + c] < point[c]:
                    fine = False
                    break
                if nodes[node, LEAST + c] > point[c]:
                    same = False
            if fine and not same:
                return True
            # The better half is looked at first.
            counts[top] = child
            counts[top + 1] = child + 1
            top += 2
            continue
        first = (-1 - child) * SLOTS
        for i in range(first, first + nodes[node, HELD]):
            fine = True
            same = other
            for c in range(columns):
                if rows[i, c] < point[c]:
                    fine = False
                    break
                if rows[i, c] > point[c]:
                    same = False
            if fine and not same:
                counts[LAST] = i
                return True
    return False


@no_refcount
def insert(point: IntArray, columns: int, tree: ArchiveTree) -> bool:
    """Put a row, ``columns`` values that no known row equals and the words, into the tree.

    Returns whether :meth:`FrontArchive.make_room` comes before the next row.
    """
    rows, nodes, counts = tree
    node = 0
    while True:
        if nodes[node, CHILD] < 0 and nodes[node, HELD] == SLOTS:
            # Before the point widens its box: a leaf is split by what its own rows differ in.
            _split(columns, tree, node)
        for c in range(columns):
            nodes[node, LEAST + c] = min(nodes[node, LEAST + c], point[c])
            nodes[node, LEAST + columns + c] = max(nodes[node, LEAST + columns + c], point[c])
        if nodes[node, CHILD] < 0:
            break
        node = nodes[node, CHILD] + (1 if point[nodes[node, AXIS]] > nodes[node, SPLIT] else 0)
    at = (-1 - nodes[node, CHILD]) * SLOTS + nodes[node, HELD]
    for c in range(len(point)):
        rows[at, c] = point[c]
    nodes[node, HELD] += 1
    counts[ROWS] += 1
    return full(counts, len(rows))


@no_refcount
def full(counts: IntArray, slots: int) -> bool:
    """Whether a further leaf may find no place among so many rows, or nodes none to wait in."""
    return bool(counts[LEAVES] * SLOTS == slots or counts[DEEPEST] + 2 > len(counts) - STACK)


@no_refcount
def _split(columns: int, tree: ArchiveTree, node: int) -> None:
    # At the middle of the objective in which the box is widest: both halves get a row, for all values are distinct.
    rows, nodes, counts = tree
    axis = 0
    widest = nodes[node, LEAST + columns] - nodes[node, LEAST]
    for c in range(1, columns):
        width = nodes[node, LEAST + columns + c] - nodes[node, LEAST + c]
        if width > widest:
            widest, axis = width, c
    first = (-1 - nodes[node, CHILD]) * SLOTS
    least, most = rows[first, axis], rows[first, axis]
    at = least
    for i in range(first, first + SLOTS):
        value = rows[i, axis]
        least, most = min(least, value), max(most, value)
        less, no_more = 0, 0
        for k in range(first, first + SLOTS):
            less += rows[k, axis] < value
            no_more += rows[k, axis] <= value
        if less < SLOTS // 2 <= no_more:
            at = value  # the last one of the lower half, were they sorted
    if at == most:
        at = (least + most) // 2
    left, other = counts[NODES], counts[LEAVES]
    counts[NODES] += 2
    counts[LEAVES] += 1
    depth = nodes[node, DEPTH] + 1
    counts[DEEPEST] = max(counts[DEEPEST], depth)
    for child in range(left, left + 2):
        nodes[child, CHILD] = nodes[node, CHILD] if child == left else -1 - other
        nodes[child, HELD], nodes[child, SPLIT], nodes[child, DEPTH] = 0, 0, depth
        for c in range(columns):
            nodes[child, LEAST + c], nodes[child, LEAST + columns + c] = 2**62, -1
    for i in range(first, first + SLOTS):
        child = left + (1 if rows[i, axis] > at else 0)
        to = (-1 - nodes[child, CHILD]) * SLOTS + nodes[child, HELD]
        for c in range(rows.shape[1]):
            rows[to, c] = rows[i, c]
        for c in range(columns):
            nodes[child, LEAST + c] = min(nodes[child, LEAST + c], rows[i, c])
            nodes[child, LEAST + columns + c] = max(nodes[child, LEAST + columns + c], rows[i, c])
        nodes[child, HELD] += 1
    nodes[node, CHILD], nodes[node, AXIS], nodes[node, SPLIT] = left, axis, at


@compiled
def insert_all(points: IntArray, first: int, last: int, columns: int, tree: ArchiveTree) -> tuple[int, bool]:
    """Insert the points ``first`` to ``last`` until there may be no more room; the next one, and whether it is so."""
    for i in range(first, last):
        if insert(points[i], columns, tree):
            return i + 1, True
    return last, False


@compiled
def unbeaten(points: IntArray, first: int, last: int, columns: int, tree: ArchiveTree, kept: BoolArray) -> None:
    """Say in ``kept`` which of the points ``first`` to ``last`` of the tree no unequal one beats."""
    for i in range(first, last):
        kept[i] = not beaten(points[i], columns, tree, True)
