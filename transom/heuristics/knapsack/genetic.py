"""A genetic algorithm on selections of items, with repair (pymoo)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.heuristics.genetic import Genes, TimeOver, evolve, import_pymoo
from transom.heuristics.knapsack.greedy import Greedy
from transom.heuristics.knapsack.greedy_buckets import complete
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.efficiency import by_efficiency
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solving import TakesAll
from transom.stop import Budget, Stop

_PER_BIT = 6e-8  # what a generation takes for each item of each solution, by and large [s]
_LONG = 0.02  # a generation that takes longer is not begun where it would not end in time [s]
_MATINGS = 10  # attempts to find children that are not in the population yet


@dataclass(frozen=True, slots=True)
class Genetic(TakesAll):
    """pymoo's genetic algorithm: tournaments, uniform crossover, bit flips, and repair to feasibility.

    A child that is too heavy loses its least efficient items, then everything that fits is added by
    falling efficiency. The first population holds the best solution known and random ones; twins of
    living solutions are not born. It ends early when no new children come about.

    An iteration is a generation, the first population included. Time only ever ends the search: the
    same seed and number of iterations give the same answer.

    Parameters
    ----------
    population : number of solutions, > 1.

    Raises
    ------
    SpecError : ``population`` is less than 2.

    References
    ----------
    Chu, Beasley, A genetic algorithm for the multidimensional knapsack problem, Journal of
    Heuristics 4 (1998), section 4 (repair).
    """

    name: ClassVar[str] = "ga"
    solves: ClassVar[type] = Knapsack
    needs: ClassVar[tuple[str, ...]] = ("pymoo",)

    population: int = 100

    def __post_init__(self) -> None:
        if self.population < 2:
            raise SpecError(f"ga: population must be > 1, got {self.population}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Import pymoo and compile the kernels."""
        import_pymoo()
        Greedy().warm_up()
        problem = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
        Genetic(population=4)(problem, Stop(iterations=1).start(problem), np.random.default_rng(0))

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        Greedy()(problem, budget, rng)
        # The first population cannot be cut short.
        if budget.done() or budget.short(_PER_BIT * self.population * len(problem)):
            return
        reduced = reduce(problem)
        order = by_efficiency(reduced.values, reduced.weights)
        first = self._first(reduced, budget.solution, rng)

        def found(chosen: BoolArray) -> bool:
            return budget.found(reduced.solution(chosen.astype(np.bool_)))

        evolve(_genes(reduced, order, first, budget), budget, int(rng.integers(2**31)), found, _LONG)

    def _first(self, reduced: Reduced, known: BoolArray, rng: np.random.Generator) -> BoolArray:
        # Random solutions fill the capacity about as far as it reaches.
        share = reduced.capacity / int(reduced.weights.sum())
        first = rng.random((self.population, len(reduced.items))) < share
        first[0] = known[reduced.items]
        return first


def _genes(reduced: Reduced, order: IntArray, first: BoolArray, budget: Budget) -> Genes:
    def costs(x: BoolArray) -> FloatArray:
        # In floating point, for selection only: the best child is scored again, exactly.
        totals: FloatArray = x.astype(np.float64) @ reduced.values.astype(np.float64)
        return -totals

    def mutate(x: BoolArray, rng: np.random.Generator) -> BoolArray:
        flipped: BoolArray = rng.random(x.shape) < min(0.5, 1 / x.shape[1])
        return x ^ flipped

    def to_feasible(x: BoolArray) -> BoolArray:
        if budget.seconds_left() == 0:
            raise TimeOver
        repaired = np.array(x, dtype=np.bool_)
        repair(repaired, reduced.weights, reduced.capacity, order)
        return repaired

    return Genes(first, costs, mutate, to_feasible, _MATINGS)


@compiled
def repair(rows: BoolArray, weights: IntArray, capacity: int, order: IntArray) -> None:
    """Make each row feasible and maximal: drop by rising, then add by falling efficiency.

    Parameters
    ----------
    rows : selections, bool, shape ``(rows, m)``, changed in place.
    weights : int64, shape ``(m,)``.
    capacity : the capacity.
    order : positions by falling efficiency.
    """
    for chosen in rows:
        room = capacity
        for item in range(len(chosen)):
            if chosen[item]:
                room -= weights[item]
        for place in range(len(order) - 1, -1, -1):
            if room >= 0:
                break
            if chosen[order[place]]:
                chosen[order[place]] = False
                room += weights[order[place]]
        complete(chosen, weights, room, order)
