"""A genetic algorithm on selections of items, with repair (pymoo)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.heuristics.knapsack.greedy import Greedy
from transom.heuristics.knapsack.greedy_buckets import complete
from transom.models.arrays import BoolArray, IntArray
from transom.models.efficiency import by_efficiency
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.stop import Budget, Stop

_PATIENCE = 100  # generations without a better value, where the budget has no limit at all
_PER_BIT = 6e-8  # what a generation takes for each item of each solution, by and large [s]
_LONG = 0.02  # a generation that takes longer is not begun where it would not end in time [s]
_MATINGS = 10  # attempts to find children that are not in the population yet


@dataclass(frozen=True, slots=True)
class Genetic:
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

    def supports(self, problem: Knapsack, /) -> str | None:
        """Every knapsack."""
        return None

    def warm_up(self) -> None:
        """Import pymoo and compile the kernels."""
        _warm_up()

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        Greedy()(problem, budget, rng)
        # The first population cannot be cut short.
        if budget.done() or budget.short(_PER_BIT * self.population * len(problem)):
            return
        reduced = reduce(problem)
        order = by_efficiency(reduced.values, reduced.weights)
        first = self._first(reduced, budget.solution, rng)
        algorithm = _algorithm(reduced, order, first, budget, int(rng.integers(2**31)))
        unlimited = budget.seconds_left() == math.inf and budget.iterations_left() is None
        better_at, took = 0, 0.0
        while not budget.done() and not (unlimited and budget.iterations - better_at >= _PATIENCE):
            if budget.short(took if took > _LONG else 0.0):
                return
            began = budget.seconds()
            try:
                children = algorithm.ask()
            except _TimeOver:
                return
            if children is None or not len(children):
                return
            algorithm.evaluator.eval(algorithm.problem, children)
            algorithm.tell(infills=children)
            budget.spend()
            best = children[int(children.get("F")[:, 0].argmin())].X.astype(np.bool_)
            if budget.found(reduced.solution(best)):
                better_at = budget.iterations
            took = budget.seconds() - began

    def _first(self, reduced: Reduced, known: BoolArray, rng: np.random.Generator) -> BoolArray:
        # Random solutions fill the capacity about as far as it reaches.
        share = reduced.capacity / int(reduced.weights.sum())
        first = rng.random((self.population, len(reduced.items))) < share
        first[0] = known[reduced.items]
        return first


class _TimeOver(Exception):
    """Leaves a generation in the making."""


def _algorithm(reduced: Reduced, order: IntArray, first: BoolArray, budget: Budget, seed: int) -> Any:
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.duplicate import DuplicateElimination
    from pymoo.core.problem import Problem
    from pymoo.core.repair import Repair
    from pymoo.core.termination import NoTermination
    from pymoo.operators.crossover.ux import UniformCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation

    class Selections(Problem):
        def _evaluate(self, x: BoolArray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            # In floating point, for selection only: the best child is scored again, exactly.
            out["F"] = -(x.astype(np.float64) @ reduced.values.astype(np.float64))[:, None]

    class ToFeasible(Repair):
        def _do(self, problem: Any, x: BoolArray, **kwargs: Any) -> BoolArray:
            if budget.seconds_left() == 0:
                raise _TimeOver
            repaired = np.array(x, dtype=np.bool_)
            repair(repaired, reduced.weights, reduced.capacity, order)
            return repaired

    class NoTwins(DuplicateElimination):
        # pymoo's own compares distances of all pairs, which takes longer than all else together.
        def _do(self, pop: Any, other: Any, is_duplicate: BoolArray) -> BoolArray:
            seen = set() if other is None else {row.tobytes() for row in np.packbits(other.get("X"), axis=1)}
            for i, row in enumerate(np.packbits(pop.get("X"), axis=1)):
                key = row.tobytes()
                is_duplicate[i] |= key in seen
                if other is None:
                    seen.add(key)
            return is_duplicate

    algorithm = GA(
        pop_size=len(first),
        sampling=first,
        crossover=UniformCrossover(),
        mutation=BitflipMutation(),
        repair=ToFeasible(),
        eliminate_duplicates=NoTwins(),
    )
    problem = Selections(n_var=len(order), n_obj=1, xl=0, xu=1, vtype=bool)
    algorithm.setup(problem, termination=NoTermination(), seed=seed, verbose=False)
    algorithm.mating.n_max_iterations = _MATINGS
    return algorithm


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


@cache
def _warm_up() -> None:
    from pymoo.config import Config

    Config.warnings["not_compiled"] = False  # pymoo would print a hint on its optional C modules
    Greedy().warm_up()
    problem = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
    reduced = reduce(problem)
    order = by_efficiency(reduced.values, reduced.weights)
    algorithm = _algorithm(reduced, order, np.eye(3, dtype=np.bool_), Stop().start(problem), 0)
    children = algorithm.ask()
    algorithm.evaluator.eval(algorithm.problem, children)
    algorithm.tell(infills=children)
