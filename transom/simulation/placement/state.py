"""The state of a replay of tasks on machines, and its events: ends, then submissions, all of an instant before a pass.

Amounts are integers under textbook rules, so that what is free is exact; rules of a program that computes in double
precision hand in floats, which change by the same additions in the same order. The compiler makes code for either.
Instances of a task that start on a machine one after another at an instant are one row of ``batches``: they end as one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom._system.records import record
from transom.models.arrays import ArrayT, FloatArray, IntArray

NEVER = 2**62

TASK, MACHINE, START, END, COUNT = range(5)
"""Columns of ``batches``; times are [s]."""

TIME, QUEUED, STARTED = range(3)
"""Columns of ``log``: when a pass was made, how many instances waited, how many it started."""


class Numbers:
    """Where a replay stands."""

    now: int
    arrived: int  # tasks that were submitted
    queued: int  # tasks in the queue
    ordered: int  # of those, how many stand in the order of the rule
    waiting: int  # instances in the queue
    ending: int  # batches that run
    batches: int  # recorded so far
    fresh: int  # the first batch of this instant
    started: int  # instances
    passes: int
    before: int  # instances that waited before the first start of this instant, where decisions are taken one by one
    concurrent: int  # the most instances that can run at once
    ticks: bool  # whether an instance of exactly one second is seen to have ended a tick late


class State(NamedTuple):
    """A replay of T tasks on M machines with R resources.

    ``demands`` ``(T, R)`` and ``free`` ``(M, R)``, int64 or float64; ``duration`` ``(T,)``, real, read by
    :func:`place` alone; ``visible`` ``(T,)``: when a task is submitted [s], ascending; ``waiting``, ``running``
    ``(T,)``: instances; ``queue``: the tasks with waiting instances; ``heap``: a binary heap of running batches by end;
    ``batches`` ``(room, 5)``; ``ends`` ``(room,)``: when each really ends, before it is seen; ``log`` ``(room, 3)``.
    """

    demands: NDArray[np.int64] | NDArray[np.float64]
    free: NDArray[np.int64] | NDArray[np.float64]
    duration: FloatArray
    visible: IntArray
    waiting: IntArray
    running: IntArray
    queue: IntArray
    heap: IntArray
    batches: IntArray
    ends: FloatArray
    log: IntArray
    at: Numbers


class Arranged(NamedTuple):
    """A workload as event rules take it: amounts, when tasks are seen, how long they run, and the rule of ticks."""

    demands: NDArray[np.int64] | NDArray[np.float64]
    machines: NDArray[np.int64] | NDArray[np.float64]
    visible: IntArray
    duration: FloatArray
    ticks: bool


def new_state(arranged: Arranged, instances: IntArray, whole: bool = False) -> State:
    """The state before anything happens, on empty machines; ``whole``: with room to record all instances."""
    tasks, total = len(instances), int(instances.sum())
    at = record(Numbers)
    at.ticks = arranged.ticks
    at.concurrent = _concurrent(arranged, total)
    room = total + at.concurrent if whole else min(total, 4 * at.concurrent + tasks)
    return State(
        demands=arranged.demands,
        free=arranged.machines.copy(),
        duration=arranged.duration,
        visible=arranged.visible,
        waiting=instances.copy(),
        running=np.zeros(tasks, np.int64),
        queue=np.empty(tasks, np.int64),
        heap=np.empty(at.concurrent + 1, np.int64),
        batches=np.empty((room, 5), np.int64),
        ends=np.empty(room),
        log=np.empty((room + tasks, 3), np.int64),
        at=at,
    )


def _concurrent(arranged: Arranged, total: int) -> int:
    """How many instances can run at once, at most: as many of the least demands as all machines hold."""
    least = arranged.demands.min(axis=0)
    held = 0
    for machine in arranged.machines:
        fit = [
            math.floor(has / need) + 1 for has, need in zip(machine.tolist(), least.tolist(), strict=True) if need > 0
        ]
        held += min(fit, default=total)
    return min(held, total)


def with_room(state: State) -> State:
    """The state with room for one more pass, whatever it starts; new arrays where the old ones are full."""
    at = state.at
    if at.batches + at.concurrent <= len(state.batches):
        return state
    rows = max(2 * len(state.batches), at.batches + at.concurrent)
    return state._replace(
        batches=_longer(state.batches, rows),
        ends=_longer(state.ends, rows),
        log=_longer(state.log, rows + len(state.waiting)),
    )


def _longer(array: ArrayT, rows: int) -> ArrayT:
    longer: ArrayT = np.empty_like(array, shape=(rows, *array.shape[1:]))
    longer[: len(array)] = array
    return longer


@no_refcount
def fits(state: State, task: int, machine: int) -> bool:
    """Whether a machine has room for one more instance of a task."""
    free, demands = state.free, state.demands
    for r in range(free.shape[1]):  # noqa: SIM110  (the compiler knows no generators)
        if free[machine, r] < demands[task, r]:
            return False
    return True


@no_refcount
def place(state: State, task: int, machine: int) -> None:
    """Start an instance of a waiting task on a machine where it fits."""
    at, batches = state.at, state.batches
    for r in range(state.free.shape[1]):
        state.free[machine, r] -= state.demands[task, r]
    state.waiting[task] -= 1
    state.running[task] += 1
    at.waiting -= 1
    at.started += 1
    last = at.batches - 1
    if last >= at.fresh and batches[last, TASK] == task and batches[last, MACHINE] == machine:
        batches[last, COUNT] += 1
        return
    row = at.batches
    end = at.now + state.duration[task]
    seen = int(np.ceil(end))
    if at.ticks and end == at.now + 1:  # a tick of the scheduler comes before what happens a whole second after it
        seen += 1
    seen = max(seen, at.now + 1)
    batches[row, TASK], batches[row, MACHINE], batches[row, START] = task, machine, at.now
    batches[row, END], batches[row, COUNT] = seen, 1
    state.ends[row] = end
    at.batches = row + 1
    enter(state, row)


@no_refcount
def enter(state: State, row: int) -> None:
    """A batch runs: up the heap, by when its end is seen, then when it happens, then by start."""
    at, heap = state.at, state.heap
    child = at.ending
    at.ending = child + 1
    while child > 0:
        parent = (child - 1) // 2
        if not _sooner(state, row, heap[parent]):
            break
        heap[child] = heap[parent]
        child = parent
    heap[child] = row


@no_refcount
def _sooner(state: State, one: int, other: int) -> bool:
    if state.batches[one, END] != state.batches[other, END]:
        return bool(state.batches[one, END] < state.batches[other, END])
    if state.ends[one] != state.ends[other]:
        return bool(state.ends[one] < state.ends[other])
    return one < other


@no_refcount
def _end_next(state: State) -> None:
    """The batch that ends first frees what it held, instance by instance: floats do not add up in another order."""
    at, heap, free = state.at, state.heap, state.free
    row = heap[0]
    task, machine = state.batches[row, TASK], state.batches[row, MACHINE]
    for _ in range(state.batches[row, COUNT]):
        for r in range(free.shape[1]):
            free[machine, r] += state.demands[task, r]
    state.running[task] -= state.batches[row, COUNT]
    at.ending -= 1
    count = at.ending
    moved = heap[count]
    parent = 0
    while 2 * parent + 1 < count:
        child = 2 * parent + 1
        if child + 1 < count and _sooner(state, heap[child + 1], heap[child]):
            child += 1
        if not _sooner(state, heap[child], moved):
            break
        heap[parent] = heap[child]
        parent = child
    heap[parent] = moved


@no_refcount
def next_instant(state: State) -> bool:
    """Take in all events of the next instant: ends, then submissions; False if nothing is to come."""
    at = state.at
    now = NEVER
    if at.ending:
        now = state.batches[state.heap[0], END]
    if at.arrived < len(state.visible):
        now = min(now, state.visible[at.arrived])
    if now == NEVER:
        return False
    at.now = now
    at.fresh = at.batches
    while at.ending and state.batches[state.heap[0], END] == now:
        _end_next(state)
    while at.arrived < len(state.visible) and state.visible[at.arrived] == now:
        state.queue[at.queued] = at.arrived
        at.queued += 1
        at.waiting += state.waiting[at.arrived]
        at.arrived += 1
    return True


@no_refcount
def note_pass(state: State, queued: int) -> None:
    """Record a pass before which so many instances waited, and take out of the queue what no instance is left of."""
    at, queue = state.at, state.queue
    state.log[at.passes, TIME], state.log[at.passes, QUEUED] = at.now, queued
    state.log[at.passes, STARTED] = queued - at.waiting
    at.passes += 1
    kept = 0
    for i in range(at.queued):
        if state.waiting[queue[i]] > 0:
            queue[kept] = queue[i]
            kept += 1
    at.queued = kept
    at.ordered = kept


@compiled
def next_decision(state: State) -> bool:
    """Go on to the next instant at which a waiting instance fits somewhere; False at the end of the replay."""
    while next_instant(state):
        for i in range(state.at.queued):
            for machine in range(len(state.free)):
                if fits(state, state.queue[i], machine):
                    return True
    return False
