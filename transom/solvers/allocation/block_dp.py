r"""Compiled label setting over (entries skipped, blocks placed per size), for the line and for the circle.

A state is how many blocks of each size have been placed, a number in mixed radix. Row s of a table
holds, for k = 0, 1, ..., the least cost of placing the blocks of s on the first
:math:`k + m_s` entries, with :math:`m_s` entries in the blocks:

.. math:: T_s(k) = \min\Bigl\{T_s(k-1),\ \min_r T_{s - e_r}(k) + c_r(k + m_s - r)\Bigr\}

Counted by what is skipped, all rows that an entry depends on are read at the same k: the inner
loops run along rows without any offset, and k never exceeds what may be skipped in total.

On the circle at most one block wraps. Each (size, split) of it leaves a line problem on what lies
between, and costs at least its own cost plus the optimum of the other blocks on the line with only
one of its two ends taken: two more rows of tables that start at either end give all these bounds.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import stable_order, sum_of
from transom.models.arrays import FloatArray, IntArray


class Blocks(NamedTuple):
    """What is packed, as in :class:`~transom.reductions.packing.Packing`."""

    costs: FloatArray
    sizes: IntArray
    counts: IntArray


class State(NamedTuple):
    """Where a search stands, with the tables from either end (one without wrap-around) and between a block's ends."""

    at: IntArray  # phase, row of its table, pair of size and split, rows in all
    best: FloatArray  # least cost so far, bound on what is still open
    rows: IntArray  # of the best blocks
    starts: IntArray
    tables: FloatArray
    between: FloatArray


# Fields of `State.at`.
PHASE, STATE, SPLIT, ROWS, FIELDS = 0, 1, 2, 3, 4
# Phases: the table from the left, the one from the right, a table between the ends of a block that wraps.
LEFT, RIGHT, BETWEEN, FINISHED = 0, 1, 2, 3


@compiled
def begin(sizes: IntArray, counts: IntArray, length: int, wrap: bool) -> State:
    """The beginning of a search of a packing that fits; sizes ascend."""
    states, slack, blocks = 1, length, 0
    for r in range(len(sizes)):
        states *= counts[r] + 1
        slack -= sizes[r] * counts[r]
        blocks += counts[r]
    best = np.empty(2)
    best[0], best[1] = np.inf, -np.inf
    tables = np.empty((2 if wrap else 1, states, slack + sizes[-1] if wrap else slack + 1))
    between = np.empty((states if wrap else 0, slack + 1))
    rows, starts = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
    return State(np.zeros(FIELDS, np.int64), best, rows, starts, tables, between)


@compiled
def fill(
    table: FloatArray, blocks: Blocks, shift: int, length: int, without: int, state: int, work: int
) -> tuple[int, int]:
    """Fill rows from ``state`` on, until all are filled or about ``work`` steps are done.

    Costs are read ``shift`` entries further on; ``length`` entries count, blocks must end within.
    One block of size ``without`` fewer is placed (-1: all). Returns the next row and the work left.
    """
    costs, sizes, counts = blocks
    states, width = table.shape
    kinds = len(sizes)
    digits = np.zeros(kinds + 1, np.int64)
    used, rest = 0, state
    for r in range(kinds):
        digits[r] = rest % (counts[r] + 1)
        rest //= counts[r] + 1
        used += digits[r] * sizes[r]
    while state < states and work > 0:
        last = min(width - 1, length - used)
        row = table[state]
        work -= 8
        if without < 0 or digits[without] < counts[without]:
            row[:] = 0.0 if state == 0 else np.inf
            stride = 1
            for r in range(kinds):
                if digits[r] > 0 and last >= 0:
                    at = shift + used - sizes[r]
                    source, cost = table[state - stride][: last + 1], costs[r][at : at + last + 1]
                    for k in range(last + 1):
                        value = source[k] + cost[k]
                        if value < row[k]:
                            row[k] = value
                    work -= last + 1
                stride *= counts[r] + 1
            for k in range(1, last + 1):
                if row[k - 1] < row[k]:
                    row[k] = row[k - 1]
            work -= last + 1
        state += 1
        r = 0
        while r < kinds and digits[r] == counts[r]:
            used -= digits[r] * sizes[r]
            digits[r] = 0
            r += 1
        digits[r] += 1
        if r < kinds:
            used += sizes[r]
    return state, work


