"""Free allocation solved exactly: prices on leaf switches, then states of little slack leaf by leaf."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import AUTHORS, PAPER
from transom.solvers.allocation import free_bound as free_bound
from transom.solvers.allocation.free import split_core
from transom.solvers.allocation.free.as_joint import solve_as_joint
from transom.solvers.allocation.free.packing import GivenUp, Packing
from transom.solvers.allocation.free.splits import Found, Splits
from transom.solvers.allocation.free.states import Layers
from transom.solvers.allocation.free_bound import Prices, safe_bound
from transom.solvers.allocation.shape import shape
from transom.solving import presolve, warm_up
from transom.stop import Budget, Stop

_MOMENT = 1e-6  # the least that a budget has: its solver then hands over its first solution [s]
_QUICK = 0.005  # up to which the time of a single pricing does not matter [s]
_COUNTS = "count-search"  # with dp-polish for a start
_EXCHANGES = 500  # steps of it: what takes longer costs proofs at 10 ms
_SHARE = 0.5  # of the time that is left, for them
_FIRST = 25  # price steps before that
_NARROW = 100  # price steps before the first pass: most windows need no more
_ROUND = 25  # price steps between two roundings
_WIDTH = 256  # states of a layer in the first pass
_WIDER = 8  # by how much a layer may be wider in the next pass
_LEAST_SHARE = 0.05  # of the gap between solution and dual value, for which splits are still looked for
_PER_STATE = 1000  # steps of the search over splits for each state of a layer: about as long as the pass


@dataclass(frozen=True, slots=True)
class FreeExact:
    """Prices by subgradient steps, then a dynamic programme over leaf switches that keeps states of little slack.

    1. Each idle node gets a price, equal within a leaf switch, and every job chooses for itself: a bound
       (:func:`transom.solvers.allocation.free_bound.free_bound`). Jobs that take their choices one after another
       are a solution.
    2. Leaf by leaf, states say what each job still needs and has in the pod. A state's slack is what it
       loses against the dual value at least; more than the gap between solution and bound is hopeless.
       A pass keeps the states of least slack, so many in a layer: its solutions are good, and what it gave
       up is a bound. Passes become wider until nothing is given up that could be better.
    3. Between passes, where pods are few: all splits of the jobs among pods that may be better, their rooms kept
       (:class:`transom.solvers.allocation.free.splits.Splits`), and the exact packing of each pod.

    On trees of more than three levels and under limits on leaf switches, where the states of 2. would have to count the
    nodes of each job below every open switch, ``count-search`` (without limits) is followed by the reduction to a joint
    choice in which all jobs must start, and ``joint-cpsat``: prices on leaf switches for trees of any depth, then
    CP-SAT (:mod:`transom.solvers.allocation.free.as_joint`). An iteration is then a conflict.

    After a few price steps ``count-search`` has a short turn, so that the answer at the end of a short budget is as
    good as its own. The best static solution (``scas-dp``) is taken as a start, so that the answer is never worse; the
    other price steps come where the first pass is not enough. An iteration is a price step, or some 60,000 elementary
    steps on states.

    Parameters
    ----------
    steps : most price steps, > 0.
    memory : most memory for the states [MiB], > 0.

    Raises
    ------
    SpecError : a condition above does not hold.
    """

    name: ClassVar[str] = "free-exact"
    solves: ClassVar[type] = Allocation

    steps: int = 400
    memory: int = 1024

    def __post_init__(self) -> None:
        if self.steps <= 0:
            raise SpecError(f"free-exact: steps must be > 0, got {self.steps}")
        if self.memory <= 0:
            raise SpecError(f"free-exact: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Allocation, /) -> str | None:
        """Every free allocation without node types."""
        return (
            problem.typed if problem.rule == "free" else f"it takes any idle nodes, the rule here is {problem.rule!r}"
        )

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        tree = FatTree.uniform(24, 4, 12)
        free_bound.warm_up()
        for name in (_COUNTS, "best-fit"):
            warm_up(registry.make(registry.SOLVERS, name, Allocation))
        from transom.solvers.allocation.scas_dp import ScasDp

        ScasDp().warm_up()
        for seed, cost in ((0, AUTHORS), (1, PAPER)):
            idle = np.sort(np.random.default_rng(seed).choice(24, 10, replace=False))
            problem = Allocation(tree, idle, np.array([4, 4, 2]), "free", True, cost)
            search = _Search(problem, Stop().start(problem))
            prices = Prices(search.shape)
            search.descend(prices, 5)
            search.deal_out(prices, 5, 2**22)
            layers = Layers(prices, 2**22)
            layers.begin(math.inf, _WIDTH)
            while not layers.advance():
                pass
            assert layers.solutions(1)  # which a pass need not have
            _all_splits(prices)
        # Windows on which neither prices nor the first deal are enough: the pass over leaves finds the optimum.
        tree = FatTree.uniform(40, 5, 20)
        for seed, sizes in ((9, [6, 5, 5, 4, 4]), (10, [9, 8, 7])):
            nodes = np.sort(np.random.default_rng(seed).choice(40, 26, replace=False))
            problem = Allocation(tree, nodes, np.array(sizes), "free", True, AUTHORS)
            FreeExact()(problem, Stop().start(problem), np.random.default_rng(0))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        if start is not None:
            budget.found(start)
        if problem.not_plain:
            if problem.limited is None:
                limit = Stop(_SHARE * budget.seconds_left() if budget.stop.seconds is not None else None, _EXCHANGES)
                _improve(_COUNTS, problem, budget, limit)
            if not budget.done():
                solve_as_joint(problem, budget, rng)
            return
        search = _Search(problem, budget)
        if budget.value is None:
            search.improve("best-fit", max(budget.seconds_left(), _MOMENT))
        prices = Prices(search.shape)
        search.descend(prices, min(_FIRST, self.steps))
        search.exchange()
        search.descend(prices, min(_NARROW, self.steps))
        if budget.done():
            return
        if start is None:
            search.take_static()
        # The tables of the programme take a pricing for each type, of a few times the work.
        tables = 4 * len(prices.shape.sizes) * prices.seconds
        if tables <= _QUICK or tables < budget.seconds_left():
            if not budget.done():
                search.deal_out(prices, self.steps, self.memory * 2**20)
        elif not budget.done():
            budget.notes["search"] = "too large for the time; prices and a search on counts only"
            search.improve(_COUNTS, max(budget.seconds_left(), _MOMENT))


class _Search:
    """One run: what is found goes to the budget, what is proved as well."""

    def __init__(self, problem: Allocation, budget: Budget) -> None:
        self._problem = problem
        self._budget = budget
        self.shape = shape(problem)

    def descend(self, prices: Prices, steps: int) -> None:
        """Lower the dual value, up to so many steps in all, and round now and then."""
        budget = self._budget
        largest_first = np.argsort(-self.shape.sizes[self.shape.types], kind="stable")
        orders = (largest_first, largest_first[::-1])
        if not prices.iterations:
            self._round(prices, None)
        more = True
        while more and not budget.done():
            if prices.seconds > _QUICK and budget.short(prices.seconds):
                return
            prices.set_target(self._savings())
            before = prices.iterations
            left = budget.iterations_left()
            more = prices.step(min(_ROUND, steps - before, _ROUND if left is None else left))
            budget.spend(prices.iterations - before)
            if prices.iterations > before:
                budget.prove(prices.alone)
                self._prove(prices.least)
                if not budget.optimal:
                    for order in orders:
                        self._round(prices, order)
                    self._prove(prices.least)
            more = more and prices.iterations < steps

    def _round(self, prices: Prices, order: IntArray | None) -> None:
        """Hand over what the jobs take one after another, if there is time for it where it takes long."""
        budget = self._budget
        if budget.value is not None and budget.seconds_left() <= (prices.seconds if prices.seconds > _QUICK else 0):
            return
        rounded = prices.primal_heuristic(order, lambda: budget.value is not None and budget.seconds_left() == 0)
        if rounded is not None:
            self._take(rounded[1])

    def take_static(self) -> None:
        """The best solution under the static rule as a start."""
        from transom.solvers.allocation.scas_dp import static_optimum

        best = static_optimum(self._problem.with_rule("static"))
        if best is not None:
            self._budget.found(best[0])

    def exchange(self) -> None:
        """Improve the best solution by a short search on counts, which begins with a polished contiguous one."""
        if not self._budget.done():
            self.improve(_COUNTS, max(_SHARE * self._budget.seconds_left(), _MOMENT), _EXCHANGES)
            self._budget.spend()

    def improve(self, solver: str, seconds: float, steps: int | None = None) -> None:
        """What another solver makes of the solution in so much time and so many iterations."""
        limit = Stop(seconds=seconds if math.isfinite(seconds) else None, iterations=steps)
        _improve(solver, self._problem, self._budget, limit)

    def deal_out(self, prices: Prices, steps: int, memory: int) -> None:
        """Passes over the leaves, each wider than the one before, until nothing better can be left."""
        budget = self._budget
        before = budget.seconds()
        layers, width = Layers(prices, memory), _WIDTH
        tables = 2 * (budget.seconds() - before)  # those of the splits as well
        while not budget.done():
            limit = self._limit(layers.most)
            layers.begin(limit, width)
            complete = False
            while not complete and not budget.done():
                complete = layers.advance()
                budget.spend()
            if not complete:
                return
            for counts_ in layers.solutions():
                self._take(counts_)
            # Everything of less slack than this was looked at.
            known = min(layers.dropped, limit)
            self._prove(layers.most - known)
            if budget.optimal or known >= self._limit(layers.most):
                budget.prove(budget.value or 0.0)
                return
            if layers.full:
                budget.notes["states"] = "the states of little slack outgrew the memory; the proof is incomplete"
                return
            if width == _WIDTH:
                self.descend(prices, steps)
                if self._ends_before(tables):
                    return
                layers = Layers(prices, memory)
                splits = layers.splits()
                if budget.done():
                    return
            width *= _WIDER
            if splits.possible:
                self.split(splits, layers.most, _PER_STATE * width)
                if budget.done():
                    return

    def _ends_before(self, seconds: float) -> bool:
        """Whether too little time is left for tables that take so long; it goes to the search on counts."""
        budget = self._budget
        if not budget.done() and seconds > _QUICK and budget.seconds_left() < seconds:
            self.improve(_COUNTS, max(budget.seconds_left(), _MOMENT))
        return budget.done()

    def split(self, splits: Splits, most: float, effort: int) -> None:
        """Split the jobs among pods in all ways that may be better, and pack the pods of each.

        Where these are too many because the best solution is not good, the search aims higher first.
        """
        budget, share = self._budget, 1.0
        while share > _LEAST_SHARE and not budget.done():
            before = budget.value
            # Of the gap between the best solution and the dual value.
            least = most - share * self._limit(most)
            found = splits.search(least, effort, budget.done)
            budget.spend()
            if found is None:
                share /= 2
                continue
            if not self._pack(splits, found, least, most):
                return
            if found.complete:
                if share == 1.0:
                    budget.prove(budget.value or 0.0)
                    return
                self._prove(least)
            if budget.value == before:
                return
            share = 1.0

    def _pack(self, splits: Splits, found: Found, least: float, most: float) -> bool:
        """Hand over the best packings of splits that save so much; whether all were looked at."""
        packing = Packing(splits, self._budget.done)
        try:
            for split in found.splits:
                if self._budget.done():  # there may be thousands, few of which are packed
                    return False
                savings = packing.savings(split, least)
                if savings < least:
                    continue
                self._take(packing.best(split, 0.0)[1])
                least = max(least, most - self._limit(most))
                if savings >= least:
                    # Rounding may prefer another packing.
                    self._take(packing.best(split, savings - least)[1])
                    least = max(least, most - self._limit(most))
        except GivenUp:
            return False
        return True

    def _savings(self) -> float:
        return self.shape.base - (math.inf if self._budget.value is None else self._budget.value)

    def _limit(self, most: float) -> float:
        """The slack up to which a solution may be better than the best one known."""
        value = self._budget.value
        assert value is not None
        tolerance = 1e-9 * (1.0 + abs(value))
        gap = value - (self.shape.base - most)
        return gap - 1 + self.shape.loss + tolerance if self.shape.floored else gap - tolerance

    def _take(self, counts: IntArray) -> None:
        self._budget.found(self.shape.owners(counts))

    def _prove(self, most: float) -> None:
        """No solution saves more than this."""
        value = self._budget.value
        bound = safe_bound(self.shape, most)
        if value is not None and (bound >= value or (not self.shape.floored and self._limit(most) <= 0)):
            bound = value
        self._budget.prove(bound)


def _improve(solver: str, problem: Allocation, budget: Budget, limit: Stop) -> None:
    """What another solver makes of the solution within a limit."""
    part = budget.nested(limit, problem)
    registry.make(registry.SOLVERS, solver, Allocation)(problem, part, np.random.default_rng(0), budget.solution)
    budget.found(part.solution)


def _all_splits(prices: Prices) -> None:
    # Without a limit, so that no kernel is left out.
    splits = Layers(prices, 2**22).splits()
    found = splits.search(0.0, 2**22, lambda: False)
    assert found is not None
    split_core.rehash(np.empty(4, np.int64), np.zeros(1, np.int64), 1)
    Packing(splits, lambda: False).best(found.splits[0], 0.0)
