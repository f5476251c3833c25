"""Points in a tree of boxes, asked whether one of them is at least as good as a given one in every objective.

Compiled functions on plain arrays, made by :func:`new_tree`:

``counts`` : nodes and leaves in use, and points inserted.
``nodes`` : per node its two children, the objective and the value that tell them apart, and its depth; of a leaf, -1,
    its block of points, how many there are in it, 0, and its depth.
``boxes`` : the least and the largest value of a node's points in each objective.
``blocks`` : the points of each leaf, each followed by a mark of its own (the selection as bits).

A point that another one beats may stay: what it answers, the better one answers as well.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from transom.compiling import compiled
from transom.models._arrays import IntArray

Tree: TypeAlias = tuple[IntArray, IntArray, IntArray, IntArray]

NODES, LEAVES, POINTS = range(3)
LEFT, RIGHT, AXIS, SPLIT, DEPTH = range(5)
BLOCK, COUNT = RIGHT, AXIS  # of a leaf, whose LEFT is -1
SLOTS = 16
DEEPEST = 96


def new_tree(leaves: int, objectives: int) -> Tree:
    """An empty tree with room for so many leaves."""
    nodes = np.full((2 * leaves, 5), -1, np.int64)
    nodes[0] = (-1, 0, 0, 0, 0)
    boxes = np.empty((2 * leaves, 2, objectives), np.int64)
    boxes[0, 0], boxes[0, 1] = 2**62, -1
    return np.array([1, 1, 0]), nodes, boxes, np.empty((leaves, SLOTS, objectives + 1), np.int64)


def larger(tree: Tree) -> Tree:
    """The same tree with room for twice as many leaves."""
    counts, nodes, boxes, blocks = tree
    return counts, *(np.concatenate((part, np.empty_like(part))) for part in (nodes, boxes, blocks))  # type: ignore[return-value]


def tree_bytes(tree: Tree) -> int:
    """What a tree takes of the memory."""
    return sum(part.nbytes for part in tree)


def points_of(tree: Tree) -> IntArray:
    """The points with their marks, shape ``(points, objectives + 1)``."""
    counts, nodes, _, blocks = tree
    leaves = nodes[: counts[NODES]]
    leaves = leaves[leaves[:, LEFT] < 0]
    held = np.zeros((int(counts[LEAVES]), SLOTS), bool)
    held[leaves[:, BLOCK]] = np.arange(SLOTS) < leaves[:, COUNT, None]
    points: IntArray = blocks[: counts[LEAVES]][held]
    return points


@compiled
def covered(nodes, boxes, blocks, stack, point, other):  # type: ignore[no-untyped-def]
    """Whether a point of the tree is at least as good as ``point``; with ``other`` one that is not equal to it.

    ``stack`` is room for node numbers, ``DEEPEST + 2`` at least.
    """
    size = point.size
    stack[0] = 0
    top = 1
    while top:
        top -= 1
        node = stack[top]
        above = True
        for k in range(size):
            if boxes[node, 1, k] < point[k]:
                above = False
                break
        if not above:
            continue
        if nodes[node, LEFT] >= 0:
            below = True
            same = other
            for k in range(size):
                if boxes[node, 0, k] < point[k]:
                    below = False
                    break
                if boxes[node, 0, k] > point[k]:
                    same = False
            if below and not same:
                return True
            # The better half is looked at first.
            stack[top] = nodes[node, LEFT]
            stack[top + 1] = nodes[node, RIGHT]
            top += 2
            continue
        block = nodes[node, BLOCK]
        for slot in range(nodes[node, COUNT]):
            good = True
            same = other
            for k in range(size):
                if blocks[block, slot, k] < point[k]:
                    good = False
                    break
                if blocks[block, slot, k] > point[k]:
                    same = False
            if good and not same:
                return True
    return False


@compiled
def insert(counts, nodes, boxes, blocks, point, mark):  # type: ignore[no-untyped-def]
    """Put a point that is not in it yet into the tree; False where it has no room or a leaf lies too deep."""
    size = point.size
    node = 0
    while nodes[node, LEFT] >= 0:
        node = nodes[node, RIGHT] if point[nodes[node, AXIS]] > nodes[node, SPLIT] else nodes[node, LEFT]
    if nodes[node, COUNT] == SLOTS:
        if nodes[node, DEPTH] >= DEEPEST or counts[LEAVES] == len(blocks):
            return False
        _split(counts, nodes, boxes, blocks, node, size)
        node = nodes[node, RIGHT] if point[nodes[node, AXIS]] > nodes[node, SPLIT] else nodes[node, LEFT]
    block, slot = nodes[node, BLOCK], nodes[node, COUNT]
    nodes[node, COUNT] += 1
    for k in range(size):
        blocks[block, slot, k] = point[k]
    blocks[block, slot, size] = mark
    counts[POINTS] += 1
    node = 0
    while True:
        for k in range(size):
            boxes[node, 0, k] = min(boxes[node, 0, k], point[k])
            boxes[node, 1, k] = max(boxes[node, 1, k], point[k])
        if nodes[node, LEFT] < 0:
            return True
        node = nodes[node, RIGHT] if point[nodes[node, AXIS]] > nodes[node, SPLIT] else nodes[node, LEFT]


@compiled
def _split(counts, nodes, boxes, blocks, node, size):  # type: ignore[no-untyped-def]
    # At the middle of the objective in which the box is widest: both halves get a point, for all are distinct.
    axis = 0
    for k in range(1, size):
        if boxes[node, 1, k] - boxes[node, 0, k] > boxes[node, 1, axis] - boxes[node, 0, axis]:
            axis = k
    block = nodes[node, BLOCK]
    values = np.sort(blocks[block, :, axis])
    at = values[SLOTS // 2 - 1]
    if at == values[SLOTS - 1]:
        at = (values[0] + values[SLOTS - 1]) // 2
    left = counts[NODES]
    right = left + 1
    other = counts[LEAVES]
    counts[NODES] += 2
    counts[LEAVES] += 1
    depth = nodes[node, DEPTH] + 1
    for child, its in ((left, block), (right, other)):
        nodes[child, LEFT], nodes[child, BLOCK], nodes[child, COUNT] = -1, its, 0
        nodes[child, SPLIT], nodes[child, DEPTH] = 0, depth
        for k in range(size):
            boxes[child, 0, k], boxes[child, 1, k] = 2**62, -1
    for slot in range(SLOTS):
        child = right if blocks[block, slot, axis] > at else left
        to, place = nodes[child, BLOCK], nodes[child, COUNT]
        for k in range(size + 1):
            value = blocks[block, slot, k]
            blocks[to, place, k] = value
            if k < size:
                boxes[child, 0, k] = min(boxes[child, 0, k], value)
                boxes[child, 1, k] = max(boxes[child, 1, k], value)
        nodes[child, COUNT] += 1
    nodes[node, LEFT], nodes[node, RIGHT], nodes[node, AXIS], nodes[node, SPLIT] = left, right, axis, at


@compiled
def insert_all(counts, nodes, boxes, blocks, points, first, last):  # type: ignore[no-untyped-def]
    """Insert the points ``first`` to ``last`` with their marks, no two of them equal; how far it came."""
    size = points.shape[1] - 1
    for i in range(first, last):
        if not insert(counts, nodes, boxes, blocks, points[i, :size], points[i, size]):
            return i
    return last


@compiled
def uncovered(nodes, boxes, blocks, stack, points, first, last, kept):  # type: ignore[no-untyped-def]
    """Say in ``kept`` which of the points ``first`` to ``last`` of the tree no other one beats."""
    size = points.shape[1] - 1
    for i in range(first, last):
        kept[i] = not covered(nodes, boxes, blocks, stack, points[i, :size], True)