@compiled
def trace(table: FloatArray, blocks: Blocks, shift: int, state: int, k: int, rows: IntArray, starts: IntArray) -> None:
    """Read the blocks of ``table[state, k]`` into rows and starts."""
    costs, sizes, counts = blocks
    found = 0
    digits = np.zeros(len(sizes), np.int64)
    used, rest = 0, state
    for r in range(len(sizes)):
        digits[r] = rest % (counts[r] + 1)
        rest //= counts[r] + 1
        used += digits[r] * sizes[r]
    while used > 0:
        while k > 0 and table[state, k - 1] == table[state, k]:
            k -= 1
        stride = 1
        for r in range(len(sizes)):
            if digits[r] > 0:
                start = shift + k + used - sizes[r]
                if table[state - stride, k] + costs[r, start] == table[state, k]:
                    rows[found], starts[found] = r, start
                    found += 1
                    state -= stride
                    used -= sizes[r]
                    digits[r] -= 1
                    break
            stride *= counts[r] + 1


@compiled
def mirrored(blocks: Blocks) -> Blocks:
    """The blocks that lie within the line, read from the right."""
    costs, sizes, counts = blocks
    kinds, length = costs.shape
    mirror = np.empty((kinds, length))
    for r in range(kinds):
        for start in range(length):
            mirror[r, start] = costs[r, length - sizes[r] - start] if start + sizes[r] <= length else np.inf
    return Blocks(mirror, sizes, counts)


@compiled
def split_bounds(left: FloatArray, right: FloatArray, blocks: Blocks, slack: int, best: float) -> FloatArray:
    """Lower bounds ``(splits, 3)`` of those wrapping blocks that may beat ``best``: bound, size row, entries at
    the head; the best last."""
    costs, sizes, counts = blocks
    length = costs.shape[1]
    bounds = np.empty((max(0, sum_of(sizes) - len(sizes)), 3))
    kept, stride, full = 0, 1, len(left) - 1
    for r in range(len(sizes)):
        for head in range(1, sizes[r]):
            tail = sizes[r] - head
            rest = full - stride
            bound = costs[r, length - tail] + max(left[rest, slack + head], right[rest, slack + tail])
            if bound < best:
                bounds[kept, 0], bounds[kept, 1], bounds[kept, 2] = bound, r, head
                kept += 1
        stride *= counts[r] + 1
    falling = np.empty(kept)
    for i in range(kept):
        falling[i] = -bounds[i, 0]
    ranked = stable_order(falling)
    found = np.empty((kept, 3))
    for i in range(kept):
        for k in range(3):
            found[i, k] = bounds[ranked[i], k]
    return found


@compiled
def advance(state: State, bounds: FloatArray, blocks: Blocks, mirror: Blocks, work: int) -> FloatArray:
    """Go on with the search for about ``work`` steps; ``mirror`` of the blocks is read where blocks wrap.

    Returns the bounds of the wrapping blocks that are left, best last.
    """
    at, best, rows, starts, tables, between = state
    costs, sizes, counts = blocks
    states, length = tables.shape[1], costs.shape[1]
    slack = length
    for k in range(len(sizes)):
        slack -= sizes[k] * counts[k]
    while work > 0 and at[PHASE] != FINISHED:
        before = at[STATE]
        table, read = tables[0], blocks
        shift, end, without = 0, length, -1
        if at[PHASE] == RIGHT:
            table, read = tables[1], mirror
        elif at[PHASE] == BETWEEN:
            without, shift = int(bounds[at[SPLIT], 1]), int(bounds[at[SPLIT], 2])
            table, end = between, length - sizes[without]
        at[STATE], work = fill(table, read, shift, end, without, before, work)
        at[ROWS] += at[STATE] - before
        if at[STATE] < states:
            break
        at[STATE] = 0
        if at[PHASE] == RIGHT:
            bounds = split_bounds(tables[0], tables[1], blocks, slack, best[0])
            at[PHASE], at[SPLIT] = BETWEEN, len(bounds)
        else:
            rest, placed, value = states - 1, 0, 0.0
            if without >= 0:
                stride, start = 1, length - sizes[without] + shift
                for smaller in range(without):
                    stride *= counts[smaller] + 1
                rest, placed, value = rest - stride, 1, costs[without, start]
            value += table[rest, slack]
            if value < best[0]:
                best[0] = value
                if without >= 0:
                    rows[0], starts[0] = without, start
                trace(table, blocks, shift, rest, slack, rows[placed:], starts[placed:])
            if at[PHASE] == LEFT:
                at[PHASE] = RIGHT if len(tables) > 1 else FINISHED
        if at[PHASE] == BETWEEN:
            at[SPLIT] -= 1
            if at[SPLIT] < 0 or bounds[at[SPLIT], 0] >= best[0]:
                at[PHASE] = FINISHED
            else:
                best[1] = bounds[at[SPLIT], 0]
    return bounds
