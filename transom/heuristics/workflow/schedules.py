"""The two ways to make a schedule of priorities: list scheduling in time, and insertion task by task.

References
----------
Graham, Bounds on multiprocessing timing anomalies, SIAM Journal on Applied Mathematics 17, 1969 (list scheduling);
Kolisch, Serial and parallel resource-constrained project scheduling methods revisited, European Journal of Operational
Research 90, 1996.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.workflow.tasks import Tasks
from transom.models.arrays import IntArray


class Heap(NamedTuple):
    """A binary heap of values by keys, the least on top; ``size`` has one entry."""

    keys: IntArray
    values: IntArray
    size: IntArray


class Profile(NamedTuple):
    """What is free in time, in steps: ``free[k]`` from ``times[k]`` on, of ``steps[0]`` steps."""

    times: IntArray
    free: IntArray
    steps: IntArray


@compiled
def push(heap: Heap, key: int, value: int) -> None:
    """Add a value."""
    at = int(heap.size[0])
    heap.size[0] += 1
    while at > 0 and heap.keys[(at - 1) // 2] > key:
        heap.keys[at], heap.values[at] = heap.keys[(at - 1) // 2], heap.values[(at - 1) // 2]
        at = (at - 1) // 2
    heap.keys[at], heap.values[at] = key, value


@compiled
def pop(heap: Heap) -> int:
    """Take the value with the least key."""
    top = int(heap.values[0])
    heap.size[0] -= 1
    size = int(heap.size[0])
    key, value, at = heap.keys[size], heap.values[size], 0
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heap.keys[below + 1] < heap.keys[below]:
            below += 1
        if heap.keys[below] >= key:
            break
        heap.keys[at], heap.values[at] = heap.keys[below], heap.values[below]
        at = below
    heap.keys[at], heap.values[at] = key, value
    return top


def list_schedule(tasks: Tasks, ranks: IntArray) -> IntArray:
    """Whenever something ends, start what waits and fits, the least rank first (parallel schedule generation).

    Parameters
    ----------
    ranks : priorities, distinct, shape ``(T,)``.

    Returns
    -------
    Starts in ticks, shape ``(T,)``.
    """
    kinds = np.zeros(len(ranks), np.int64)
    for column in tasks.requests.T:
        amounts, of = np.unique(column, return_inverse=True)
        kinds = np.unique(kinds * len(amounts) + of, return_inverse=True)[1]
    begins = np.cumsum(np.bincount(kinds, minlength=1))
    return schedule_kinds(tasks, ranks, kinds, np.append(0, begins))


@compiled
def schedule_kinds(tasks: Tasks, ranks: IntArray, kinds: IntArray, begins: IntArray) -> IntArray:
    """Schedule tasks by ranks; those of a kind have equal requests, so that of each only the first waiting is asked.

    Parameters
    ----------
    ranks : as of :func:`list_schedule`.
    kinds : the kind of each task, from 0, shape ``(T,)``.
    begins : how many tasks are of a lower kind, shape ``(kinds + 1,)``.
    """
    count, resources = tasks.requests.shape
    starts, waits = np.zeros(count, np.int64), np.zeros(count, np.int64)
    keys, values, sizes = np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(len(begins), np.int64)
    ends = Heap(np.empty(count, np.int64), np.empty(count, np.int64), np.zeros(1, np.int64))
    free = tasks.capacity.copy()
    for task in range(count):
        waits[task] = tasks.parents_from[task + 1] - tasks.parents_from[task]
        if waits[task] == 0:
            add_ready(keys, values, sizes, begins, kinds[task], ranks[task], task)
    now = 0
    while True:
        while free[0] > 0:
            kind, least = -1, count
            for each in range(len(begins) - 1):
                at = begins[each]
                if sizes[each] > 0 and keys[at] < least:
                    fits = True
                    for r in range(resources):
                        fits = fits and tasks.requests[values[at], r] <= free[r]
                    if fits:
                        kind, least = each, keys[at]
            if kind < 0:
                break
            low, high = begins[kind], begins[kind + 1]
            task = pop(Heap(keys[low:high], values[low:high], sizes[kind : kind + 1]))
            starts[task] = now
            for r in range(resources):
                free[r] -= tasks.requests[task, r]
            push(ends, now + tasks.durations[task], task)
        if ends.size[0] == 0:
            return starts
        now = int(ends.keys[0])
        while ends.size[0] > 0 and ends.keys[0] == now:
            task = pop(ends)
            for r in range(resources):
                free[r] += tasks.requests[task, r]
            for k in range(tasks.children_from[task], tasks.children_from[task + 1]):
                child = tasks.children[k]
                waits[child] -= 1
                if waits[child] == 0:
                    add_ready(keys, values, sizes, begins, kinds[child], ranks[child], child)


@compiled
def add_ready(
    keys: IntArray, values: IntArray, sizes: IntArray, begins: IntArray, kind: int, rank: int, task: int
) -> None:
    """Add a task to the heap of its kind."""
    low, high = begins[kind], begins[kind + 1]
    push(Heap(keys[low:high], values[low:high], sizes[kind : kind + 1]), rank, task)


@compiled
def clear(tasks: Tasks, profile: Profile) -> None:
    """Nothing is scheduled."""
    profile.times[0], profile.steps[0] = 0, 1
    for r in range(len(tasks.capacity)):
        profile.free[0, r] = tasks.capacity[r]


@compiled
def step_at(profile: Profile, time: int) -> int:
    """The step that a time, from 0, lies in."""
    low, high = 0, int(profile.steps[0])
    while high - low > 1:
        middle = (low + high) // 2
        if profile.times[middle] <= time:
            low = middle
        else:
            high = middle
    return low


@compiled
def cut(profile: Profile, time: int) -> int:
    """The step that begins at a time, from 0; it is made where there is none."""
    step = step_at(profile, time)
    if profile.times[step] == time:
        return step
    for k in range(profile.steps[0], step, -1):
        profile.times[k] = profile.times[k - 1]
        for r in range(profile.free.shape[1]):
            profile.free[k, r] = profile.free[k - 1, r]
    profile.times[step + 1] = time
    profile.steps[0] += 1
    return step + 1


@compiled
def insert(tasks: Tasks, order: IntArray, begin: int, end: int, starts: IntArray, profile: Profile) -> int:
    """Give tasks one after another the earliest start that is left (serial schedule generation).

    Parameters
    ----------
    order : the tasks, parents before children, shape ``(T,)``.
    begin, end : positions in it.
    starts : of the tasks before ``begin``; those of the others are entered, shape ``(T,)``.
    profile : what is free; it is changed. It holds ``2 T + 1`` steps.

    Returns
    -------
    When the last of these tasks ends.
    """
    resources, latest = tasks.requests.shape[1], 0
    for position in range(begin, end):
        task = order[position]
        duration, start = int(tasks.durations[task]), 0
        for k in range(tasks.parents_from[task], tasks.parents_from[task + 1]):
            parent = tasks.parents[k]
            start = max(start, int(starts[parent] + tasks.durations[parent]))
        if duration > 0:
            step = step_at(profile, start)
            while step < profile.steps[0] and profile.times[step] < start + duration:
                fits = True
                for r in range(resources):
                    fits = fits and tasks.requests[task, r] <= profile.free[step, r]
                step += 1
                if not fits:
                    start = int(profile.times[step])
            begins = cut(profile, start)
            ends = cut(profile, start + duration)
            for k in range(begins, ends):
                for r in range(resources):
                    profile.free[k, r] -= tasks.requests[task, r]
        starts[task] = start
        latest = max(latest, start + duration)
    return latest
