"""Compiled inner loops of the search by residues (:mod:`transom.solvers.knapsack.residues`).

Value and weight of a state are relative to the break solution.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.knapsack.states import BITS, FILED, FINISHED, FULL, LINK, PAUSED, VALUE, WEIGHT, Numbers

_SAFE = 1e-3  # far more than all rounding errors, of values that are whole numbers


@compiled
def expand(
    lists: IntArray,
    at: Numbers,
    bits: IntArray,
    steps: IntArray,
    costs: FloatArray,
    tables: FloatArray,
    numbers: FloatArray,
    work: int,
) -> int:
    """Take items in until something has to be done outside.

    Parameters
    ----------
    lists, at : the states; changed in place.
    bits : which item each bit stands for, shape ``(64,)``; changed in place.
    steps : what changing the side of an item adds to value and weight, shape ``(m, 2)``.
    costs : what a solution costs at least that has it on the other side, rising, shape ``(m,)``.
    tables : of :func:`slopes`, for the items that are left.
    numbers : free capacity, weight of the break item and its value per weight.
    work : after about how many states to return.
    """
    room, modulus, slope = int(numbers[0]), int(numbers[1]), numbers[2]
    while True:
        goal = at.best + 1 - _SAFE
        if at.next == len(steps) or at.count == 0 or slope * room - costs[at.next] < goal:
            return FINISHED
        if work <= 0:
            return PAUSED
        if at.used == 64:
            return FILED
        if 2 * at.count > lists.shape[2]:
            return FULL
        item = at.next
        bits[at.used] = item
        source, target = lists[at.turn], lists[1 - at.turn]
        count, value, weight = at.count, steps[item, 0], steps[item, 1]
        flag = np.int64(1) << at.used
        i = k = kept = 0
        top = np.int64(-(2**62))
        while i < count or k < count:
            shifted = i == count
            if not shifted and k < count:
                apart = source[WEIGHT, k] + weight - source[WEIGHT, i]
                shifted = apart < 0 or (apart == 0 and source[VALUE, k] + value > source[VALUE, i])
            if shifted:
                v, w = source[VALUE, k] + value, source[WEIGHT, k] + weight
                b, link = source[BITS, k] | flag, source[LINK, k]
                k += 1
            else:
                v, w, b, link = source[VALUE, i], source[WEIGHT, i], source[BITS, i], source[LINK, i]
                i += 1
            if v <= top:
                continue
            top = v
            if w <= room and v > at.best:
                at.best, at.best_bits, at.best_link, at.improved = v, b, link, True
                goal = v + 1 - _SAFE
            bound = v + slope * (room - w)
            if bound < goal or bound - least((room - w) % modulus, modulus, tables) < goal:
                continue
            target[VALUE, kept], target[WEIGHT, kept], target[BITS, kept], target[LINK, kept] = v, w, b, link
            kept += 1
        work -= 2 * count
        at.work += 2 * count
        at.count = kept
        at.turn = 1 - at.turn
        at.used += 1
        at.next += 1


@compiled
def bounds(states: IntArray, count: int, tables: FloatArray, numbers: FloatArray) -> FloatArray:
    """The upper bound of each state, relative to the break solution, shape ``(count,)``."""
    room, modulus, slope = int(numbers[0]), int(numbers[1]), numbers[2]
    found = np.empty(count)
    for i in range(count):
        room_left = room - states[WEIGHT, i]
        found[i] = states[VALUE, i] + slope * room_left - least(room_left % modulus, modulus, tables)
    return found


@compiled
def least(residue: int, modulus: int, tables: FloatArray) -> float:
    """The least that moves cost whose weights add up to a residue."""
    cell = residue * tables.shape[1] // modulus
    return float(min(residue * tables[0, cell], (modulus - residue) * tables[1, cell]))


@compiled
def slopes(residues: IntArray, costs: FloatArray, modulus: int, slope: float, cells: int) -> FloatArray:
    """The least cost per residue of moves with smaller residues, and per what is missing of larger ones, by cells.

    A move in the same cell counts as both.

    Parameters
    ----------
    residues : of the moves, 0 to ``modulus - 1``, shape ``(m,)``.
    costs : of the moves, shape ``(m,)``.
    slope : what a unit of capacity costs that is left over.

    Returns
    -------
    Both, shape ``(2, cells)``.
    """
    tables = np.full((2, cells), np.inf)
    tables[0, 0] = slope
    for j in range(len(residues)):
        residue = residues[j]
        if residue:
            cell = residue * cells // modulus
            tables[0, cell] = min(tables[0, cell], costs[j] / residue)
            tables[1, cell] = min(tables[1, cell], costs[j] / (modulus - residue))
    for cell in range(1, cells):
        tables[0, cell] = min(tables[0, cell], tables[0, cell - 1])
        tables[1, cells - 1 - cell] = min(tables[1, cells - 1 - cell], tables[1, cells - cell])
    return tables
