"""Longest paths through a graph of tasks, compiled: of large workflows they are asked for within milliseconds."""

from __future__ import annotations

from transom._system.compiling import compiled
from transom.models.arrays import IntArray


@compiled
def longest_paths(order: IntArray, first: IntArray, before: IntArray, durations: IntArray, least: IntArray) -> IntArray:
    """When each task can start at the earliest if it only waits for the tasks before it, shape ``(T,)``.

    Parameters
    ----------
    order : the tasks, those before a task standing before it.
    first, before : compressed rows of the tasks that each waits for.
    durations : of the tasks, shape ``(T,)``.
    least : the earliest start of each in any case, shape ``(T,)``.
    """
    starts = least.copy()
    for k in range(len(order)):
        task = order[k]
        for j in range(first[task], first[task + 1]):
            starts[task] = max(starts[task], starts[before[j]] + durations[before[j]])
    return starts
