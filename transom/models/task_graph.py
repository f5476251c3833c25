"""Graphs of tasks that wait for one another: neighbours in rows, a topological order, cycles, longest paths."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray


class Adjacency(NamedTuple):
    """Neighbours of each task in compressed rows: those of task t are ``tasks[first[t]:first[t + 1]]``, ascending."""

    first: IntArray
    tasks: IntArray


def adjacency(edges: IntArray, count: int) -> tuple[Adjacency, Adjacency]:
    """The parents and the children of each of ``count`` tasks.

    Parameters
    ----------
    edges : pairs (parent, child), distinct, sorted by child, then parent, shape ``(edges, 2)``.
    """
    by_parent, ends = edges[np.lexsort((edges[:, 1], edges[:, 0]))], np.arange(count + 1)
    return (
        Adjacency(np.searchsorted(edges[:, 1], ends), np.ascontiguousarray(edges[:, 0])),
        Adjacency(np.searchsorted(by_parent[:, 0], ends), np.ascontiguousarray(by_parent[:, 1])),
    )


def topological_order(parents: Adjacency, children: Adjacency) -> IntArray:
    """The tasks level by level, shape ``(tasks,)``, without those on a cycle and behind one (Kahn 1962)."""
    waits = np.diff(parents.first).tolist()
    first, behind = children.first.tolist(), children.tasks.tolist()
    level = [task for task, count in enumerate(waits) if count == 0]
    order: list[int] = []
    while level:
        order += level
        ready = []
        for task in level:
            for child in behind[first[task] : first[task + 1]]:
                waits[child] -= 1
                if waits[child] == 0:
                    ready.append(child)
        level = sorted(ready)
    return np.array(order, np.int64)


def cycle(parents: Adjacency, order: IntArray) -> list[int] | None:
    """Tasks that wait for each other, the first one again at the end; None if all tasks stand in
    ``order``, shape ``(ordered,)``."""
    left = np.ones(len(parents.first) - 1, bool)
    left[order] = False
    if not left.any():
        return None
    # Each task that is left has a parent that is left: going from parent to parent meets a task again.
    met: dict[int, int] = {}
    trail: list[int] = []
    task = int(left.argmax())
    while task not in met:
        met[task] = len(trail)
        trail.append(task)
        waits = parents.tasks[parents.first[task] : parents.first[task + 1]]
        task = int(waits[left[waits]][0])
    return [*reversed(trail[met[task] :]), trail[-1]]


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
