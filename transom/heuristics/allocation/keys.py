"""Random keys of allocations: an order key and a start key for each job, and what they stand for."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import stable_order
from transom.heuristics.allocation.arrays import AllocationArrays, block_cost, counting, fine_block, take
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray


@compiled
def decode_left(rows: FloatArray, arrays: AllocationArrays, wrap: bool, owners: IntArray, values: FloatArray) -> None:
    """Place jobs by rising order key, each on what is left of Q from where its start key says.

    Parameters
    ----------
    rows : keys in [0, 1], order keys, then start keys, shape ``(rows, 2 jobs)``.
    owners : the solutions, shape ``(rows, idle nodes)``, or with no row where only values are wanted.
    values : their costs, shape ``(rows,)``.
    """
    sizes, demands, switches = arrays.sizes, arrays.demands, counting(arrays)
    limited = len(demands.limits) > 0
    n, jobs = len(arrays.leaf), len(sizes)
    left, owner = np.empty(n, np.int64), np.empty(n, np.int64)
    for row in range(len(rows)):
        owner[:] = -1
        for i in range(n):
            left[i] = i
        m = n
        values[row] = 0.0
        for job in stable_order(rows[row, :jobs]):
            size = sizes[job]
            last = m if wrap else m - size + 1
            start = min(int(rows[row, jobs + job] * last), last - 1)
            values[row] += block_cost(left, m, start, size, switches)
            if limited:
                values[row] += fine_block(left, m, start, job, size, demands, switches)
            m = take(owner, left, m, start, size, job)
        if len(owners):
            owners[row] = owner


@compiled
def decode_blocks(
    rows: FloatArray,
    sizes: IntArray,
    table: FloatArray,
    table_rows: IntArray,
    wrap: bool,
    starts: IntArray,
    values: FloatArray,
) -> None:
    """Line up blocks on Q by rising order key, each as near to where its start key says as the others let it.

    Parameters
    ----------
    rows : keys in [0, 1]: order keys, start keys, and one that says at which entry the line begins if blocks
        may wrap around; shape ``(rows, 2 jobs + 1)``.
    table, table_rows : cost of each block by row and first entry, and the row of each job.
    starts : first entry of each job's block, shape ``(rows, jobs)``.
    values : the costs, shape ``(rows,)``.
    """
    n, jobs = table.shape[1], len(sizes)
    for row in range(len(rows)):
        turn = min(int(rows[row, 2 * jobs] * n), n - 1) if wrap else 0
        earliest, latest = 0, n - sizes.sum()
        values[row] = 0.0
        for job in stable_order(rows[row, :jobs]):
            start = min(max(int(rows[row, jobs + job] * n), earliest), latest)
            earliest = start + sizes[job]
            latest += sizes[job]
            starts[row, job] = (start + turn) % n
            values[row] += table[table_rows[job], starts[row, job]]


def encode(problem: Allocation, owner: IntArray) -> FloatArray:
    """Keys of a solution of the static or dynamic rule, shape ``(2 jobs + 1,)``; the last one is for blocks alone."""
    jobs, n = len(problem), len(problem.idle)
    keys = np.zeros(2 * jobs + 1)
    if problem.rule == "static":
        starts = problem.starts(owner)
        ends = (starts + problem.sizes) % n
        wrapped = np.flatnonzero(starts + problem.sizes > n)
        turn = int(ends[wrapped[0]]) if wrapped.size else 0
        along = (starts - turn) % n
        keys[np.argsort(along)] = (np.arange(jobs) + 0.5) / jobs
        keys[jobs : 2 * jobs] = (along + 0.5) / n
        keys[2 * jobs] = (turn + 0.5) / n
        return keys
    left = owner.copy()
    for rank, job in enumerate(problem.order(owner)):
        mine = left == job
        last = len(left) if problem.wrap else len(left) - int(problem.sizes[job]) + 1
        first = np.flatnonzero(mine & ~np.roll(mine, 1)) if problem.wrap else np.flatnonzero(mine)
        keys[job] = (rank + 0.5) / jobs
        keys[jobs + job] = ((int(first[0]) if first.size else 0) + 0.5) / last
        left = left[~mine]
    return keys
