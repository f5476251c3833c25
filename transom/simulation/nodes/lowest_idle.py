"""Which nodes each job held: the lowest idle ids at its start, on a machine without topology."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import put
from transom.models.arrays import IntArray
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Schedule


def assign_nodes(schedule: Schedule) -> NodeRuns:
    """Give each job the lowest idle node ids in the order of starts; ends of an instant come first."""
    jobs = len(schedule)
    by_start = np.argsort(schedule.order, kind="stable")
    by_end = np.lexsort((schedule.order, schedule.end))
    nodes = np.ascontiguousarray(schedule.jobs.nodes)
    owner, first, last = _sweep(by_start, by_end, schedule.start, schedule.end, nodes, schedule.cluster.num_nodes)
    order = np.lexsort((first, owner))
    offsets = np.zeros(jobs + 1, np.int64)
    np.cumsum(np.bincount(owner, minlength=jobs), out=offsets[1:])
    return NodeRuns(offsets, first[order], last[order])


@compiled
def _sweep(
    by_start: IntArray, by_end: IntArray, start: IntArray, end: IntArray, nodes: IntArray, num_nodes: int
) -> tuple[IntArray, IntArray, IntArray]:
    jobs = len(nodes)
    # Idle nodes as disjoint runs with gaps between them, ascending.
    room = min(num_nodes, 2 * jobs) + 2  # each start and each end makes at most one run more
    idle_first = np.empty(room, np.int64)
    idle_last = np.empty(room, np.int64)
    idle_first[0], idle_last[0] = 0, num_nodes - 1
    idle = 1
    capacity = max(4 * jobs, 16)
    owner = np.empty(capacity, np.int64)
    first = np.empty(capacity, np.int64)
    last = np.empty(capacity, np.int64)
    begin = np.zeros(jobs, np.int64)
    runs = 0
    e = 0
    for job in by_start:
        while e < jobs and end[by_end[e]] <= start[job]:
            leaving = by_end[e]
            e += 1
            k = begin[leaving]
            while k < runs and owner[k] == leaving:
                idle = _release(idle_first, idle_last, idle, first[k], last[k])
                k += 1
        begin[job] = runs
        wanted = nodes[job]
        taken = 0
        while wanted > 0:
            if runs == capacity:
                capacity *= 2
                owner, first, last = _grown(owner, capacity), _grown(first, capacity), _grown(last, capacity)
            low = idle_first[taken]
            high = min(idle_last[taken], low + wanted - 1)
            owner[runs], first[runs], last[runs] = job, low, high
            runs += 1
            wanted -= high - low + 1
            if high == idle_last[taken]:
                taken += 1
            else:
                idle_first[taken] = high + 1
        if taken:
            for i in range(taken, idle):
                idle_first[i - taken] = idle_first[i]
                idle_last[i - taken] = idle_last[i]
            idle -= taken
    return owner[:runs], first[:runs], last[:runs]


@compiled
def _release(idle_first: IntArray, idle_last: IntArray, idle: int, low: int, high: int) -> int:
    i = np.searchsorted(idle_first[:idle], low)
    joins_before = i > 0 and idle_last[i - 1] == low - 1
    joins_after = i < idle and idle_first[i] == high + 1
    if joins_before and joins_after:
        idle_last[i - 1] = idle_last[i]
        for k in range(i, idle - 1):
            idle_first[k] = idle_first[k + 1]
            idle_last[k] = idle_last[k + 1]
        return idle - 1
    if joins_before:
        idle_last[i - 1] = high
        return idle
    if joins_after:
        idle_first[i] = low
        return idle
    for k in range(idle, i, -1):
        idle_first[k] = idle_first[k - 1]
        idle_last[k] = idle_last[k - 1]
    idle_first[i], idle_last[i] = low, high
    return idle + 1


@compiled
def _grown(array: IntArray, capacity: int) -> IntArray:
    larger = np.empty(capacity, np.int64)
    put(larger[: len(array)], array)
    return larger
