"""Local search for free allocation, on counts of nodes per leaf switch and pod."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from transom.errors import SpecError
from transom.heuristics.allocation.annealing import Schedule
from transom.heuristics.allocation.arrays import allocation_arrays, best_known
from transom.heuristics.allocation.best_fit import best_fit
from transom.heuristics.allocation.counts import Books, Layout, open_books, search_counts
from transom.heuristics.allocation.dp_polish import DpPolish
from transom.heuristics.allocation.recreation import Places
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop

_CHUNK = 4096  # most steps between two looks at the clock
_WORK = 400_000  # entries looked at between them, about
_PER_ENTRY = 1e-10  # seconds an entry takes when jobs are placed anew, at most about
_SHARE = 0.3  # of the time, for the solution to begin with


@dataclass(frozen=True, slots=True)
class CountSearch:
    r"""Free allocation by annealing on counts per leaf switch: exchanges, and jobs placed anew.

    A step lets two jobs (or a job and the nodes that stay idle) change as many nodes between two leaf
    switches, one or as many as both have; or takes up to three jobs near each other off and gives each
    its own optimum on what is free, some switches overlooked at random: the fullest leaf switches first
    inside a pod, a knapsack over pods (on deeper trees below one switch that holds the job, where
    there is one). A loss :math:`\Delta` is accepted with probability
    :math:`e^{-\Delta/T}`; T falls geometrically from ``initial`` to ``final`` within ``steps`` steps (fewer, if
    the budget has fewer iterations), then the next run starts from the best solution; without any limit
    there is one run. The search begins with the best of best-fit (jobs in the window's order and by size),
    the start, and with ``begin=dp-polish`` what ``dp-polish`` finds under the dynamic rule.

    An iteration is a step. Time only ever ends a search: the same seed and number of iterations give the
    same answer.

    Parameters
    ----------
    steps : steps of one run, > 0.
    initial, final : temperatures in units of the mean cost of a job at the beginning, initial >= final > 0.
    ruin : one of so many steps places jobs anew, 0 for none.
    begin : what to begin with; ``start`` is the solution that the search is given, if it is given one.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    name: ClassVar[str] = "count-search"
    solves: ClassVar[type] = Allocation

    steps: int = 20_000
    initial: float = 0.05
    final: float = 0.002
    ruin: int = 10
    begin: Literal["best-fit", "dp-polish", "start"] = "dp-polish"

    def __post_init__(self) -> None:
        if self.steps <= 0:
            raise SpecError(f"count-search: steps must be > 0, got {self.steps}")
        if not 0 < self.final <= self.initial < math.inf:
            raise SpecError(
                f"count-search: 0 < final <= initial must hold, got final={self.final}, initial={self.initial}"
            )
        if self.ruin < 0:
            raise SpecError(f"count-search: ruin must be >= 0, got {self.ruin}")

    def supports(self, problem: Allocation, /) -> str | None:
        """The free rule without limits on leaf switches."""
        return problem.limited if problem.rule == "free" else "it searches under the free rule only"

    def warm_up(self) -> None:
        """Compile the kernels."""
        _warm_up()
        if self.begin == "dp-polish":
            DpPolish().warm_up()

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        best_known(problem, budget, start)
        if start is None or self.begin != "start":
            self._begin(problem, budget, rng)
        search = Search(problem, budget.solution)
        cost = float(problem.job_costs(budget.solution).mean()) or 1.0
        temperatures = np.array([self.initial, self.final]) * cost
        while not budget.done():
            limit = budget.stop.iterations
            steps = self.steps if limit is None else min(self.steps, limit - budget.iterations)
            search.restart()
            first = 0
            while first < steps:
                left = budget.iterations_left()
                # With 10,000 nodes a job, placing three anew takes longer than a budget may be overrun.
                ruin = self.ruin if budget.seconds_left() > search.anew * _PER_ENTRY else 0
                count = min(_CHUNK, max(1, _WORK // search.work(ruin)), steps - first)
                count = count if left is None else min(count, left)
                better_at = search.run(rng, temperatures, ruin, first, count, steps)
                if better_at:
                    budget.spend(better_at)
                    budget.found(search.solution())
                budget.spend(count - better_at)
                first += count
                if budget.done():
                    return
            if budget.seconds_left() == math.inf and budget.iterations_left() is None:
                return

    def _begin(self, problem: Allocation, budget: Budget, rng: np.random.Generator) -> None:
        data = allocation_arrays(problem)
        for by_size in (False, True):
            if (owner := best_fit(problem, data, by_size, budget)) is not None:
                budget.found(owner)
        if self.begin == "dp-polish" and not budget.done():
            dynamic = problem.with_rule("dynamic")
            left = budget.seconds_left()
            stop = Stop(seconds=None if left == math.inf else max(left * _SHARE, 1e-9), target=budget.stop.target)
            polish = budget.nested(stop, dynamic)
            DpPolish()(dynamic, polish, rng)
            budget.found(polish.solution)


class Search:
    """A solution that is changed step by step, and the best one met.

    Parameters
    ----------
    problem : an allocation under the free rule, with at least one job.
    solution : where to begin.
    """

    def __init__(self, problem: Allocation, solution: IntArray) -> None:
        data = allocation_arrays(problem)
        n = len(problem.idle)
        self._order = np.lexsort((data.leaf, data.pod, *data.upper))
        # Numbered along the places, so that the switches of a pod follow each other.
        changes = np.diff(np.column_stack((data.leaf, data.pod))[self._order], axis=0, prepend=-1) != 0
        new_leaf, new_pod = changes.any(axis=1), changes[:, 1]
        columns = 2 + int(new_pod.sum())
        upper = np.empty((len(data.upper), n), np.int64)
        for level, switch in enumerate(data.upper):
            upper[level] = columns + switch[self._order]
            columns += int(switch.max()) + 1
        places = Places(
            np.cumsum(new_leaf) - 1, np.cumsum(new_pod) - 1,
            np.append(np.flatnonzero(new_leaf), n), np.append(np.flatnonzero(new_pod), n), upper,
        )  # fmt: skip
        self._jobs = len(problem)
        sizes = np.append(problem.sizes, n - problem.sizes.sum())
        self.layout = Layout(places, sizes, np.concatenate(([0], np.cumsum(sizes))), data.weights)
        owner = solution[self._order]
        self._best = np.where(owner < 0, self._jobs, owner)
        self._state = np.array([problem.job_costs(solution).sum()])
        counts = np.zeros((self._jobs + 1, columns), np.int64)
        owner, held, slot = np.zeros((3, n), np.int64)
        self.books = Books(owner, held, slot, counts)

        pods, largest = min(32, columns), int(problem.sizes.max())
        knapsack = pods * largest * min(largest, n // pods + 1)
        self.anew = 3 * (4 * n + counts.size + knapsack)
        """How many entries placing jobs anew looks at, at most about."""

    def work(self, ruin: int) -> int:
        """How many entries a step looks at, about."""
        return 64 + (self.anew // ruin if ruin else 0)

    def restart(self) -> None:
        """Go back to the best solution."""
        open_books(self._best, self.layout, self.books)

    def run(
        self, rng: np.random.Generator, temperatures: np.ndarray, ruin: int, first: int, count: int, steps: int
    ) -> int:
        """Take steps of a run; after how many of them the best solution was met, 0 if it was none of them."""
        schedule = Schedule(temperatures, first, first + count, steps)
        return search_counts(rng, self.books, self._best, self._state, self.layout, ruin, schedule)

    def solution(self) -> IntArray:
        """The best solution, shape ``(idle nodes,)``."""
        owner = np.empty_like(self._best)
        owner[self._order] = np.where(self._best == self._jobs, -1, self._best)
        return owner


@cache
def _warm_up() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(12), np.array([4, 4]), "free")
    for ruin in (0, 2):
        search = CountSearch(steps=20, ruin=ruin, begin="best-fit")
        search(problem, Stop().start(problem), np.random.default_rng(0))
