"""The kernel of simulated annealing on blocks of Q itself: removed jobs go into the gaps between those that stay.

A step looks at the gaps only, not at all of Q: on a loaded machine few entries are free.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.heuristics.allocation.annealing import Options, Schedule, draw, metropolis
from transom.models.arrays import BoolArray, FloatArray, IntArray


class Line(NamedTuple):
    """Where a search stands: first entry of each job's block, the best of these, and the state; changed in place."""

    starts: IntArray
    best: IntArray
    state: FloatArray


@compiled
def anneal_blocks(
    rng: np.random.Generator,
    line: Line,
    table: FloatArray,
    rows: IntArray,
    sizes: IntArray,
    options: Options,
    schedule: Schedule,
) -> int:
    """Take steps in which jobs go on consecutive entries of Q itself.

    Parameters
    ----------
    line : where the search stands.
    table : cost of each block by row and first entry, infinite where there is none.
    rows : row of each job.

    The others are those of :func:`~transom.heuristics.allocation.left_annealing.anneal_left`; so is what is returned.
    A step after which a job finds no place is not taken.
    """
    starts, best, state = line
    n, jobs = table.shape[1], len(sizes)
    slots = np.empty(n, np.int64)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    order, old_order, old = np.empty(jobs, np.int64), np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    for job in range(jobs):
        _insert(order, job, starts, job)
    value, better_at = _cost(table, rows, starts), 0
    for step in range(schedule.first, schedule.end):
        moved = draw(rng, out, removed, sizes, options)
        put(old, starts)
        put(old_order, order)
        placed = _without(order, removed)
        for k in range(moved):
            removed[out[k]] = False
        while placed < jobs:
            job = out[placed - (jobs - moved)]
            if options.cheapest and options.first == 0:
                start = _cheapest_start(order, placed, starts, sizes, job, table[rows[job]], options.wrap)
                if start < 0:
                    break
                rng.random()  # one for each job that comes back, however that is chosen
            else:
                found = _free_starts(order, placed, starts, sizes, job, table[rows[job]], options, slots)
                if found == 0:
                    break
                start = slots[int(rng.random() * found)]
                if options.cheapest:
                    start = slots[0]
                    for k in range(1, found):
                        if table[rows[job], slots[k]] < table[rows[job], start]:
                            start = slots[k]
            starts[job] = start
            _insert(order, placed, starts, job)
            placed += 1
        after = _cost(table, rows, starts) if placed == jobs else np.inf
        accepted = placed == jobs
        if accepted and not options.walk:
            accepted = metropolis(rng, after - value, schedule.temperatures, step, schedule.steps)
        if not accepted:
            put(starts, old)
            put(order, old_order)
            continue
        value = after
        if after < state[0] - 1e-12 * abs(state[0]):
            put(best, starts)
            state[0] = after
            better_at = step - schedule.first + 1
    return better_at


@no_refcount
def _cost(table: FloatArray, rows: IntArray, starts: IntArray) -> float:
    """What all blocks cost, added up in the order of the jobs."""
    value = 0.0
    for job in range(len(rows)):
        value += table[rows[job], starts[job]]
    return value


@no_refcount
def _insert(order: IntArray, count: int, starts: IntArray, job: int) -> None:
    """Put a job among the first ``count`` ones, which ascend by their starts."""
    place = count
    while place > 0 and starts[order[place - 1]] > starts[job]:
        order[place] = order[place - 1]
        place -= 1
    order[place] = job


@no_refcount
def _without(order: IntArray, removed: BoolArray) -> int:
    """Move the jobs that stay to the front, in their order, and return how many they are."""
    count = 0
    for k in range(len(order)):
        if not removed[order[k]]:
            order[count] = order[k]
            count += 1
    return count


@no_refcount
def _cheapest_start(
    order: IntArray, placed: int, starts: IntArray, sizes: IntArray, job: int, costs: FloatArray, wrap: bool
) -> int:
    """Where a job costs least between the blocks of the first ``placed`` ones, the first of equals, or -1."""
    n, size = len(costs), sizes[job]
    begin, head = 0, n  # as in _free_starts
    if placed > 0:
        last = order[placed - 1]
        begin = max(0, starts[last] + sizes[last] - n)
        head = starts[order[0]] - begin
    best, least = -1, np.inf
    for k in range(placed):
        for start in range(begin, starts[order[k]] - size + 1):
            if costs[start] < least:
                best, least = start, costs[start]
        begin = starts[order[k]] + sizes[order[k]]
    for start in range(begin, min(n, n + (head if wrap else 0) - size + 1)):
        if costs[start] < least:
            best, least = start, costs[start]
    return best


@no_refcount
def _free_starts(
    order: IntArray,
    placed: int,
    starts: IntArray,
    sizes: IntArray,
    job: int,
    costs: FloatArray,
    options: Options,
    slots: IntArray,
) -> int:
    """Write where a block of a job can begin between the blocks of the first ``placed`` ones, and return how many.

    With ``first`` only among so many free entries, from the lowest on.
    """
    n, size = len(costs), sizes[job]
    limit = options.first if options.first > 0 else n
    begin, head = 0, n  # where the first gap begins, and how many entries before the first block are free
    if placed > 0:
        last = order[placed - 1]
        begin = max(0, starts[last] + sizes[last] - n)
        head = starts[order[0]] - begin
    found, seen = 0, 0
    for k in range(placed + 1):
        end = starts[order[k]] if k < placed else n
        more = head if k == placed and options.wrap else 0  # the gap at the end goes on at the head of Q
        for start in range(begin, min(end, end + more - size + 1, begin + limit - seen)):
            if costs[start] < np.inf:
                slots[found] = start
                found += 1
        seen += max(0, end - begin)
        if seen >= limit or k == placed:
            break
        begin = end + sizes[order[k]]
    return found
