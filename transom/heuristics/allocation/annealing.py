"""Kernels of simulated annealing on allocations: jobs are removed and placed again."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put, smallest_at, sum_of
from transom.heuristics.allocation.arrays import (
    AllocationArrays,
    block_cost,
    counting,
    fine_block,
    fine_blocks,
    gather,
    reachable,
    slide,
    take,
)
from transom.models.allocation import placing_order
from transom.models.arrays import BoolArray, FloatArray, IntArray


class Standing(NamedTuple):
    """Where a search stands and the best it met; changed in place.

    Parameters
    ----------
    owner, costs : who holds each entry of Q, and what each job costs.
    best : the owners of the best solution.
    state : see below.
    """

    owner: IntArray
    costs: FloatArray
    best: IntArray
    state: FloatArray


class Line(NamedTuple):
    """The same for blocks on Q itself: first entry of each job's block, the best of these, and the state."""

    starts: IntArray
    best: IntArray
    state: FloatArray


class Schedule(NamedTuple):
    """Steps from ``first`` up to ``end`` of a run of ``steps``, which cools from the first temperature to the last."""

    temperatures: FloatArray
    first: int
    end: int
    steps: int


# Positions in the options of a run.
WRAP, REMOVE, BY_SIZE, FIRST, CHEAPEST, WALK, NESTED = range(7)
# What NESTED says: what to do where a job is taken away from the gap of another, so that no order need lead there.
ANYTHING, MEND, REFUSE, PASS = range(4)
# Positions in the state of a run: cost of the best solution, steps after which there was no order.
BEST, BROKEN = range(2)


@compiled
def anneal_left(
    rng: np.random.Generator, standing: Standing, arrays: AllocationArrays, options: IntArray, schedule: Schedule
) -> int:
    """Take steps in which jobs go on consecutive entries of what is left of Q.

    Parameters
    ----------
    standing : where the search stands.
    arrays : the allocation.
    options : see above.
    schedule : the steps.

    Returns
    -------
    After how many steps the best solution was met, 0 if it was none of them.
    """
    owner, costs, _, state = standing
    sizes, demands, switches = arrays.sizes, arrays.demands, counting(arrays)
    limited = len(demands.limits) > 0
    n, jobs = len(owner), len(sizes)
    left, slid = np.empty(n, np.int64), np.empty(n)
    before, paid = np.empty(n, np.int64), np.empty(jobs)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    better_at = 0
    for step in range(schedule.first, schedule.end):
        put(before, owner)
        put(paid, costs)
        moved = take_out(rng, owner, out, removed, sizes, options, state)
        m = gather(owner, left)
        for k in range(moved):
            job = out[k]
            size = sizes[job]
            last = first_nodes(m, size, options)
            if options[CHEAPEST]:
                slide(left, m, last, size, switches, slid)
                if limited:
                    fine_blocks(left, m, last, job, size, demands, switches, slid)
                start = smallest_at(slid[:last])
                costs[job] = slid[start]
            else:
                start = int(rng.random() * last)
                costs[job] = block_cost(left, m, start, size, switches)
                if limited:
                    costs[job] += fine_block(left, m, start, job, size, demands, switches)
            m = take(owner, left, m, start, size, job)
        if accept_or_undo(rng, standing, before, paid, sizes, options, schedule, step):
            better_at = step - schedule.first + 1
    return better_at


@compiled
def anneal_blocks(
    rng: np.random.Generator,
    line: Line,
    table: FloatArray,
    rows: IntArray,
    sizes: IntArray,
    options: IntArray,
    schedule: Schedule,
) -> int:
    """Take steps in which jobs go on consecutive entries of Q itself.

    Parameters
    ----------
    line : where the search stands.
    table : cost of each block by row and first entry, infinite where there is none.
    rows : row of each job.

    The others are those of :func:`anneal_left`; so is what is returned. A step after which a job finds no
    place is not taken.
    """
    starts, best, state = line
    n, jobs = table.shape[1], len(sizes)
    used = np.zeros(n, np.bool_)
    for job in range(jobs):
        mark(used, starts[job], sizes[job], True)
    run = np.empty(n, np.int64)
    slots = np.empty(n, np.int64)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    old = np.empty(jobs, np.int64)
    better_at = 0
    for step in range(schedule.first, schedule.end):
        value = 0.0
        for job in range(jobs):
            value += table[rows[job], starts[job]]
        moved = draw(rng, out, removed, sizes, options)
        put(old, starts)
        for k in range(moved):
            removed[out[k]] = False
            mark(used, starts[out[k]], sizes[out[k]], False)
        placed = 0
        while placed < moved:
            job = out[placed]
            free_runs(used, options[WRAP], run)
            found = free_starts(used, run, sizes[job], table[rows[job]], options[FIRST], slots)
            if found == 0:
                break
            start = slots[int(rng.random() * found)]
            if options[CHEAPEST]:
                start = slots[0]
                for k in range(1, found):
                    if table[rows[job], slots[k]] < table[rows[job], start]:
                        start = slots[k]
            starts[job] = start
            mark(used, start, sizes[job], True)
            placed += 1
        after = 0.0
        for job in range(jobs):
            after += table[rows[job], starts[job]]
        accepted = placed == moved
        if accepted and not options[WALK]:
            accepted = metropolis(rng, after - value, schedule.temperatures, step, schedule.steps)
        if not accepted:
            for k in range(placed):
                mark(used, starts[out[k]], sizes[out[k]], False)
            for k in range(moved):
                starts[out[k]] = old[out[k]]
                mark(used, starts[out[k]], sizes[out[k]], True)
        elif after < state[BEST] - 1e-12 * abs(state[BEST]):
            put(best, starts)
            state[BEST] = after
            better_at = step - schedule.first + 1
    return better_at


