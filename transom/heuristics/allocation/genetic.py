"""A genetic algorithm on allocations: an order key and a start key for each job (pymoo)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.heuristics.allocation.arrays import allocation_arrays, best_known, offer
from transom.heuristics.allocation.block_table import table_with_fines
from transom.heuristics.allocation.keys import decode_blocks, decode_left, encode
from transom.heuristics.genetic import Genes, TimeOver, evolve, import_pymoo
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop

_WORK = 1_000_000  # entries looked at between two looks at the clock: a few milliseconds
_ETA, _MUTATED = 5.0, 0.9  # of polynomial mutation: how near to the parent, and what share of the children


@dataclass(frozen=True, slots=True)
class AllocationGenetic:
    """pymoo's genetic algorithm on random keys: tournaments, uniform crossover, polynomial mutation.

    Dynamic rule: jobs are placed by rising order key, each on consecutive entries of what is left of the idle
    nodes, from the share of them on that its start key states. Static rule: blocks are lined up by rising
    order key, each as near to the share of all idle nodes that its start key states as the others let it;
    with wrap-around one more key says where the line begins. So every row of keys is a solution. The free
    rule is searched as the dynamic one, with wrap-around. The first population holds the best solution
    known (the first fit, or a start that the keys can express) and random ones.

    An iteration is a generation, the first population included. Time only ever ends the search: the same
    seed and number of iterations give the same answer. Without any limit it ends after 100 generations
    without a better value.

    Parameters
    ----------
    population : number of solutions, > 1.

    Raises
    ------
    SpecError : ``population`` is less than 2.

    References
    ----------
    Bean, Genetic algorithms and random keys for sequencing and optimization, ORSA Journal on Computing 6 (1994).
    """

    name: ClassVar[str] = "ga"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("pymoo",)

    population: int = 100

    def __post_init__(self) -> None:
        if self.population < 2:
            raise SpecError(f"ga: population must be > 1, got {self.population}")

    def supports(self, problem: Allocation, /) -> str | None:
        """Every allocation."""
        return None

    @staticmethod
    @cache
    def warm_up() -> None:
        """Import pymoo and compile the kernels."""
        import_pymoo()
        for rule in ("static", "dynamic"):
            problem = Allocation(FatTree.k_ary(4), np.arange(10), np.array([4, 4]), rule)
            budget = Stop(iterations=2).start(problem)
            AllocationGenetic(population=10)(problem, budget, np.random.default_rng(0))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        known = best_known(problem, budget, start)
        if budget.done():
            return
        keys = _Keys(problem)
        first = rng.random((self.population, keys.count))
        if (row := keys.encode(known)) is not None:
            first[0] = row
        evolve(
            _genes(keys, first, budget),
            budget,
            int(rng.integers(2**31)),
            lambda x: offer(problem, budget, keys.solution(x)),
        )


class _Keys:
    """What rows of keys mean for a problem."""

    def __init__(self, problem: Allocation) -> None:
        if problem.rule == "free":
            problem = replace(problem, rule="dynamic", wrap=True)
        self._problem = problem
        self._static = problem.rule == "static"
        self.count = 2 * len(problem) + self._static
        self._arrays = allocation_arrays(problem)
        if self._static:
            self._table, self._rows = table_with_fines(problem)
        self.work = 4 * len(problem.idle) + len(problem) * (8 if self._static else len(problem.idle))

    def values(self, rows: FloatArray) -> FloatArray:
        """Cost of each row, shape ``(rows,)``."""
        values = np.empty(len(rows))
        if self._static:
            self._starts(rows, values)
        else:
            nothing = np.empty((0, len(self._arrays.leaf)), np.int64)
            decode_left(rows, self._arrays, self._problem.wrap, nothing, values)
        return values

    def solution(self, row: FloatArray) -> IntArray:
        """The solution that a row stands for."""
        rows = np.array(row, dtype=np.float64)[None, :]
        if self._static:
            return self._problem.from_starts(self._starts(rows, np.empty(1))[0])
        owners = np.empty((1, len(self._arrays.leaf)), np.int64)
        decode_left(rows, self._arrays, self._problem.wrap, owners, np.empty(1))
        return np.asarray(owners[0])

    def encode(self, owner: IntArray) -> FloatArray | None:
        """A row that stands for a solution; None if there is none."""
        return None if self._problem.violations(owner) else encode(self._problem, owner)[: self.count]

    def _starts(self, rows: FloatArray, values: FloatArray) -> IntArray:
        starts = np.empty((len(rows), len(self._problem)), np.int64)
        decode_blocks(rows, self._problem.sizes, self._table, self._rows, self._problem.wrap, starts, values)
        return starts


def _genes(keys: _Keys, first: FloatArray, budget: Budget) -> Genes:
    from pymoo.operators.mutation.pm import mut_pm

    def costs(x: FloatArray) -> FloatArray:
        values = np.empty(len(x))
        rows = np.ascontiguousarray(x, dtype=np.float64)
        step = max(1, _WORK // keys.work)
        for row in range(0, len(x), step):
            if budget.seconds_left() == 0:
                raise TimeOver
            values[row : row + step] = keys.values(rows[row : row + step])
        return values

    def mutate(x: FloatArray, rng: np.random.Generator) -> FloatArray:
        low, high, chance = np.zeros(keys.count), np.ones(keys.count), np.full(len(x), min(0.5, 1 / keys.count))
        changed = mut_pm(x, low, high, np.full(len(x), _ETA), chance, at_least_once=False, random_state=rng)
        return np.where(rng.random((len(x), 1)) < _MUTATED, changed, x)

    return Genes(first, costs, mutate)
