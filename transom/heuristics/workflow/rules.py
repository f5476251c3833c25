"""Rules that make a schedule of priorities: longest path, longest and shortest task first, HEFT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.sorting import radix_order
from transom.heuristics.workflow.schedules import Profile, clear, insert, list_schedule
from transom.heuristics.workflow.tasks import Tasks, longest_paths, tasks_of, waits_of
from transom.models.arrays import IntArray
from transom.models.workflow import Workflow
from transom.solving import TakesAll, presolve
from transom.stop import Budget

_CHUNK = 256  # tasks between two looks at the clock, at most,
_STEPS = 500_000  # and steps of the schedule that these may look at
_PER_TASK = 1.5e-6  # what list scheduling by three rules takes where insertion did not end, for each task [s]

SMALL = Workflow("w", ["a", "b", "c"], [2, 1, 1], [[0, 1]], resources=["m"], demands=[[1], [1], [1]]).on(1)
"""What kernels are compiled for."""


class Rule(TakesAll):
    """List scheduling: whenever something ends, the rule's first task that fits starts. It counts no iterations."""

    name: ClassVar[str]
    solves: ClassVar[type] = Workflow
    skip_presolve: ClassVar[bool] = True  # the rule's own schedule is the answer

    def warm_up(self) -> None:
        """Compile the kernels."""
        list_schedule(tasks_of(SMALL), np.arange(3))

    def scores(self, problem: Workflow) -> IntArray:
        """What tasks are ordered by, the least first; ties go to the task that stands first, shape ``(T,)``."""
        raise NotImplementedError

    def __call__(self, problem: Workflow, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if len(problem):
            budget.found(list_schedule(tasks_of(problem), ranks_of(self.scores(problem), problem))[: len(problem)])
        if budget.seconds_left() > 0:
            presolve(problem, budget)


def ranks_of(scores: IntArray, problem: Workflow) -> IntArray:
    """The position of each task in ascending order of the scores; what stands for releases comes first."""
    waits = len(waits_of(problem))
    ranks = np.empty(len(scores) + waits, np.int64)
    ranks[radix_order(scores)] = waits + np.arange(len(scores))
    ranks[len(scores) :] = np.arange(waits)
    return ranks


@dataclass(frozen=True, slots=True)
class LongestPath(Rule):
    """List scheduling by the longest path to the end of the workflow, itself included (the critical path first).

    References
    ----------
    Hu, Parallel sequencing and assembly line problems, Operations Research 9, 1961.
    """

    name: ClassVar[str] = "longest-path"

    def scores(self, problem: Workflow) -> IntArray:
        return -longest_paths(problem)


@dataclass(frozen=True, slots=True)
class LongestFirst(Rule):
    """List scheduling by falling runtime (LPT)."""

    name: ClassVar[str] = "lpt"

    def scores(self, problem: Workflow) -> IntArray:
        return -problem.durations


@dataclass(frozen=True, slots=True)
class ShortestFirst(Rule):
    """List scheduling by rising runtime."""

    name: ClassVar[str] = "shortest-first"

    def scores(self, problem: Workflow) -> IntArray:
        return problem.durations


@dataclass(frozen=True, slots=True)
class Heft(Rule):
    """HEFT on identical nodes without transfers: tasks by falling upward rank, each at the earliest start that is left.

    The upward rank is then the longest path to the end. Unlike list scheduling, a task may go into a gap before tasks
    of higher rank, and waits for its turn otherwise. Where the time is too short for all tasks, the answer is the best
    one of the other rules, as many as there is time for, ``longest-path`` first.

    References
    ----------
    Topcuoglu, Hariri and Wu, Performance-effective and low-complexity task scheduling for heterogeneous computing, IEEE
    Transactions on Parallel and Distributed Systems 13, 2002.
    """

    name: ClassVar[str] = "heft"

    def warm_up(self) -> None:
        """Compile the kernels."""
        LongestPath().warm_up()
        tasks = tasks_of(SMALL)
        profile = profile_of(tasks)
        clear(tasks, profile)
        insert(tasks, np.arange(3), 0, 3, np.zeros(3, np.int64), profile)

    def __call__(self, problem: Workflow, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if len(problem):
            starts = inserted(problem, by_rank(problem), budget)
            if starts is None:
                listed(problem, tasks_of(problem), budget, (LongestPath(), LongestFirst(), ShortestFirst()))
            budget.found(starts)
        if budget.seconds_left() > 0:
            presolve(problem, budget)


def listed(problem: Workflow, tasks: Tasks, budget: Budget, rules: Sequence[Rule]) -> None:
    """Hand over the schedules of list scheduling by some rules: the first, and the others as far as there is time."""
    took = 0.0
    for rule in rules:
        if budget.solution is not None and (budget.seconds_left() == 0 or budget.short(took)):
            return
        began = budget.seconds()
        budget.found(list_schedule(tasks, ranks_of(rule.scores(problem), problem))[: len(problem)])
        took = budget.seconds() - began


def by_rank(problem: Workflow) -> IntArray:
    """The tasks by falling longest path to the end, parents before children; what stands for releases comes first."""
    order, count = problem.order(), len(problem)
    by_path = order[radix_order(-longest_paths(problem)[order])]
    return np.concatenate((np.arange(count, count + len(waits_of(problem))), by_path))


def inserted(problem: Workflow, order: IntArray, budget: Budget) -> IntArray | None:
    """The starts that insertion in an order (:func:`by_rank`) gives, or None where the time is too short for it."""
    tasks, starts = tasks_of(problem), np.zeros(len(order), np.int64)
    profile, begin = profile_of(tasks), 0
    clear(tasks, profile)
    while begin < len(order):
        if budget.short(_PER_TASK * len(order)):
            return None
        end = min(begin + max(1, min(_CHUNK, _STEPS // int(profile.steps[0]))), len(order))
        insert(tasks, order, begin, end, starts, profile)
        begin = end
    return starts[: len(problem)]


def profile_of(tasks: Tasks) -> Profile:
    """Room for the steps of a schedule."""
    steps = 2 * len(tasks.durations) + 2
    return Profile(np.empty(steps, np.int64), np.empty((steps, len(tasks.capacity)), np.int64), np.zeros(1, np.int64))
