"""Filling machines by a rule, until nothing that waits fits any more."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.heuristics.placement.scores import alignment, dominant_share, room
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.placement import Placement

_GROUPS = 1024


class Filling(NamedTuple):
    """A placement that grows: every rule changes ``room``, ``left`` and ``placed``.

    Parameters
    ----------
    demands : what an instance of each task needs, shape ``(T, R)``.
    room : what is left of each machine's resources, shape ``(M, R)``.
    left : instances that wait, shape ``(T,)``.
    placed : instances of each task on each machine, shape ``(T, M)``.
    """

    demands: IntArray
    room: IntArray
    left: IntArray
    placed: IntArray


def empty(problem: Placement) -> Filling:
    """Nothing is placed yet."""
    # Copies, since the kernels would be compiled once more for arrays that are read-only.
    placed = np.zeros((len(problem), len(problem.free)), np.int64)
    return Filling(problem.demands.copy(), problem.free.copy(), problem.waiting.copy(), placed)


def shares(problem: Placement) -> FloatArray:
    """One per capacity of each machine and resource, 0 where there is none, shape ``(M, R)``."""
    capacities = problem.capacities.astype(np.float64)
    return np.divide(1.0, capacities, out=np.zeros(capacities.shape), where=capacities > 0)


@compiled
def fitting(now: Filling, task: int, machine: int) -> int:
    """How many waiting instances of a task fit on a machine."""
    count = now.left[task]
    for r in range(now.room.shape[1]):
        needed = now.demands[task, r]
        if needed > 0:
            if needed > now.room[machine, r]:
                return 0
            count = min(count, now.room[machine, r] // needed)
    return int(count)


@compiled
def put(now: Filling, task: int, machine: int, count: int) -> None:
    """Place instances of a task on a machine; a negative number takes them away."""
    now.left[task] -= count
    now.placed[task, machine] += count
    for r in range(now.room.shape[1]):
        now.room[machine, r] -= count * now.demands[task, r]


@compiled
def one(now: Filling, task: int, machine: int) -> int:
    """Place an instance, or where more than a thousand fit a thousandth of them, and say how many."""
    count = max(1, fitting(now, task, machine) // _GROUPS)
    put(now, task, machine, count)
    return count


@compiled
def fill_first(now: Filling, order: IntArray) -> None:
    """Each instance goes on the first machine that it fits on, tasks in an order."""
    for task in order:
        for machine in range(len(now.room)):
            if now.left[task] == 0:
                break
            count = fitting(now, task, machine)
            if count > 0:
                put(now, task, machine, count)


@compiled
def fill_by_room(now: Filling, order: IntArray, share: FloatArray, most: bool) -> None:
    """Each instance goes on the machine that has the most or the least room among those that it fits on.

    Parameters
    ----------
    share : :func:`shares`; the room is the sum of what is left of each resource as a share of the capacity.
    most : whether to take the machine with the most room.
    """
    machines = len(now.room)
    free = np.zeros(machines)
    for m in range(machines):
        free[m] = room(now.room, m, share)
    for task in order:
        while now.left[task] > 0:
            best = -1
            for m in range(machines):
                # What costs less is asked first.
                better = best < 0 or (free[m] > free[best] if most else free[m] < free[best])
                if better and fitting(now, task, m) > 0:
                    best = m
            if best < 0:
                break
            one(now, task, best)
            free[best] = room(now.room, best, share)


class Aligned(NamedTuple):
    """The best task of each machine and its score, and whether they are out of date; each of shape ``(M,)``."""

    score: FloatArray
    best: IntArray
    stale: BoolArray


@compiled
def fill_aligned(now: Filling, weights: FloatArray, machines: Aligned, looks: int) -> bool:
    """The pair of machine and task with the largest :func:`alignment`, of equal ones the first, repeatedly.

    Parameters
    ----------
    weights : of the products, shape ``(M, R)``.
    machines : at first all are stale; it is changed.
    looks : at pairs, about, after which it returns.

    Returns
    -------
    Whether nothing fits any more; else it is to be called again.
    """
    score, best, stale, tasks = machines.score, machines.best, machines.stale, len(now.demands)
    while True:
        chosen = -1
        for m in range(len(now.room)):
            if stale[m] or (best[m] >= 0 and now.left[best[m]] == 0):
                if looks <= 0:
                    return False
                looks -= tasks
                best[m], stale[m] = -1, False
                for task in range(tasks):
                    if fitting(now, task, m) > 0:
                        product = alignment(now.room, m, now.demands, task, weights)
                        if best[m] < 0 or product > score[m]:
                            best[m], score[m] = task, product
            if best[m] >= 0 and (chosen < 0 or score[m] > score[chosen]):
                chosen = m
        if chosen < 0:
            return True
        one(now, best[chosen], chosen)
        stale[chosen] = True


class Users(NamedTuple):
    """Instances that each task, which is a user of its own, holds, and its dominant share; each of shape ``(T,)``."""

    held: IntArray
    share: FloatArray


@compiled
def fill_fairly(now: Filling, share: FloatArray, first: IntArray, users: Users, looks: int) -> bool:
    """An instance of the task with the least dominant share, again and again, on the first machine that it fits on.

    Parameters
    ----------
    share : what part of all machines a unit of each resource is, shape ``(R,)``.
    first : the first machine that each task may fit on, at first 0, shape ``(T,)``; it is changed.
    users : at first nobody holds anything; it is changed.
    looks : at tasks, about, after which it returns.

    Returns
    -------
    Whether nothing fits any more; else it is to be called again.
    """
    tasks, machines = len(now.demands), len(now.room)
    # Room only shrinks: a machine on which a task does not fit is never looked at again for it.
    while True:
        chosen = -1
        for task in range(tasks):
            while first[task] < machines and fitting(now, task, first[task]) == 0:
                first[task] += 1
                looks -= 1
            if looks <= 0:
                return False
            if first[task] < machines and (chosen < 0 or users.share[task] < users.share[chosen]):
                chosen = task
        looks -= tasks
        if chosen < 0:
            return True
        users.held[chosen] += one(now, chosen, first[chosen])
        users.share[chosen] = dominant_share(users.held, now.demands, chosen, chosen + 1, share)


@compiled
def fill_at_random(now: Filling, rng: np.random.Generator, pairs: IntArray, number: IntArray, looks: int) -> bool:
    """A pair of task and machine that fit, each as likely as any other, again and again.

    Parameters
    ----------
    pairs, number : those that may still fit, the first ``number[0]`` of them, at first all; both are changed.
    looks : at pairs, after which it returns.

    Returns
    -------
    Whether nothing fits any more; else it is to be called again.
    """
    machines = len(now.room)
    for _ in range(looks):
        if number[0] == 0:
            return True
        at = rng.integers(0, number[0])
        task, machine = pairs[at] // machines, pairs[at] % machines
        if fitting(now, task, machine) > 0:
            one(now, task, machine)
        else:  # nor will it later
            number[0] -= 1
            pairs[at] = pairs[number[0]]
    return False
