"""One pass over the jobs: the heaviest by node first, each where it fits best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.heuristics.joint.room import Jobs, insert, jobs_of, owners, room_of
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.models.joint import Joint
from transom.solving import TakesAll, presolve
from transom.stop import Budget

_PASSES = 30  # over the mandatory jobs, at most


@dataclass(frozen=True, slots=True)
class JointGreedy(TakesAll):
    """Mandatory jobs by falling size, then the others by falling weight per node, each by best fit.

    Best fit goes to the lowest level with a switch that has room for the job, there to the fullest one, and in it takes
    whole switches, the largest first. A job that would cost more than its weight is left out. Mandatory jobs that find
    no room within their limits on leaf switches come first in another pass over the mandatory ones, again and again;
    where some never do there is no answer. It counts no iterations.
    """

    name: ClassVar[str] = "joint-greedy"
    solves: ClassVar[type] = Joint

    def warm_up(self) -> None:
        """Compile the kernels."""
        construct(TINY)
        TINY.value(np.zeros(2, np.int64))

    def __call__(self, problem: Joint, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        owner = construct(problem)
        if problem.violations(owner):
            budget.notes["ended"] = "no pass places all mandatory jobs"
        else:
            budget.found(owner)


TINY = Joint(FatTree.k_ary(2), np.arange(2), np.array([2]), np.array([1]))
"""What kernels are compiled on."""


def order_of(jobs: Jobs) -> IntArray:
    """Jobs by falling weight per node, of equal ones the largest first; the raised weights put mandatory ones first."""
    return np.lexsort((-jobs.sizes, -jobs.weights / jobs.sizes)).astype(np.int64)


def construct(problem: Joint) -> IntArray:
    """The greedy answer; without mandatory jobs that did not fit."""
    empty, leaf = room_of(problem)
    jobs = jobs_of(problem)
    order = order_of(jobs)
    must = problem.must[order]
    first = order[must][np.argsort(-jobs.sizes[order[must]], kind="stable")]
    tried: set[bytes] = set()
    while True:
        room = empty._replace(free=empty.free.copy())
        counts, gains = np.zeros((len(problem), room.above.shape[1]), np.int64), np.zeros(len(problem))
        insert(room, jobs, first, counts, gains)
        placed = gains[first] > 0
        tried.add(first.tobytes())
        ahead = np.concatenate((first[~placed], first[placed]))
        if placed.all() or ahead.tobytes() in tried or len(tried) > _PASSES:
            break
        first = ahead
    insert(room, jobs, order[~must], counts, gains)
    return owners(problem, leaf, counts)
