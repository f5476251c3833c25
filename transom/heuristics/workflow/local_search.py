"""Local search over priority lists, each made into a schedule forwards, backwards and forwards again."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import stable_order
from transom.heuristics.workflow.rules import (
    SMALL,
    Heft,
    LongestFirst,
    LongestPath,
    by_rank,
    inserted,
    listed,
    profile_of,
)
from transom.heuristics.workflow.schedules import Profile, clear, insert
from transom.heuristics.workflow.tasks import Tasks, reverse, tasks_of
from transom.models.arrays import IntArray
from transom.models.workflow import Workflow
from transom.solving import TakesAll, presolve
from transom.stop import Budget

_WORK = 5_000  # tasks of a chunk of steps, between two looks at the clock
_STEPS = 20_000  # without any limit
_MOVES = 3  # of a step, at most


@dataclass(frozen=True, slots=True)
class LocalSearch(TakesAll):
    """Moves of tasks in a priority list; of each list a schedule, justified backwards and forwards.

    It begins with the best of list scheduling (longest path, longest first) and HEFT, or with ``start``. A step moves
    up to three tasks to other places between their parents and children in the list, inserts all tasks in this order,
    then from the end backwards by their ends, then forwards by their starts (forward-backward improvement), and is kept
    if it ends no later. An iteration is a step. Without any limit it takes 20,000 steps.

    References
    ----------
    Valls, Ballestín and Quintanilla, Justification and RCPSP: a technique that pays, European Journal of Operational
    Research 165, 2005.
    """

    name: ClassVar[str] = "local-search"
    solves: ClassVar[type] = Workflow

    def warm_up(self) -> None:
        """Compile the kernels."""
        for each in (LongestPath(), Heft()):
            each.warm_up()
        tasks, order = tasks_of(SMALL), np.arange(3)
        search(tasks, reverse(tasks), order, np.zeros(3, np.int64), profile_of(tasks), np.random.default_rng(0), 1)

    def __call__(self, problem: Workflow, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if budget.seconds_left() == 0 or not presolve(problem, budget):
            self.improve(problem, budget, rng, start)

    def improve(self, problem: Workflow, budget: Budget, rng: np.random.Generator, start: Any) -> None:
        """Search, without a look at what is obvious."""
        tasks = tasks_of(problem)
        listed(problem, tasks, budget, (LongestPath(), LongestFirst()))
        if start is not None:
            budget.found(start)
        began = budget.seconds()
        if budget.seconds_left() == 0:
            return
        schedule = inserted(problem, by_rank(problem), budget)
        if schedule is None:
            return
        budget.found(schedule)
        if budget.short(4 * (budget.seconds() - began)):  # what a step takes
            return
        waits = len(tasks.durations) - len(problem)  # what stands for releases, from the start on
        starts = np.append(np.array(budget.solution), np.zeros(waits, np.int64))
        topological = problem.order()  # of equal starts, parents before children
        order = topological[np.argsort(starts[topological], kind="stable")]
        order = np.concatenate((np.arange(len(problem), len(starts)), order))
        backwards, profile, steps = reverse(tasks), profile_of(tasks), max(1, _WORK // len(problem))
        endless = budget.seconds_left() == math.inf and budget.iterations_left() is None
        while not budget.done() and not (endless and budget.iterations >= _STEPS):
            left = budget.iterations_left()
            count = steps if left is None else min(steps, left)
            began = budget.seconds()
            better_at = search(tasks, backwards, order, starts, profile, rng, count)
            if better_at:
                budget.spend(better_at)
                budget.found(starts[: len(problem)])
            budget.spend(count - better_at)
            if budget.short(budget.seconds() - began):  # what the next steps take
                return


@compiled
def search(
    tasks: Tasks,
    backwards: Tasks,
    order: IntArray,
    starts: IntArray,
    profile: Profile,
    rng: np.random.Generator,
    steps: int,
) -> int:
    """Take steps from a priority list.

    Parameters
    ----------
    backwards : the tasks in reverse.
    order : the list, parents before children; it is changed, shape ``(T,)``.
    starts : of the best schedule so far; they become those of a better one, shape ``(T,)``.
    profile : room for a schedule.

    Returns
    -------
    The step that made ``starts`` what they are, from 1; 0 if none did.
    """
    count, record, better_at = len(order), 0, 0
    for task in range(count):
        record = max(record, int(starts[task] + tasks.durations[task]))
    trial, now, keys = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    place = np.empty(count, np.int64)
    for step in range(1, steps + 1):
        for k in range(count):
            trial[k] = order[k]
            place[order[k]] = k
        for _ in range(rng.integers(1, _MOVES + 1)):
            move(tasks, trial, place, int(rng.integers(0, count)), rng)
        clear(tasks, profile)
        insert(tasks, trial, 0, count, now, profile)
        # Ties in reverse: where a task takes no time, children still stand before parents.
        for k in range(count):
            keys[k] = -(now[trial[count - 1 - k]] + tasks.durations[trial[count - 1 - k]])
        by_end = stable_order(keys)
        for k in range(count):
            place[k] = trial[count - 1 - by_end[k]]
        clear(tasks, profile)
        insert(backwards, place, 0, count, now, profile)
        for k in range(count):
            keys[k] = -(now[trial[k]] + tasks.durations[trial[k]])
        by_start = stable_order(keys)
        for k in range(count):
            place[k] = trial[by_start[k]]
        clear(tasks, profile)
        latest = insert(tasks, place, 0, count, now, profile)
        if latest > record:
            continue
        for k in range(count):
            order[k] = place[k]
        if latest < record:
            record, better_at = latest, step
            for task in range(count):
                starts[task] = now[task]
    return better_at


@compiled
def move(tasks: Tasks, order: IntArray, place: IntArray, at: int, rng: np.random.Generator) -> None:
    """Move the task at a position of a list to a random one between its parents and its children.

    Parameters
    ----------
    order, place : the list, and where each task stands in it; both are changed.
    """
    task, low, high = order[at], 0, len(order) - 1
    for k in range(tasks.parents_from[task], tasks.parents_from[task + 1]):
        low = max(low, int(place[tasks.parents[k]]) + 1)
    for k in range(tasks.children_from[task], tasks.children_from[task + 1]):
        high = min(high, int(place[tasks.children[k]]) - 1)
    to = int(rng.integers(low, high + 1))
    step = 1 if to > at else -1
    for k in range(at, to, step):
        order[k] = order[k + step]
        place[order[k]] = k
    order[to], place[task] = task, to
