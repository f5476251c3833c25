"""Compiled search for the best pairs of two lists of choices, one for each half of the jobs.

Both lists stand in k-d trees. A pair of nodes is left as soon as none of its pairs fits, or the best that they could
be worth together is no better than a point that is known: of all pairs, only those near the front are looked at.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.solvers.selection.front_archive import ArchiveTree, beaten, insert

DEPTH = 256  # more pairs than ever wait on the stack: it grows by one with every level of either tree
# Why the search returned.
WORKED, FULL, FINISHED = 0, 1, 2


class Side(NamedTuple):
    """One list of choices in a k-d tree (:class:`~transom.solvers.selection.pareto_tree.Tree`)."""

    rows: IntArray
    nodes: IntArray
    words: IntArray
    """The jobs of each row, shape ``(rows, words)``."""


class OpenPairs(NamedTuple):
    """Pairs of nodes that are still to be looked at, the first ``top[0]`` rows of the stack."""

    stack: IntArray
    top: IntArray


@compiled
def join(
    one: Side,
    other: Side,
    room: IntArray,
    most: IntArray,
    least: IntArray,
    known: ArchiveTree,
    pairs: OpenPairs,
    work: int,
) -> int:
    """Put the pairs that fit and are worth something new into an archive.

    ``most`` is an upper bound of each objective; pairs worth less than ``least`` in one of them are left out.
    """
    a_rows, a_nodes, a_words = one
    b_rows, b_nodes, b_words = other
    stack, top = pairs
    terms, columns = len(most), a_rows.shape[1]
    a_inner, b_inner = len(a_nodes) // 2, len(b_nodes) // 2
    point = np.empty(terms + a_words.shape[1], np.int64)
    while top[0] and work > 0:
        top[0] -= 1
        a, b = stack[top[0], 0], stack[top[0], 1]
        work -= 1
        fine = True
        for c in range(terms, columns):
            if a_nodes[a, c] + b_nodes[b, c] > room[c - terms]:
                fine = False
                break
        if not fine:
            continue
        for c in range(terms):
            point[c] = min(a_nodes[a, columns + c] + b_nodes[b, columns + c], most[c])
            fine &= point[c] >= least[c]
        if not fine or beaten(point, terms, known):
            continue
        if a >= a_inner and b >= b_inner:
            full = False
            for i in range(a_nodes[a, 2 * columns], a_nodes[a, 2 * columns + 1]):
                # First the row of one list with the node of the other.
                work -= 1
                fine = not full
                for c in range(terms, columns):
                    if a_rows[i, c] + b_nodes[b, c] > room[c - terms]:
                        fine = False
                        break
                if not fine:
                    continue
                for c in range(terms):
                    point[c] = min(a_rows[i, c] + b_nodes[b, columns + c], most[c])
                    fine &= point[c] >= least[c]
                if not fine or beaten(point, terms, known):
                    continue
                for j in range(b_nodes[b, 2 * columns], b_nodes[b, 2 * columns + 1]):
                    fine = not full
                    for c in range(terms, columns):
                        if a_rows[i, c] + b_rows[j, c] > room[c - terms]:
                            fine = False
                            break
                    if not fine:
                        continue
                    work -= 1
                    for c in range(terms):
                        point[c] = a_rows[i, c] + b_rows[j, c]
                        fine &= point[c] >= least[c]
                    if not fine or beaten(point, terms, known):
                        continue
                    for w in range(a_words.shape[1]):
                        point[terms + w] = a_words[i, w] | b_words[j, w]
                    full = insert(point, terms, known)
            if full:
                # Once more when there is room: what has been found of this pair is known then.
                top[0] += 1
                return FULL
            continue
        split_a = b >= b_inner or (
            a < a_inner
            and a_nodes[a, 2 * columns + 1] - a_nodes[a, 2 * columns]
            >= b_nodes[b, 2 * columns + 1] - b_nodes[b, 2 * columns]
        )
        # The half that promises more goes on top.
        parent_nodes, parent = (a_nodes, 2 * a + 1) if split_a else (b_nodes, 2 * b + 1)
        lead = 0.0
        for c in range(terms):
            lead += (parent_nodes[parent, columns + c] - parent_nodes[parent + 1, columns + c]) / (most[c] + 1.0)
        for turn in range(2):
            child = parent + (1 - turn if lead > 0 else turn)
            stack[top[0], 0] = child if split_a else a
            stack[top[0], 1] = b if split_a else child
            top[0] += 1
    return FINISHED if top[0] == 0 else WORKED
