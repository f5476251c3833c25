"""A placement without what decides itself: identical tasks are one, machines and tasks that fit nothing are gone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.models.arrays import IntArray
from transom.models.placement import Placement

PER_TRIPLE = 4e-8
"""What merging tasks and the first prices take for each task, machine and resource [s]."""


class Reduced(NamedTuple):
    """Tasks of value that fit somewhere, machines on which something fits; identical tasks are one.

    Parameters
    ----------
    free : shape ``(M, R)``.
    demands, values : of the tasks, distinct rows, shapes ``(T, R)`` and ``(T,)``.
    waiting : instances of each, no more than fit alone, shape ``(T,)``.
    fits : how many instances of each task fit on each machine alone, shape ``(T, M)``.
    tasks : the task of the reduced problem of each task of the problem, else -1.
    machines : positions of the machines in the problem, shape ``(M,)``.
    """

    free: IntArray
    demands: IntArray
    values: IntArray
    waiting: IntArray
    fits: IntArray
    tasks: IntArray
    machines: IntArray

    def solution(self, problem: Placement, placed: IntArray) -> IntArray:
        """The solution of the problem for one of this, shape ``(T, M)``, with everything that still fits."""
        found, left = np.zeros((len(problem), len(problem.free)), np.int64), problem.waiting.copy()
        # The instances of a task here are those of the tasks that it stands for, the first ones first.
        for task, machine in np.argwhere(placed > 0).tolist():
            count = int(placed[task, machine])
            for given in np.flatnonzero(self.tasks == task).tolist():
                some = min(count, int(left[given]))
                found[given, self.machines[machine]] = some
                left[given] -= some
                count -= some
        return problem.completed(found)

    def merged(self, problem: Placement, solution: IntArray) -> IntArray:
        """A solution of the problem as one of this, shape ``(T, M)``."""
        placed = np.zeros(self.fits.shape, np.int64)
        kept = self.tasks >= 0
        np.add.at(placed, self.tasks[kept], solution[kept][:, self.machines])
        return placed

    def holds(self, placed: IntArray) -> bool:
        """Whether instances of each task on each machine, shape ``(T, M)``, exceed nothing; in exact integers."""
        if (placed < 0).any() or (placed > self.fits).any() or (placed.sum(axis=1) > self.waiting).any():
            return False
        wanted = placed.T.astype(np.float64) @ self.demands.astype(np.float64)
        # Below 2**62 in double precision is below 2**63 in truth: 64 bits hold the sum.
        return bool((wanted < 2.0**62).all() and (placed.T @ self.demands <= self.free).all())


def reduce(problem: Placement) -> Reduced:
    """What is to be decided."""
    fits = np.minimum(problem.fitting(problem.free), problem.waiting[:, None])
    fits[problem.values == 0] = 0
    kept, machines = fits.any(axis=1), np.flatnonzero(fits.any(axis=0))
    rows = np.column_stack((problem.demands, problem.values))[kept]
    rows, same = np.unique(rows, axis=0, return_inverse=True)
    waiting = np.zeros(len(rows), np.int64)
    np.add.at(waiting, same.ravel(), problem.waiting[kept])
    tasks = np.full(len(problem), -1)
    tasks[kept] = same.ravel()
    free, demands, values = problem.free[machines], rows[:, :-1].copy(), rows[:, -1].copy()
    alone = np.minimum(_alone(demands, free), waiting[:, None])
    return Reduced(free, demands, values, np.minimum(waiting, alone.sum(axis=1)), alone, tasks, machines)


def _alone(demands: IntArray, free: IntArray) -> IntArray:
    """How many instances of each task fit on each machine alone, shape ``(T, M)``."""
    limits = np.full((len(demands), len(free)), np.iinfo(np.int64).max)
    for needed, left in zip(demands.T, free.T, strict=True):
        asked = needed > 0
        limits[asked] = np.minimum(limits[asked], left // needed[asked, None])
    return limits
