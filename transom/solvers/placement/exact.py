"""Exact placement: machine patterns by depth-first search under Lagrangian prices, deeper and deeper."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom import registry
from transom.models.arrays import FloatArray, IntArray
from transom.models.placement import Placement
from transom.solvers.placement.prices import Prices, linear_prices, one_resource, priced
from transom.solvers.placement.reduced import PER_TRIPLE, Reduced, reduce
from transom.solvers.placement.search import Path, Tree, search
from transom.solvers.placement.tree import path_of, placed, tree_of
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop

_PER_PAIR = 4e-6  # what the linear relaxation and the tree take for each pair of task and machine that fit [s]
_STEPS = 300  # of local search
_SMALL, _QUICK = 300, 20_000  # pairs up to which a search under rough prices is tried, and its nodes
_NODES = 50_000  # between two looks at the clock
_DIVE = 200_000  # nodes of the first search, within the whole gap
_ALONE = 500_000  # nodes for what a machine's pattern loses at least
_FINE = 1024  # parts of the gap in which the search gets deeper at first


@dataclass(frozen=True, slots=True)
class PlacementExact(TakesAll):
    """Branch and bound over machine patterns, in exact integers, with a bound from the first moment on.

    Identical tasks are merged; of solutions that differ in the order of identical machines one is looked at. Prices of
    rooms from the linear relaxation say what each choice loses against the bound (:mod:`.prices`). What a machine's
    pattern loses at least is found for each machine alone, which lowers the bound to that of column generation.
    The search goes over the patterns of one machine after another, first within the whole gap, then within growing
    limits of loss: each limit without a solution lowers the bound, and the first that has one holds the optimum. Prices
    are floating point; they prune with a margin for rounding, and decide nothing else.

    It begins with local search, and leaves all to that where the time is too short for prices. An iteration is a node,
    or a step of the local search.

    References
    ----------
    Martello and Toth, Knapsack Problems (1990), chapter 6 (bound and bound for multiple knapsacks); Korf, Depth-first
    iterative-deepening, Artificial Intelligence 27, 1985.
    """

    name: ClassVar[str] = "placement-exact"
    solves: ClassVar[type] = Placement

    @staticmethod
    @cache
    def warm_up() -> None:
        """Import the linear programming and compile the kernels."""
        _local_search().warm_up()
        problem = Placement([[3, 4], [5, 3]], [[2, 1], [1, 2]], [4, 5], [3, 4])
        PlacementExact()(problem, Stop().start(problem), np.random.default_rng(0))
        linear_prices(reduce(problem), math.inf)

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        if budget.short(PER_TRIPLE * problem.demands.size * len(problem.free)):
            _local_search().improve(problem, budget, rng, start)
            return
        reduced = reduce(problem)
        if not len(reduced.values):  # nothing that fits is worth anything
            budget.found(reduced.solution(problem, np.zeros((0, 0), np.int64)))
            budget.prove(0)
            return
        unit = int(np.gcd.reduce(reduced.values))
        rough = _Search(problem, budget, reduced, priced(reduced, one_resource(reduced)), unit)
        rough.prove(0.0)
        left = budget.iterations_left()
        steps = _STEPS if left is None else min(_STEPS, left)
        seconds = budget.seconds_left()
        short = budget.nested(Stop(None if seconds == math.inf else max(seconds, 1e-9), steps), problem)
        _local_search().improve(problem, short, rng, start)
        budget.spend(short.iterations)
        budget.found(short.solution)
        pairs = int(np.count_nonzero(reduced.fits))
        if budget.done() or budget.short(_PER_PAIR * pairs) or (pairs <= _SMALL and rough.dive(_QUICK)):
            return
        room = linear_prices(reduced, budget.seconds_left())
        prices = rough.prices if room is None else priced(reduced, room)
        whole = _Search(problem, budget, reduced, prices, unit)
        whole.prove(0.0)
        if not budget.done():
            whole.run()


@cache
def _local_search() -> Any:
    return registry.make(registry.SOLVERS, "local-search")


class _Round(NamedTuple):
    """How a search within a limit of loss ended: whether it is over, and the least loss of a leaf that it met."""

    over: bool
    least: float


@dataclass(frozen=True, slots=True)
class _Search:
    problem: Placement
    budget: Budget
    reduced: Reduced
    prices: Prices
    unit: int

    def run(self) -> None:
        """What each machine loses alone, then all of them together."""
        least, groups = np.zeros(len(self.reduced.free)), self.groups()
        if len(least) > 1:
            for group in groups:
                least[group] = self.alone(tree_of(self.reduced, self.prices, group[:1], least, True))
                self.prove(float(least.sum()))
                if self.budget.done():
                    return
        if not self.dive(_DIVE, least):
            self.deepen(least)

    def groups(self) -> list[IntArray]:
        """Identical machines, those on which few tasks fit before others."""
        _, kind = np.unique(self.reduced.free, axis=0, return_inverse=True)
        groups = [np.flatnonzero(kind.ravel() == k) for k in range(int(kind.max()) + 1)]
        return sorted(groups, key=lambda group: int(np.count_nonzero(self.reduced.fits[:, group[0]])))

    def alone(self, tree: Tree) -> float:
        """What the pattern of a machine loses at least, as far as that is found out quickly."""
        proved, step, nodes = 0.0, self.step(0.0), _ALONE
        while proved < self.gap():
            limit = min(proved + step, self.gap())
            path = path_of(self.reduced, tree, 0)
            round_ = self.within(tree, path, limit, nodes, True)
            nodes -= int(path.where[2])
            if not round_.over:
                break
            proved, step = min(limit, round_.least), 2 * step
            if round_.least <= limit:
                break
        return proved

    def dive(self, nodes: int, least: FloatArray | None = None) -> bool:
        """Search within the whole gap; whether that proves the best value."""
        tree = self.tree(np.zeros(len(self.reduced.free)) if least is None else least)
        over = self.within(tree, path_of(self.reduced, tree, self.value()), math.inf, nodes, False).over
        if over:
            self.budget.prove(self.value())
        return over

    def tree(self, least: FloatArray) -> Tree:
        """All machines, of whose patterns it is known what they lose at least."""
        return tree_of(self.reduced, self.prices, np.concatenate(self.groups()), least, False)

    def deepen(self, least: FloatArray) -> None:
        """Search within a growing limit of loss, until the budget is done."""
        tree, lost = self.tree(least), float(least.sum())
        step = self.step(lost)
        while not self.budget.done():
            limit = lost + step
            path = path_of(self.reduced, tree, self.value())
            if not self.within(tree, path, limit, 0, False).over:
                return
            self.prove(limit)
            if limit >= self.gap():
                self.budget.prove(self.value())
            lost, step = limit, 2 * step

    def within(self, tree: Tree, path: Path, limit: float, nodes: int, by_loss: bool) -> _Round:
        """Search within a limit of loss, for so many nodes or, with 0, until the budget is done."""
        goal, known = self.prices.bound - self.unit, self.value()
        over = False
        while not (over or self.budget.done() or 0 < nodes <= path.where[2]):
            left = self.budget.iterations_left()
            some = min(_NODES, nodes - int(path.where[2]) if nodes else _NODES, _NODES if left is None else left)
            before = int(path.where[2])
            over = search(tree, path, goal, limit, some, by_loss)
            self.budget.spend(int(path.where[2]) - before)
            if not by_loss and path.where[3] > known:
                known = int(path.where[3])
                shape = (len(self.reduced.values), len(self.reduced.free))
                self.budget.found(self.reduced.solution(self.problem, placed(tree, path.best, shape)))
        return _Round(over, float(path.least[0]) if by_loss else math.inf)

    def value(self) -> int:
        return int(self.budget.value or 0)

    def gap(self) -> float:
        """What a better solution loses at most."""
        return self.prices.bound - self.unit - self.value()

    def step(self, lost: float) -> float:
        return max((self.gap() - lost) / _FINE, self.unit / 4)

    def prove(self, lost: float) -> None:
        """Every solution loses at least this, and values are multiples of the unit."""
        whole = math.floor(self.prices.bound - lost) // self.unit * self.unit
        self.budget.prove(whole if self.budget.value is None else max(whole, self.value()))
