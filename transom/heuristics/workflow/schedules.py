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

from transom._system.compiling import compiled, no_refcount
from transom.heuristics.workflow.tasks import Tasks
from transom.models.arrays import IntArray

_LOOKS = 4_000_000
"""How many waiting tasks list scheduling looks at, about: all kinds of requests at each start."""


class Heaps(NamedTuple):
    """Binary heaps of values by keys, the least on top: heap h begins at ``begins[h]`` and has ``sizes[h]`` values."""

    keys: IntArray
    values: IntArray
    begins: IntArray
    sizes: IntArray


class Profile(NamedTuple):
    """What is free in time, in steps: ``free[k]`` from ``times[k]`` on, of ``steps[0]`` steps."""

    times: IntArray
    free: IntArray
    steps: IntArray


@no_refcount
def push(heaps: Heaps, which: int, key: int, value: int) -> None:
    """Add a value to a heap."""
    begin, at = heaps.begins[which], int(heaps.sizes[which])
    heaps.sizes[which] += 1
    while at > 0 and heaps.keys[begin + (at - 1) // 2] > key:
        above = begin + (at - 1) // 2
        heaps.keys[begin + at], heaps.values[begin + at] = heaps.keys[above], heaps.values[above]
        at = (at - 1) // 2
    heaps.keys[begin + at], heaps.values[begin + at] = key, value


@no_refcount
def pop(heaps: Heaps, which: int) -> int:
    """Take the value with the least key from a heap."""
    begin, at = heaps.begins[which], 0
    top = int(heaps.values[begin])
    heaps.sizes[which] -= 1
    size = int(heaps.sizes[which])
    key, value = heaps.keys[begin + size], heaps.values[begin + size]
    while 2 * at + 1 < size:
        below = 2 * at + 1
        if below + 1 < size and heaps.keys[begin + below + 1] < heaps.keys[begin + below]:
            below += 1
        if heaps.keys[begin + below] >= key:
            break
        heaps.keys[begin + at], heaps.values[begin + at] = heaps.keys[begin + below], heaps.values[begin + below]
        at = below
    heaps.keys[begin + at], heaps.values[begin + at] = key, value
    return top


def list_schedule(tasks: Tasks, ranks: IntArray) -> IntArray:
    """Whenever something ends, start what waits and fits, the least rank first (parallel schedule generation).

    In a large workflow with many different requests, tasks of similar requests wait in one line, whose first alone may
    start: looking at all of them at each instant takes a time that grows with the square of their number.

    Parameters
    ----------
    ranks : priorities, distinct, shape ``(T,)``.

    Returns
    -------
    Starts in ticks, shape ``(T,)``.
    """
    kinds, lines = np.zeros(len(ranks), np.int64), max(_LOOKS // max(len(ranks), 1), 16)
    for column in tasks.requests.T:
        if kinds.max(initial=0) >= lines:  # further resources only make more kinds
            break
        amounts = np.unique(column)
        kinds = kinds * len(amounts) + np.searchsorted(amounts, column)
        if kinds.any():  # only those that occur
            kinds = np.searchsorted(np.unique(kinds), kinds)
    if kinds.max(initial=0) >= lines:
        share = (tasks.requests / np.maximum(tasks.capacity, 1)).max(axis=1)
        kinds[np.argsort(share, kind="stable")] = np.arange(len(ranks)) * lines // len(ranks)
    begins = np.cumsum(np.bincount(kinds, minlength=1))
    return schedule_kinds(tasks, ranks, kinds, np.append(0, begins))


@compiled
def schedule_kinds(tasks: Tasks, ranks: IntArray, kinds: IntArray, begins: IntArray) -> IntArray:
    """Schedule tasks by ranks; of each kind, whose requests are equal or alike, only the first waiting is asked.

    Parameters
    ----------
    ranks : as of :func:`list_schedule`.
    kinds : the kind of each task, from 0, shape ``(T,)``.
    begins : how many tasks are of a lower kind, shape ``(kinds + 1,)``.
    """
    count, resources = tasks.requests.shape
    starts, waits = np.zeros(count, np.int64), np.zeros(count, np.int64)
    ready = Heaps(np.empty(count, np.int64), np.empty(count, np.int64), begins, np.zeros(len(begins), np.int64))
    one = np.zeros(1, np.int64)
    ends = Heaps(np.empty(count, np.int64), np.empty(count, np.int64), one, np.zeros(1, np.int64))
    free = tasks.capacity.copy()
    for task in range(count):
        waits[task] = tasks.parents_from[task + 1] - tasks.parents_from[task]
        if waits[task] == 0:
            push(ready, kinds[task], ranks[task], task)
    now = 0
    while True:
        while free[0] > 0:
            kind, least = -1, count
            for each in range(len(begins) - 1):
                at = begins[each]
                if ready.sizes[each] > 0 and ready.keys[at] < least:
                    fits = True
                    for r in range(resources):
                        fits = fits and tasks.requests[ready.values[at], r] <= free[r]
                    if fits:
                        kind, least = each, ready.keys[at]
            if kind < 0:
                break
            task = pop(ready, kind)
            starts[task] = now
            for r in range(resources):
                free[r] -= tasks.requests[task, r]
            push(ends, 0, now + tasks.durations[task], task)
        if ends.sizes[0] == 0:
            return starts
        now = int(ends.keys[0])
        while ends.sizes[0] > 0 and ends.keys[0] == now:
            task = pop(ends, 0)
            for r in range(resources):
                free[r] += tasks.requests[task, r]
            for k in range(tasks.children_from[task], tasks.children_from[task + 1]):
                child = tasks.children[k]
                waits[child] -= 1
                if waits[child] == 0:
                    push(ready, kinds[child], ranks[child], child)


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