@compiled
def take_out(
    rng: np.random.Generator,
    owner: IntArray,
    out: IntArray,
    removed: BoolArray,
    sizes: IntArray,
    options: IntArray,
    state: FloatArray,
) -> int:
    """Take the jobs of a step out of ``owner``, write them into ``out`` as they come back, and return how many.

    ``removed`` is false before and after.
    """
    moved = draw(rng, out, removed, sizes, options)
    _clear(owner, removed)
    if options[NESTED] == MEND:
        more = _stranded(owner, sizes, options, out, moved, removed)
        if more > moved:
            _clear(owner, removed)
            state[BROKEN] += 1
            moved = more
    for k in range(moved):
        removed[out[k]] = False
    return moved


@no_refcount
def first_nodes(m: int, size: int, options: IntArray) -> int:
    """How many of the ``m`` entries that are left, from the lowest on, may be the first node of a job."""
    last = m if options[WRAP] else m - size + 1
    return min(last, options[FIRST]) if options[FIRST] > 0 else last


@compiled
def accept_or_undo(
    rng: np.random.Generator,
    standing: Standing,
    before: IntArray,
    paid: FloatArray,
    sizes: IntArray,
    options: IntArray,
    schedule: Schedule,
    step: int,
) -> bool:
    """Accept what a step has made, or undo it; whether it is the best solution so far, which is then kept.

    Parameters
    ----------
    before, paid : owners and costs before the step.

    The others are those of :func:`anneal_left`.
    """
    owner, costs, best, state = standing
    after = sum_of(costs)
    accepted = options[WALK] == 1 or metropolis(rng, after - sum_of(paid), schedule.temperatures, step, schedule.steps)
    better = accepted and after < state[BEST] - 1e-12 * abs(state[BEST])
    ask = (options[NESTED] == REFUSE and accepted) or (options[NESTED] == PASS and better)
    if ask and not reachable(owner, sizes, options[WRAP]):
        state[BROKEN] += 1
        accepted, better = options[NESTED] == PASS, False
    if not accepted:
        put(owner, before)
        put(costs, paid)
    elif better:
        put(best, owner)
        state[BEST] = after
    return better


@no_refcount
def _clear(owner: IntArray, removed: BoolArray) -> None:
    for i in range(len(owner)):
        if owner[i] >= 0 and removed[owner[i]]:
            owner[i] = -1


@compiled
def _stranded(
    owner: IntArray, sizes: IntArray, options: IntArray, out: IntArray, moved: int, removed: BoolArray
) -> int:
    """Remove the jobs too that no order reaches any more, and return how many are removed now."""
    rank = placing_order(owner, sizes, options[WRAP], False)
    for job in range(len(sizes)):
        if rank[job] < 0 and not removed[job]:
            _insert(out, moved, job, sizes, options[BY_SIZE])
            removed[job] = True
            moved += 1
    return moved


@no_refcount
def metropolis(rng: np.random.Generator, loss: float, temperatures: FloatArray, step: int, steps: int) -> bool:
    """Whether a loss is accepted at a step of a run (algorithm 1, steps 5 to 9)."""
    if loss <= 0:
        return True
    return rng.random() < math.exp(-loss / temperature_at(temperatures, step, steps))


@no_refcount
def temperature_at(temperatures: FloatArray, step: int, steps: int) -> float:
    """The temperature at a step of a run, from the first to the last (algorithm 1, steps 1 and 11)."""
    return float(temperatures[0] * math.exp(-math.log(temperatures[0] / temperatures[1]) * step / steps))


@no_refcount
def draw(rng: np.random.Generator, out: IntArray, removed: BoolArray, sizes: IntArray, options: IntArray) -> int:
    """Draw the jobs that a step removes, in the order in which they come back, and return how many."""
    jobs = len(sizes)
    moved = 1 + int(rng.random() * min(options[REMOVE], jobs))
    for k in range(moved):
        job = int(rng.random() * jobs)
        while removed[job]:
            job = int(rng.random() * jobs)
        removed[job] = True
        _insert(out, k, job, sizes, options[BY_SIZE])
    return moved


@no_refcount
def _insert(out: IntArray, count: int, job: int, sizes: IntArray, by_size: bool) -> None:
    """Put a job where it belongs among the first ``count`` ones: by falling size, or in the window's order."""
    place = count
    while place > 0 and _later(out[place - 1], job, sizes, by_size):
        out[place] = out[place - 1]
        place -= 1
    out[place] = job


@no_refcount
def _later(a: int, b: int, sizes: IntArray, by_size: bool) -> bool:
    if by_size and sizes[a] != sizes[b]:
        return bool(sizes[a] < sizes[b])
    return a > b


@no_refcount
def mark(used: BoolArray, start: int, size: int, value: bool) -> None:
    """Set whether the entries of a block are used."""
    n = len(used)
    for i in range(start, start + size):
        used[i if i < n else i - n] = value


@no_refcount
def free_runs(used: BoolArray, wrap: bool, run: IntArray) -> None:
    """Write how many entries from each on are free, across the end of Q if blocks may wrap."""
    n = len(used)
    length = 0
    if wrap:
        while length < n and not used[length]:
            length += 1
    for i in range(n - 1, -1, -1):
        length = 0 if used[i] else min(length + 1, n)
        run[i] = length


@no_refcount
def free_starts(used: BoolArray, run: IntArray, size: int, costs: FloatArray, limit: int, slots: IntArray) -> int:
    """Write where a block of ``size`` can begin, among the first ``limit`` free entries if that is > 0."""
    found, seen = 0, 0
    for i in range(len(run)):
        if used[i]:
            continue
        if run[i] >= size and costs[i] < np.inf:
            slots[found] = i
            found += 1
        seen += 1
        if seen == limit:
            break
    return found
