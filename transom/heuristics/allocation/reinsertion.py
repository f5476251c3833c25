"""Kernels that take one or two jobs out and look for where they are cheapest on what is left of Q.

Where the other jobs can be placed without them, any places that they get on what is left can be reached too: they are
placed last. Where one that is taken out stands in the gap of another that stays, the move is passed over.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import largest, put, smallest_at, stable_order
from transom.heuristics.allocation.arrays import (
    AllocationArrays,
    all_placed,
    counting,
    fine_blocks,
    gather,
    slide,
    take,
)
from transom.models.allocation_kernels import placing_order
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost

_LESS = 1e-10  # a move has to pay by this share of what it moves: sums are rounded


@compiled
def reinsert_one(owner: IntArray, costs: FloatArray, arrays: AllocationArrays, wrap: bool, job: int) -> bool:
    """Put a job on the cheapest start, if that pays; whether it did.

    ``owner`` and ``costs`` (of each job) are changed if it pays.
    """
    sizes, demands, switches = arrays.sizes, arrays.demands, counting(arrays)
    limited = len(demands.limits) > 0
    n, size = len(owner), sizes[job]
    rest = owner.copy()
    for i in range(n):
        if owner[i] == job:
            rest[i] = -1
    if not _stands(rest, sizes, wrap, job, job):
        return False
    left, slid = np.empty(n, np.int64), np.empty(n)
    m = gather(rest, left)
    last = m if wrap else m - size + 1
    slide(left, m, last, size, switches, slid)
    if limited:
        fine_blocks(left, m, last, job, size, demands, switches, slid)
    start = smallest_at(slid[:last])
    if slid[start] >= costs[job] * (1 - _LESS):
        return False
    take(rest, left, m, start, size, job)
    put(owner, rest)
    costs[job] = slid[start]
    return True


@compiled
def reinsert_two(
    owner: IntArray,
    costs: FloatArray,
    arrays: AllocationArrays,
    wrap: bool,
    pair: tuple[int, int],
    least: float,
    first: int,
    count: int,
) -> tuple[int, bool]:
    """Put two jobs, one after the other, where they are cheapest together, if that pays.

    Parameters
    ----------
    owner, costs : the solution and what each job costs; changed if it pays.
    pair : the jobs.
    least : a lower bound of what the other costs.
    first, count : try so many starts of the one, by rising cost, from the one in the place ``first`` on.

    Returns
    -------
    The place to go on from, or -1 if no other start can pay; and whether it paid.
    """
    one, other = pair
    sizes, demands, switches = arrays.sizes, arrays.demands, counting(arrays)
    limited = len(demands.limits) > 0
    n, size = len(owner), sizes[other]
    rest = owner.copy()
    for i in range(n):
        if owner[i] == one or owner[i] == other:
            rest[i] = -1
    if not _stands(rest, sizes, wrap, one, other):
        return -1, False
    left, kept = np.empty(n, np.int64), np.empty(n, np.int64)
    of_one, of_other = np.empty(n), np.empty(n)
    m = gather(rest, left)
    last = m if wrap else m - sizes[one] + 1
    slide(left, m, last, sizes[one], switches, of_one)
    if limited:
        fine_blocks(left, m, last, one, sizes[one], demands, switches, of_one)
    ranked = stable_order(of_one[:last])
    best = (costs[one] + costs[other]) * (1 - _LESS)
    paid, end = False, False
    for place in range(first, min(first + count, last)):
        start = ranked[place]
        end = of_one[start] + least >= best
        if end:
            break
        trial = rest.copy()
        put(kept, left)
        fewer = take(trial, kept, m, start, sizes[one], one)
        ends = fewer if wrap else fewer - size + 1
        slide(kept, fewer, ends, size, switches, of_other)
        if limited:
            fine_blocks(kept, fewer, ends, other, size, demands, switches, of_other)
        then = smallest_at(of_other[:ends])
        if of_one[start] + of_other[then] < best:
            take(trial, kept, fewer, then, size, other)
            put(owner, trial)
            costs[one], costs[other] = of_one[start], of_other[then]
            best = of_one[start] + of_other[then]
            paid = True
    return (-1 if end or first + count >= last else first + count), paid


@compiled
def _stands(rest: IntArray, sizes: IntArray, wrap: bool, one: int, other: int) -> bool:
    """Whether all jobs but these two can be placed."""
    rank = placing_order(rest, sizes, wrap, False)
    rank[one], rank[other] = 0, 0
    return all_placed(rank)


@compiled
def least_costs(arrays: AllocationArrays) -> FloatArray:
    """A lower bound of what each job costs: full switches as large as the one with the most idle nodes."""
    sizes, weights, upper = arrays.sizes, arrays.weights, arrays.upper
    leaf_room, pod_room = _largest(arrays.leaf), _largest(arrays.pod)
    rooms = np.empty(len(upper), np.int64)
    for level in range(len(upper)):
        rooms[level] = _largest(upper[level])
    least = np.empty(len(sizes))
    for job in range(len(sizes)):
        pairs = _most_pairs(sizes[job], pod_room)
        for level in range(len(rooms)):
            pairs += _most_pairs(sizes[job], rooms[level])
        least[job] = hop_cost(sizes[job], _most_pairs(sizes[job], leaf_room), pairs, weights)
    return least


@compiled
def _largest(of: IntArray) -> int:
    """The most entries with one switch, from the switch of each entry."""
    inside = np.zeros(largest(of) + 1, np.int64)
    for switch in of:
        inside[switch] += 1
    return int(largest(inside))


@compiled
def _most_pairs(size: int, room: int) -> int:
    full, rest = size // room, size % room
    return full * (room * (room - 1) // 2) + rest * (rest - 1) // 2
