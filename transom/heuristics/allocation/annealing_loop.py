"""The loop of simulated annealing on allocations: runs of steps in chunks under a budget, whatever a step does."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from transom._system.records import record
from transom.errors import SpecError
from transom.heuristics.allocation import annealing
from transom.heuristics.allocation.arrays import allocation_arrays, fines, offer
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.stop import Budget

Nested = Literal["remove", "refuse", "pass"]
"""What to do where a job is taken away from the gap of another, so that no order of placing leads there."""

_WORK = 400_000  # entries looked at between two looks at the clock: about a millisecond


class Walk(Protocol):
    """Where a search stands, and the best it met."""

    work: int
    """Entries that a step looks at, about."""

    def run(self, rng: np.random.Generator, temperatures: FloatArray, first: int, count: int, steps: int) -> int:
        """Take steps of a run; after how many of them the best solution was met, 0 if it was none of them."""

    def restart(self) -> None:
        """Go back to the best solution."""

    def hand_over(self, budget: Budget) -> None:
        """Hand over the best solution."""


@dataclass(frozen=True, slots=True)
class Annealing:
    """The parameters of a search and the loop over its steps; what a step does is the walk's affair.

    The parameters are those of :class:`~transom.heuristics.allocation.simulated_annealing.AllocationAnnealing`. A class
    that is made of this one sets ``name``.
    """

    name: ClassVar[str]

    acceptance: Literal["metropolis", "walk"] = "metropolis"
    tmax: float = 2500.0
    tmin: float = 2.5
    steps: int = 500
    remove: int = 2
    order: Literal["size", "window"] = "size"
    restarts: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.tmin <= self.tmax < math.inf:
            raise SpecError(f"{self.name}: 0 < tmin <= tmax must hold, got tmin={self.tmin}, tmax={self.tmax}")
        if self.steps <= 0:
            raise SpecError(f"{self.name}: steps must be > 0, got {self.steps}")
        if self.remove <= 0:
            raise SpecError(f"{self.name}: remove must be > 0, got {self.remove}")

    def options(self, wrap: bool, nested: int = annealing.ANYTHING) -> annealing.Options:
        """Options of the kernels."""
        options = record(annealing.Options)
        options.wrap = wrap
        options.remove = self.remove
        options.by_size = self.order == "size"
        options.walk = self.acceptance == "walk"
        options.nested = nested
        return options

    def moves(self, problem: Allocation, nested: Nested | None) -> annealing.Options:
        """Options of the kernels where jobs go on what is left of Q: under the dynamic and the free rule."""
        if problem.rule == "free":
            return self.options(True)
        chosen = nested or ("pass" if self.acceptance == "walk" else "remove")
        known = {"remove": annealing.MEND, "refuse": annealing.REFUSE, "pass": annealing.PASS}
        return self.options(problem.wrap, known[chosen])

    def anneal(self, walk: Walk, budget: Budget, rng: np.random.Generator) -> None:
        """Take the steps of a run, and of further ones with ``restarts``, while the budget lasts."""
        temperatures = np.array([self.tmax, self.tmin])
        chunk = max(1, _WORK // walk.work)
        while not budget.done():
            limit = budget.stop.iterations
            steps = self.steps if limit is None else min(self.steps, limit - budget.iterations)
            first = 0
            while first < steps:
                # The stall limit may end a chunk early, but never changes what its steps do.
                left = budget.iterations_left()
                count = min(chunk, steps - first, chunk if left is None else left)
                better_at = walk.run(rng, temperatures, first, count, steps)
                if better_at:
                    budget.spend(better_at)
                    walk.hand_over(budget)
                budget.spend(count - better_at)
                first += count
                if budget.done():
                    return
            if not self.restarts or (budget.seconds_left() == math.inf and budget.iterations_left() is None):
                return
            walk.restart()


class OnWhatIsLeft:
    """Jobs on consecutive entries of what is left of Q.

    Parameters
    ----------
    problem : under the dynamic or the free rule.
    owner : where the search begins, shape ``(idle nodes,)``.
    options : as :meth:`Annealing.moves` gives them.
    kernel : takes the steps, as :func:`transom.heuristics.allocation.left_annealing.anneal_left` does.
    more : what the kernel takes behind the arguments of that one.
    work : entries that a step looks at, about; from the number of idle nodes unless given.
    """

    def __init__(
        self,
        problem: Allocation,
        owner: IntArray,
        options: annealing.Options,
        kernel: Callable[..., Any],
        more: tuple[Any, ...] = (),
        work: int | None = None,
    ) -> None:
        self._problem, self._arrays, self._options = problem, allocation_arrays(problem), options
        self._kernel, self._more = kernel, more
        self._best, self._state = owner.copy(), np.zeros(1)
        self.restart()
        self._state[0] = self._standing.costs.sum()
        self.work = work or 8 * len(owner) + 64

    def restart(self) -> None:
        """Go back to the best solution."""
        costs = self._problem.job_costs(self._best) + fines(self._problem, self._best, self._arrays)
        self._standing: Any = annealing.Standing(self._best.copy(), costs, self._best, self._state)

    def run(self, rng: np.random.Generator, temperatures: FloatArray, first: int, count: int, steps: int) -> int:
        """Take steps of a run; after how many of them the best solution was met, 0 if it was none of them."""
        schedule = annealing.Schedule(temperatures, first, first + count, steps)
        return int(self._kernel(rng, self._standing, self._arrays, self._options, schedule, *self._more))

    def hand_over(self, budget: Budget) -> None:
        """Hand over the best solution."""
        offer(self._problem, budget, self._best)
