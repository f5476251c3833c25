"""Exact dynamic programming over items and capacities, in pseudo-polynomial time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.models.arrays import BitArray, BoolArray, IntArray
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.knapsack.incumbent import first_incumbent
from transom.solvers.knapsack.incumbent import warm_up as warm_up_greedy
from transom.stop import Budget, Stop

_CHUNK = 2_000_000  # cells between two looks at the clock: 1-2 ms


@dataclass(frozen=True, slots=True)
class DynamicProgramming:
    r"""Fill the table of best values per capacity, item by item, and read the choice off it.

    .. math:: f_j(c) = \max\{f_{j-1}(c),\ f_{j-1}(c - w_j) + v_j\}

    Obvious items are decided first and weights are divided by their common divisor. One row of
    :math:`f` is kept, and one bit per item and capacity says what was decided. An iteration is an
    item; out of time, the greedy answer and Dantzig's bound remain.

    Parameters
    ----------
    memory : most memory for the table [MiB], > 0; a larger table is refused.

    Raises
    ------
    SpecError : ``memory`` is not positive.

    References
    ----------
    Kellerer, Pferschy, Pisinger, Knapsack Problems (2004), section 2.3 (DP-2).
    """

    name: ClassVar[str] = "dp"
    solves: ClassVar[type] = Knapsack

    memory: int = 512

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"dp: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Knapsack, /) -> str | None:
        """None if the table fits into ``memory``."""
        reduced = reduce(problem)
        needed = table_bytes(reduced)
        if needed <= self.memory * 2**20:
            return None
        return (
            f"the table of {len(reduced.items)} items x {reduced.capacity + 1} capacities needs "
            f"{-(-needed // 2**20)} MiB, more than memory={self.memory}"
        )

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        warm_up_greedy()
        problem = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)  # greedy misses the optimum
        DynamicProgramming()(problem, Stop().start(problem), np.random.default_rng(0))

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        if budget.done():
            return
        reduced = reduce(problem)
        best = np.zeros(reduced.capacity + 1, np.int64)
        decisions = np.zeros((len(reduced.items), (reduced.capacity + 64) // 64), np.uint64)
        # Capacities below what all later items need together are never read again.
        later = np.cumsum(reduced.weights[::-1])[::-1] - reduced.weights
        low = np.maximum(reduced.weights, reduced.capacity - later)
        items = Items(reduced.values, reduced.weights, low)
        row, column = 0, reduced.capacity
        while row < len(reduced.items):
            limit = budget.iterations_left()
            last = len(reduced.items) if limit is None else min(len(reduced.items), row + limit)
            before = row
            row, column = fill_table(best, decisions, items, row, column, last, _CHUNK)
            budget.spend(row - before)
            if row < len(reduced.items) and budget.done():
                return
        budget.found(reduced.solution(read_table(decisions, reduced.weights, reduced.capacity)))
        budget.prove(reduced.value_of(best[-1]))


def table_bytes(reduced: Reduced) -> int:
    """Memory for the row of values and the table of decisions [bytes]."""
    return bytes_for(len(reduced.items), reduced.capacity)


def bytes_for(items: int, capacity: int) -> int:
    """The same for so many items and a capacity [bytes]."""
    return 8 * (capacity + 1) + 8 * items * ((capacity + 64) // 64)


class Items(NamedTuple):
    """Values and weights, and the least capacity of each item that is read later, shape ``(items,)`` each."""

    values: IntArray
    weights: IntArray
    low: IntArray


@compiled
def fill_table(
    best: IntArray, decisions: BitArray, items: Items, row: int, column: int, last: int, cells: int
) -> tuple[int, int]:
    # Goes on at (row, column), downwards in capacity so that `best` can be updated in place, and
    # returns where it stopped: before row `last`, or after about `cells` cells. A word of 64 decisions that reads
    # no capacity that it writes is left to vector instructions, which it is not where `best` comes in a record.
    values, weights, low = items
    capacity = len(best) - 1
    while row < last and cells > 0:
        value, weight, decided = values[row], weights[row], decisions[row]
        end = max(low[row], column + 1 - cells)
        top = column
        while top >= end:
            word = top >> 6
            bottom = max(end, word << 6)
            bits = np.uint64(0)
            if top - bottom == 63 and weight >= 64:
                target, source = best[bottom : bottom + 64], best[bottom - weight : bottom - weight + 64]
                for bit in range(64):
                    taken, left = source[bit] + value, target[bit]
                    target[bit] = max(left, taken)
                    bits |= np.uint64(taken > left) << np.uint64(bit)
            else:
                for c in range(top, bottom - 1, -1):
                    taken = best[c - weight] + value
                    if taken > best[c]:
                        best[c] = taken
                        bits |= np.uint64(1) << np.uint64(c & 63)
            decided[word] |= bits
            top = bottom - 1
        cells -= max(0, column + 1 - end)
        if end > low[row]:
            return row, end - 1
        row, column = row + 1, capacity
    return row, column


@compiled
def read_table(decisions: BitArray, weights: IntArray, capacity: int) -> BoolArray:
    chosen = np.zeros(len(weights), np.bool_)
    for item in range(len(weights) - 1, -1, -1):
        if decisions[item, capacity >> 6] >> np.uint64(capacity & 63) & np.uint64(1):
            chosen[item] = True
            capacity -= weights[item]
    return chosen
