"""What could have been: a search over orders of the tasks of a workload that knows all of them beforehand.

Each order is replayed: at every instant waiting tasks are taken in that order, and each instance goes to the machine
with the most free. Its schedules are non-delay, as those of an online policy: no machine is left idle while something
that fits waits. That such a policy could have chosen them does not mean that it could have known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import count
from time import perf_counter

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import FloatArray, IntArray
from transom.rng import stream
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.passes import Rule
from transom.simulation.placement.policies import LongestFirst
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.state import END, TASK, Arranged
from transom.traces.tasks.workload import TaskWorkload

_PARTS = 4  # of a task with many instances, each of which has a place of its own in the order
_PART = 8  # instances of a part, at least
_HOT = 0.004  # temperature at first, as a share of the makespan


@dataclass(frozen=True, slots=True)
class InOrder:
    """Tasks in a given order, each instance on the machine with the most free.

    Parameters
    ----------
    rank : the place of each task in the order, shape ``(T,)``.
    """

    rank: IntArray

    def rule(self, workload: TaskWorkload, arranged: Arranged, rng: np.random.Generator) -> Rule:
        """The rule for a replay."""
        return LongestFirst().rule(workload, arranged, rng)._replace(rank=self.rank)


def search_orders(
    workload: TaskWorkload, seconds: float | None = None, iterations: int | None = None, seed: int = 0
) -> TaskSchedule:
    """Simulated annealing over orders of the tasks, for the least makespan under textbook rules.

    It begins with the longest task first: the key of a task is the logarithm of its duration; a task with many
    instances is taken in four parts. A step changes some keys, in half of the steps one of those that end last, which
    moves to the front. It ends where the lower bound is met.

    Parameters
    ----------
    workload : all of it is known beforehand, durations too.
    seconds, iterations : when to stop at the latest; an iteration is a replay.
    seed : >= 0.

    Raises
    ------
    SpecError : neither is stated.
    """
    if seconds is None and iterations is None:
        raise SpecError("search_orders: state seconds or iterations")
    rng = stream(seed, "orders")
    bound, begin = makespan_bound(workload), perf_counter()
    parts, whole = _parts(workload)
    key = np.log(parts.duration)
    current = best = _replayed(parts, key)
    for step in count():
        gone = (perf_counter() - begin) / seconds if seconds else 0.0
        gone = max(gone, step / iterations if iterations else 0.0)
        if best.makespan <= bound or gone >= 1:
            rows = best.batches.copy()
            rows[:, TASK] = whole[rows[:, TASK]]
            return replace(best, workload=workload, batches=rows)
        moved = _moved(key, current, rng)
        schedule = _replayed(parts, moved)
        longer = schedule.makespan - current.makespan
        if longer <= 0 or rng.random() < math.exp(-longer / (_HOT * current.makespan * (1 - gone))):
            key, current = moved, schedule
            best = min(best, current, key=lambda each: each.makespan)
    raise AssertionError


def _parts(workload: TaskWorkload) -> tuple[TaskWorkload, IntArray]:
    """The workload with tasks of many instances cut into several, and which task each of these is of."""
    number = np.clip(workload.instances // _PART, 1, _PARTS)
    whole = np.repeat(np.arange(len(workload)), number)
    place = np.arange(len(whole)) - np.repeat(np.cumsum(number) - number, number)
    instances = workload.instances[whole] // number[whole] + (place < workload.instances[whole] % number[whole])
    parts = replace(
        workload,
        job=workload.job[whole],
        task_ids=np.arange(len(whole)),
        instances=instances,
        demands=workload.demands[whole],
        duration=workload.duration[whole],
        estimate=workload.estimate[whole],
    )
    return parts, whole


def _replayed(workload: TaskWorkload, key: FloatArray) -> TaskSchedule:
    rank = np.empty(len(key), np.int64)
    rank[np.argsort(-key, kind="stable")] = np.arange(len(key))
    return simulate_tasks(workload, InOrder(rank), rules=Textbook(), label="offline search")


def _moved(key: FloatArray, schedule: TaskSchedule, rng: np.random.Generator) -> FloatArray:
    """Keys of which some are changed, one of a task that ends last among them in half of the cases."""
    moved, number = key.copy(), 1 + int(rng.geometric(0.5))
    moved[rng.integers(len(key), size=number)] += rng.normal(0, 0.5, number)
    if rng.random() < 0.5:
        ends = schedule.batches[:, END]
        moved[rng.choice(schedule.batches[ends == ends.max(), TASK])] += abs(rng.normal(0, 0.7))
    return moved
