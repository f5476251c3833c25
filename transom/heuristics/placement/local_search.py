"""Local search: take instances off a machine, fill it again in another way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.heuristics.placement.filling import Filling, empty, fill_by_room, fill_first, fitting, put, shares
from transom.heuristics.placement.rules import by_density
from transom.models.arrays import IntArray
from transom.models.placement import Placement
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop

_CHUNK = 256  # steps between two looks at the clock
_WORK = 100_000  # of a chunk at most, in tasks


@dataclass(frozen=True, slots=True)
class LocalSearch(TakesAll):
    """Ruin and recreate: take some instances off a random machine, fill it again at random, keep what is no worse.

    It begins with the best of first-fit, best-fit and greedy, or with ``start``. A step is kept if it is worth at least
    ``1 - deviation`` of the best value (record-to-record travel). Every answer leaves out nothing that still fits. An
    iteration is a step; time only ever ends the search. Without any limit it takes 100,000 steps.

    Parameters
    ----------
    deviation : by how much a step may be worse than the best value, as a share of it, 0 <= deviation < 1.

    Raises
    ------
    SpecError : the condition above does not hold.

    References
    ----------
    Dueck, New optimization heuristics, Journal of Computational Physics 104, 1993; Schrimpf et al., Record breaking
    optimization results using the ruin and recreate principle, Journal of Computational Physics 159, 2000.
    """

    name: ClassVar[str] = "local-search"
    solves: ClassVar[type] = Placement

    deviation: float = 0.0005

    def __post_init__(self) -> None:
        if not 0 <= self.deviation < 1:
            raise SpecError(f"local-search: 0 <= deviation < 1 must hold, got {self.deviation}")

    def warm_up(self) -> None:
        """Compile the kernels."""
        problem = Placement([[2, 2], [1, 1]], [[1, 1], [0, 1]], [2, 2])
        now = self._begin(problem, Stop().start(problem), None)
        worth = np.full(2, problem.value(now.placed))
        search(now, problem.values.copy(), now.placed.copy(), worth, 0.0, np.random.default_rng(0), 1)

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if not presolve(problem, budget):
            self.improve(problem, budget, rng, start)

    def improve(self, problem: Placement, budget: Budget, rng: np.random.Generator, start: Any) -> None:
        """Search, without a look at what is obvious."""
        now = self._begin(problem, budget, start)
        if budget.seconds_left() == 0:
            now.placed.flags.writeable = False  # the budget need not copy it
        budget.found(now.placed)
        if budget.done():
            return
        values, best = problem.values.copy(), now.placed.copy()
        worth = np.full(2, problem.value(best))
        chunk = max(1, min(_CHUNK, _WORK // len(best)))
        endless = budget.seconds_left() == math.inf and budget.iterations_left() is None
        while not budget.done() and not (endless and budget.iterations >= 100_000):
            limit = budget.iterations_left()
            count = chunk if limit is None else min(chunk, limit)
            began = budget.seconds()
            better_at = search(now, values, best, worth, self.deviation, rng, count)
            if better_at:
                budget.spend(better_at)
                budget.found(best)
            budget.spend(count - better_at)
            if budget.short(budget.seconds() - began):  # what the next steps take
                return

    def _begin(self, problem: Placement, budget: Budget, start: Any) -> Filling:
        """The best of some rules, as many as there is time for, and of what is given."""
        found: list[Filling] = []
        began = budget.seconds()
        for order in (by_density(problem), np.arange(len(problem))):  # the better one first
            for fit in (False, True):
                if found and budget.short(2 * (budget.seconds() - began) / len(found)):  # a rule, and the judge
                    break
                now = empty(problem)
                if fit:
                    fill_by_room(now, order, shares(problem), False)
                else:
                    fill_first(now, order)
                found.append(now)
        if start is not None:
            now = empty(problem)
            for task, machine in np.argwhere(np.asarray(start) > 0).tolist():
                put(now, task, machine, int(start[task][machine]))
            fill_first(now, np.arange(len(problem)))
            found.append(now)
        return found[0] if len(found) == 1 else max(found, key=lambda now: problem.value(now.placed))


@compiled
def search(
    now: Filling,
    values: IntArray,
    best: IntArray,
    worth: IntArray,
    deviation: float,
    rng: np.random.Generator,
    steps: int,
) -> int:
    """Take steps from ``now``; ``best`` becomes the best placement that was met.

    Parameters
    ----------
    now : nothing that waits may fit; it is changed.
    values : what an instance of each task is worth, shape ``(T,)``.
    best : the best placement so far, shape ``(T, M)``.
    worth : what ``best`` and ``now`` are worth, shape ``(2,)``; it is changed.

    Returns
    -------
    The step that made ``best`` what it is, from 1; 0 if none did.
    """
    tasks, machines = best.shape
    # What a step may change, to undo it: a column of all tasks and rows of those that are taken off.
    column, rows = np.empty(tasks, np.int64), np.empty((4, machines), np.int64)
    room, left = np.empty_like(now.room), np.empty(tasks, np.int64)
    held, fits = np.empty(tasks, np.int64), np.empty(tasks, np.int64)
    better_at = 0
    for step in range(1, steps + 1):
        room[:], left[:] = now.room, now.left
        machine, number = int(rng.integers(0, machines)), 0
        for task in range(tasks):
            column[task] = now.placed[task, machine]
            if column[task] > 0:
                held[number] = task
                number += 1
        if number == 0:
            continue
        trial = worth[1]
        taken = rng.integers(1, min(number, 4) + 1)
        for k in range(taken):
            at = rng.integers(k, number)
            held[k], held[at] = held[at], held[k]
            task = held[k]
            for m in range(machines):
                rows[k, m] = now.placed[task, m]
            count = int(rng.integers(1, now.placed[task, machine] + 1))
            put(now, task, machine, -count)
            trial -= values[task] * count
        while True:
            number = 0
            for task in range(tasks):
                if fitting(now, task, machine) > 0:
                    fits[number] = task
                    number += 1
            if number == 0:
                break
            task = fits[rng.integers(0, number)]
            count = int(rng.integers(1, fitting(now, task, machine) + 1))
            put(now, task, machine, count)
            trial += values[task] * count
        # What was taken off may fit elsewhere, where nothing that waited before did.
        for k in range(taken):
            for m in range(machines):
                count = fitting(now, held[k], m)
                if count > 0:
                    put(now, held[k], m, count)
                    trial += values[held[k]] * count
        if trial < worth[0] - deviation * worth[0]:
            for k in range(taken):
                for m in range(machines):
                    now.placed[held[k], m] = rows[k, m]
            for task in range(tasks):
                now.placed[task, machine] = column[task]
            now.room[:], now.left[:] = room, left
            continue
        worth[1] = trial
        if trial > worth[0]:
            worth[0], better_at = trial, step
            best[:] = now.placed
    return better_at
