"""What a window policy under ``dp`` chooses, in one compiled call: values, reduction, greedy, table.

The steps are those of :class:`~transom.solvers.knapsack.dynamic_programming.DynamicProgramming` under a budget that
keeps the greedy answer where it is optimal, so that ties are broken as there. The judge is apart: it adds up values and
weights of the choice from the items alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.knapsack.greedy import complete
from transom.models.arrays import BoolArray, IntArray
from transom.models.efficiency import sort_by_efficiency
from transom.models.objectives import (
    SCALE,
    DrasCapability,
    DrasCapacity,
    Objective,
    SitePriority,
    UsedNodes,
    Waited,
    WaitingNodes,
)
from transom.solvers.knapsack.dynamic_programming import Items, fill_table, read_table

OBJECTIVES: tuple[type, ...] = (UsedNodes, WaitingNodes, Waited, SitePriority, DrasCapability, DrasCapacity)
"""The objectives that :func:`item_values` knows, by position."""

_NODES, _WAIT, _WAITED, _, _CAPABILITY, _ = range(6)

_SAFE = 2.0**61  # sums below do not overflow; where they might, models decide


def weights_of(objective: Objective) -> tuple[float, float]:
    """The weights of an objective: of the waiting time, and of the nodes."""
    if not isinstance(objective, DrasCapability):
        return 0.0, 0.0
    return float(objective.w1), float(objective.w2 + objective.w3)


def scale_of(objective: Objective) -> int:
    """What the values of an objective are multiplied by before they are rounded."""
    return SCALE if isinstance(objective, (DrasCapability, DrasCapacity)) else 1


class JobValue(NamedTuple):
    """What a job is worth: an objective (position in :data:`OBJECTIVES`), its weights, and the nodes of the cluster."""

    kind: int
    w1: float
    w23: float
    num_nodes: int


@compiled
def item_values(
    job_value: JobValue,
    waits: IntArray,
    nodes: IntArray,
    walltimes: IntArray,
    priorities: IntArray,
    longest: int,
    values: IntArray,
) -> bool:
    """Fill ``values`` with what jobs are worth under an objective, scaled and rounded as for a knapsack.

    Parameters
    ----------
    job_value : the objective.
    waits, nodes, walltimes, priorities : of the jobs, times in [s], shape ``(jobs,)``.
    longest : the longest time that anybody in the queue has waited [s].

    Returns
    -------
    Whether the values and their sum are within 61 bits.
    """
    kind, w1, w23, num_nodes = job_value
    total = 0.0
    for i in range(len(values)):
        if kind >= _CAPABILITY:
            if kind == _CAPABILITY:
                value = w1 * waits[i] / longest if longest else 0.0
                value = value + w23 * nodes[i] / num_nodes
            else:
                value = 3600.0 / walltimes[i]
            rounded = np.rint(value * SCALE)
            if value > 0:
                rounded = max(rounded, 1.0)
            if not abs(rounded) < _SAFE:
                return False
            values[i] = np.int64(rounded)
        elif kind == _NODES:
            values[i] = nodes[i]
        elif kind == _WAIT:
            if np.float64(nodes[i]) * np.float64(waits[i] + 1) >= _SAFE:
                return False
            values[i] = nodes[i] * (waits[i] + 1)
        elif kind == _WAITED:
            values[i] = waits[i] + 1
        else:
            values[i] = max(priorities[i], 0)
        total += abs(np.float64(values[i]))
    return total < _SAFE


@compiled
def choose(
    values: IntArray, weights: IntArray, capacity: int, most_cells: int, memory: int
) -> tuple[bool, int, BoolArray, int]:
    """Solve a knapsack as ``dp`` does.

    Parameters
    ----------
    values, weights, capacity : the knapsack; sums within 61 bits.
    most_cells : a larger table is not filled.
    memory : nor is one that takes more [bytes].

    Returns
    -------
    Whether it is solved; the value of the optimum; what is chosen, shape ``(n,)``; the cells of the table.
    """
    chosen = np.zeros(len(values), np.bool_)
    items, v, w, room, value, unit = _reduced(values, weights, capacity, chosen)
    if not len(items):
        return True, value, chosen, 0
    if 8 * (room + 1) + 8 * len(items) * ((room + 64) // 64) > memory:
        return False, 0, chosen, 0  # dp refuses it, whether the greedy answer is optimal or not
    order = sort_by_efficiency(v / w, v, w)
    greedy = np.zeros(len(items), np.bool_)
    complete(greedy, w, room, order)
    best, total = 0, 0
    for i in range(len(items)):
        if v[i] > v[best]:
            best = i
        if greedy[i]:
            total += v[i]
    if v[best] > total:
        greedy[:] = False
        greedy[best] = True
        total = v[best]
    # Dantzig's bound.
    bound, left = 0, room
    for item in order:
        if w[item] > left:
            if np.float64(left) * np.float64(v[item]) >= _SAFE:
                return False, 0, chosen, 0
            bound += left * v[item] // w[item]
            break
        left -= w[item]
        bound += v[item]
    cells = 0
    if bound > total:
        cells = len(items) * (room + 1)
        if cells > most_cells:
            return False, 0, chosen, 0
        best_values = np.zeros(room + 1, np.int64)
        decisions = np.zeros((len(items), (room + 64) // 64), np.uint64)
        low = np.empty(len(items), np.int64)
        later = 0
        for i in range(len(items) - 1, -1, -1):
            low[i] = max(w[i], room - later)
            later += w[i]
        row, column = 0, room
        while row < len(items):
            row, column = fill_table(best_values, decisions, Items(v, w, low), row, column, len(items), 2 * cells + 1)
        if best_values[room] > total:
            total = best_values[room]
            greedy = read_table(decisions, w, room)
    for i in range(len(items)):
        chosen[items[i]] = greedy[i]
    return True, value + unit * total, chosen, cells


@compiled
def _reduced(
    values: IntArray, weights: IntArray, capacity: int, taken: BoolArray
) -> tuple[IntArray, IntArray, IntArray, int, int, int]:
    """:func:`transom.models.reduction.reduce` in compiled code; marks what is taken in any case."""
    open_, total = np.zeros(len(values), np.bool_), 0
    value, count = 0, 0
    for i in range(len(values)):
        if values[i] > 0 and weights[i] <= capacity:
            if weights[i] == 0:
                taken[i] = True
                value += values[i]
            else:
                open_[i] = True
                total += weights[i]
                count += 1
    if total <= capacity:
        count = 0
        for i in range(len(values)):
            if open_[i]:
                taken[i] = True
                value += values[i]
                open_[i] = False
    items = np.empty(count, np.int64)
    v, w = np.empty(count, np.int64), np.empty(count, np.int64)
    found, unit, divisor = 0, 0, 0
    for i in range(len(values)):
        if open_[i]:
            items[found], v[found], w[found] = i, values[i], weights[i]
            unit, divisor = _gcd(v[found], unit), _gcd(w[found], divisor)
            found += 1
    for i in range(count):
        v[i] //= unit
        w[i] //= divisor
    return items, v, w, capacity // max(divisor, 1), value, unit


@compiled
def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return a


@compiled
def stands(values: IntArray, weights: IntArray, capacity: int, chosen: BoolArray, value: int) -> bool:
    """Judge a choice from the items alone: whether it fits and is worth ``value``."""
    weight, total = 0, 0
    for i in range(len(values)):
        if chosen[i]:
            weight += weights[i]
            total += values[i]
    return weight <= capacity and total == value
