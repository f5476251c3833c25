"""Large moves on a packing of the line: a few runs of neighbouring blocks are packed anew, exactly."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.solvers.allocation.block_dp import Blocks, fill, trace

_CELLS = 2_000_000  # the largest table of a move


class _Packed(NamedTuple):
    """The arguments of :class:`Moves`, blocks by start."""

    costs: FloatArray
    sizes: IntArray
    rows: IntArray
    starts: IntArray
    low: int
    high: int
    prices: FloatArray
    back: FloatArray


class Moves:
    """A packing that only gets better.

    Parameters
    ----------
    costs, sizes : as in :class:`Packing`; blocks that wrap are not looked at.
    rows, starts : the blocks, shape ``(blocks,)``.
    low, high : blocks lie between these entries.
    prices, back : of the sizes, and distance of each entry to the end: they show where the packing loses.
    """

    def __init__(
        self,
        costs: FloatArray,
        sizes: IntArray,
        rows: IntArray,
        starts: IntArray,
        low: int,
        high: int,
        prices: FloatArray,
        back: FloatArray,
    ) -> None:
        order = np.argsort(starts)
        self.rows, self.starts = rows[order].copy(), starts[order].copy()
        self._packed = _Packed(costs, sizes, self.rows, self.starts, low, high, prices, back)

    @property
    def cost(self) -> float:
        """The total cost."""
        return float(self._packed.costs[self.rows, self.starts].sum())

    def go(self, moves: int, blocks: int, work: int, rng: np.random.Generator) -> int:
        """Try so many moves of so many blocks, or as many as take about ``work`` steps; returns how many."""
        return int(_go(self._packed, rng.random((moves, 6)), blocks, work))


@compiled
def _go(packed: _Packed, draws: FloatArray, many: int, work: int) -> int:
    costs, _, rows, starts, _, high, prices, back = packed
    blocks = len(rows)
    taken, lost = np.empty(blocks, np.bool_), np.empty(blocks)
    for move in range(len(draws)):
        if work <= 0:
            return move
        # Half of the moves begin where the packing loses against the prices: on blocks or in the gaps behind them.
        total = 0.0
        for b in range(blocks):
            after = high if b == blocks - 1 else starts[b + 1]
            lost[b] = max(0.0, costs[rows[b], starts[b]] - prices[rows[b]] + back[after] - back[starts[b]])
            total += lost[b]
        runs = 1 + int(draws[move, 0] * 4.0)
        each = max(1, many // runs)
        taken[:] = False
        for run in range(runs):
            begin = int(draws[move, 2 + run] * max(1, blocks - each + 1))
            if run == 0 and draws[move, 1] < 0.5 and total > 0.0:
                share = draws[move, 2] * total
                begin = 0
                while begin < blocks - 1 and share >= lost[begin]:
                    share -= lost[begin]
                    begin += 1
                begin = max(0, begin - int(draws[move, 1] * 2.0 * each))
            taken[begin : begin + each] = True
        work -= 500 + _repack(packed, taken)
    return len(draws)


@compiled
def _repack(packed: _Packed, taken: BoolArray) -> int:
    """Pack the taken blocks anew into the room that they and the gaps beside them leave; returns the work."""
    costs, sizes, rows, starts, low, high, _, _ = packed
    blocks = len(rows)
    # The room: entries of each run of taken blocks, one run behind the other.
    room, many, used = 0, 0, 0
    for b in range(blocks):
        if taken[b]:
            if b == 0 or not taken[b - 1]:
                room -= low if b == 0 else starts[b - 1] + sizes[rows[b - 1]]
            if b == blocks - 1 or not taken[b + 1]:
                room += high if b == blocks - 1 else starts[b + 1]
            many += 1
            used += sizes[rows[b]]
    wanted = np.zeros(len(sizes), np.int64)
    for b in range(blocks):
        if taken[b]:
            wanted[rows[b]] += 1
    kinds = np.flatnonzero(wanted)
    counts = wanted[kinds]
    states = 1
    for count in counts:
        states *= count + 1
    slack = room - used
    if states * (slack + 1) > _CELLS:
        return 0
    entry = np.empty(room, np.int64)  # of Q, for each entry of the room
    last = np.empty(room, np.int64)  # where its run ends
    found = 0
    for b in range(blocks):
        if taken[b] and (b == 0 or not taken[b - 1]):
            end = b
            while end + 1 < blocks and taken[end + 1]:
                end += 1
            begins = low if b == 0 else starts[b - 1] + sizes[rows[b - 1]]
            ends = high if end == blocks - 1 else starts[end + 1]
            for i in range(begins, ends):
                entry[found], last[found] = i, ends
                found += 1
    part = np.full((len(kinds), room), np.inf)
    for k in range(len(kinds)):
        for x in range(room):
            if entry[x] + sizes[kinds[k]] <= last[x]:
                part[k, x] = costs[kinds[k], entry[x]]
    table = np.empty((states, slack + 1))
    part_blocks = Blocks(part, sizes[kinds], counts)
    fill(table, part_blocks, 0, room, -1, 0, 2**62)
    new_rows, new_starts = np.empty(many, np.int64), np.empty(many, np.int64)
    trace(table, part_blocks, 0, states - 1, slack, new_rows, new_starts)
    k = 0
    for b in range(blocks):
        if taken[b]:
            rows[b], starts[b] = kinds[new_rows[k]], entry[new_starts[k]]
            k += 1
    for b in range(1, blocks):  # by start again: few are out of order
        row, start = rows[b], starts[b]
        k = b
        while k > 0 and starts[k - 1] > start:
            rows[k], starts[k] = rows[k - 1], starts[k - 1]
            k -= 1
        rows[k], starts[k] = row, start
    return int(states * (slack + 1) * len(kinds) + room * len(kinds))
