"""The kernel of simulated annealing on what is left of Q: a step looks at what is free and at the jobs that it moves.

The entries of each job are kept in the order of its block, so that a step need not look for them in all of Q.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import front, put, smallest_at, stable_order, sum_of
from transom.heuristics.allocation.annealing import (
    MEND,
    PASS,
    REFUSE,
    Options,
    Schedule,
    draw,
    first_nodes,
    insert,
    metropolis,
)
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
from transom.models.allocation_kernels import placing_order
from transom.models.arrays import BoolArray, FloatArray, IntArray


class Blocks(NamedTuple):
    """Where a search stands and the best it met; changed in place.

    Parameters
    ----------
    owner, costs, best, state : as of :class:`~transom.heuristics.allocation.annealing.Standing`.
    held : entries of all jobs, one after another, each job's in the order of its block.
    begin : where those of each job begin in ``held``, shape ``(jobs + 1,)``.
    """

    owner: IntArray
    costs: FloatArray
    best: IntArray
    state: FloatArray
    held: IntArray
    begin: IntArray


@compiled
def blocks_of(owner: IntArray, sizes: IntArray, wrap: bool) -> tuple[IntArray, IntArray]:
    """The entries of all jobs as in :class:`Blocks`, and where each job's begin.

    A block that goes on at the head of Q begins near its end. Jobs that no order reaches have theirs as they stand.
    """
    jobs, n = len(sizes), len(owner)
    begin, filled = np.zeros(jobs + 1, np.int64), np.zeros(jobs, np.int64)
    for job in range(jobs):
        begin[job + 1] = begin[job] + sizes[job]
    held = np.empty(begin[jobs], np.int64)
    for i in range(n):
        if owner[i] >= 0:
            held[begin[owner[i]] + filled[owner[i]]] = i
            filled[owner[i]] += 1
    if not wrap:
        return held, begin
    rank, left = placing_order(owner, sizes, wrap, False), np.arange(n)
    m = n
    for job in stable_order(rank):
        if rank[job] < 0:
            continue
        first, end, size, fewer = begin[job], begin[job + 1], sizes[job], 0
        turn, at_head = 0, owner[left[0]] == job  # turn: the place in the block of the entry that stands first in Q
        for k in range(m):
            if owner[left[k]] != job:
                left[fewer] = left[k]
                fewer += 1
            elif k > 0 and owner[left[k - 1]] != job and at_head:
                turn = m - k
        m = fewer
        if 0 < turn < size:
            rising = front(held[first:end], size)
            for k in range(size):
                held[first + (k + turn) % size] = rising[k]
    return held, begin


@compiled
def anneal_left(
    rng: np.random.Generator, blocks: Blocks, arrays: AllocationArrays, options: Options, schedule: Schedule
) -> int:
    """Take steps in which jobs go on consecutive entries of what is left of Q.

    Parameters
    ----------
    blocks : where the search stands.
    arrays : the allocation.
    options : see :mod:`~transom.heuristics.allocation.annealing`.
    schedule : the steps.

    Returns
    -------
    After how many steps the best solution was met, 0 if it was none of them.
    """
    owner, costs, best, state, held, begin = blocks
    sizes, demands, switches = arrays.sizes, arrays.demands, counting(arrays)
    limited = len(demands.limits) > 0
    n, jobs = len(owner), len(sizes)
    left, free, slid = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n)
    before, paid = np.empty(len(held), np.int64), np.empty(jobs)
    out, removed = np.empty(jobs, np.int64), np.zeros(jobs, np.bool_)
    m, value, better_at = gather(owner, left), sum_of(costs), 0
    for step in range(schedule.first, schedule.end):
        put(paid, costs)
        put(free[:m], left)
        was = m
        moved = draw(rng, out, removed, sizes, options)
        if options.nested == MEND:
            more = _around(blocks, sizes, options, out, moved, removed)
            moved = more
        for k in range(moved):
            removed[out[k]] = False
            m = _give_back(blocks, left, m, out[k], before)
        for k in range(moved):
            job = out[k]
            size = sizes[job]
            last = first_nodes(m, size, options)
            if options.cheapest:
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
            for place in range(size):
                entry = start + place
                held[begin[job] + place] = left[entry if entry < m else entry - m]
            m = take(owner, left, m, start, size, job)
        after = sum_of(costs)
        accepted = options.walk or metropolis(rng, after - value, schedule.temperatures, step, schedule.steps)
        better = accepted and after < state[0] - 1e-12 * abs(state[0])
        ask = (options.nested == REFUSE and accepted) or (options.nested == PASS and better)
        if ask and not reachable(owner, sizes, options.wrap):
            accepted, better = options.nested == PASS, False
        if not accepted:
            _undo(blocks, out, moved, before)
            put(costs, paid)
            put(left[:was], free)
            m = was
            continue
        value = after
        if better:
            put(best, owner)
            state[0] = after
            better_at = step - schedule.first + 1
    return better_at


@no_refcount
def _around(blocks: Blocks, sizes: IntArray, options: Options, out: IntArray, moved: int, removed: BoolArray) -> int:
    """Remove the jobs too in whose gaps a removed one stands, and return how many are removed now.

    No order reaches them any more. Whatever stands in a gap stands in it whole: one entry of it tells.
    """
    held, begin, n = blocks.held, blocks.begin, len(blocks.owner)
    for job in range(len(sizes)):
        first = held[begin[job]]
        span = held[begin[job + 1] - 1] - first
        if span < 0:
            span += n
        if removed[job] or span == sizes[job] - 1:
            continue
        for other in range(len(sizes)):
            if not removed[other]:
                continue
            place = held[begin[other]] - first
            if place < 0:
                place += n
            if place < span:
                insert(out, moved, job, sizes, options.by_size)
                removed[job] = True
                moved += 1
                break
    return moved


@no_refcount
def _give_back(blocks: Blocks, left: IntArray, m: int, job: int, before: IntArray) -> int:
    """Merge the entries of a job into what is left, note them in ``before``, and return how many are left now."""
    owner, held, first, end = blocks.owner, blocks.held, blocks.begin[job], blocks.begin[job + 1]
    size, turn = end - first, first  # its lowest entry
    for k in range(first, end):
        before[k] = held[k]
        owner[held[k]] = -1
        if k > first and held[k] < held[k - 1]:
            turn = k
    at, other = m + size - 1, m - 1
    k = turn - 1 if turn > first else end - 1  # its highest entry
    for _ in range(size):
        entry = held[k]
        while other >= 0 and left[other] > entry:
            left[at] = left[other]
            at -= 1
            other -= 1
        left[at] = entry
        at -= 1
        k = k - 1 if k > first else end - 1
    return int(m + size)


@no_refcount
def _undo(blocks: Blocks, out: IntArray, moved: int, before: IntArray) -> None:
    """Give the jobs that a step moved their old entries again."""
    owner, held, begin = blocks.owner, blocks.held, blocks.begin
    for k in range(moved):
        for place in range(begin[out[k]], begin[out[k] + 1]):
            owner[held[place]] = -1
    for k in range(moved):
        for place in range(begin[out[k]], begin[out[k] + 1]):
            held[place] = before[place]
            owner[held[place]] = out[k]
