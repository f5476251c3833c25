"""A lower bound for free allocation, and hence for every rule, from prices on the idle nodes of leaf switches."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from time import perf_counter
from typing import overload

import numpy as np

from transom._system.records import record
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.models.hop_cost import AUTHORS
from transom.solvers.allocation.free_pricing import Dual, Multipliers, Pricing, fill, rounded_costs, subgradient_steps
from transom.solvers.allocation.shape import Shape, shape

_SLACK = 1e-9  # far more than all rounding errors of a bound, in relative terms
_PER_STEP = 4e-10  # seconds of one of them
_WORK = 2_000_000  # inner steps of pricing between two looks at the clock: a few milliseconds


def free_bound(
    problem: Allocation,
    upper: float = math.inf,
    iterations: int = 400,
    seconds: float = math.inf,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """A lower bound on the cost of every solution, whatever nodes jobs may be given.

    Each idle node gets a price, the same within a leaf switch; every job chooses its cheapest nodes for
    itself (:func:`transom.solvers.allocation.free_pricing.price`), and subgradient steps raise prices where more nodes
    are asked for than there are. It bounds the static and the dynamic rule too, with and without wrap-around.

    Parameters
    ----------
    problem : any rule; feasible.
    upper : cost of a known solution, at which the steps aim; the search ends when the bound meets it.
    iterations : most subgradient steps, >= 0.
    seconds : most seconds, looked at every few milliseconds [s].
    clock : what they are read from [s].

    Returns
    -------
    The bound; rounded up to a whole number where costs are whole; never above ``upper`` but by rounding.
    Infinite if more nodes are asked for than idle.

    References
    ----------
    Polyak, Minimization of unsmooth functionals (1969). Camerini, Fratta, Maffioli, On improving relaxation methods
    by modified gradient techniques (1975).
    """
    trivial = problem.trivial()
    if trivial is not None:
        return math.inf if isinstance(trivial, str) else 0.0
    prices = Prices(shape(problem))
    end = clock() + seconds
    if math.isfinite(upper):
        prices.set_target(prices.shape.base - upper)
    else:
        prices.set_target(prices.primal_heuristic()[0])
    while prices.step(iterations - prices.iterations) and clock() < end:
        pass
    return prices.bound


class Prices:
    """Prices per class of leaves, and what the jobs choose at them.

    Parameters
    ----------
    shape : the problem in counts.

    Attributes
    ----------
    pricing : where numbers of nodes stand in tables, and what a job of each type chose last.
    alone : total cost if no job were in the way of another, where costs are rounded; 0 before it is known.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        leaves, classes, most = len(shape.caps), len(shape.members), int(shape.sizes.max())
        held = np.add.reduceat(shape.caps, shape.first[:-1])
        at, pod_at = (np.concatenate(([0], np.cumsum(room + 1))) for room in (shape.caps, held))
        rooms, widest = np.empty(classes, np.int64), min(most, int(held.max()))
        rooms[shape.cls] = shape.caps
        self.pricing = Pricing(
            at, pod_at, rooms, shape.units[:, None] * (shape.steps[0] * pairs(held)), np.zeros(int(at[-1])),
            np.zeros((len(shape.sizes), leaves), np.int64),
            np.zeros((leaves + len(shape.first) - 1, widest + 1)), np.zeros((len(shape.first), most + 1)),
        )  # fmt: skip
        self.alone = 0.0
        self._prices = Multipliers(*np.zeros((4, classes)))
        self._dual = record(Dual)
        self._dual.least, self._dual.factor = math.inf, 1.0
        # Types to price between two looks at the clock.
        self._effort = int(shape.caps.sum()) * (widest + most)
        self._work = max(1, _WORK // max(1, self._effort))

    @property
    def iterations(self) -> int:
        """Steps so far."""
        return int(self._dual.iterations)

    @property
    def least(self) -> float:
        """The least dual value so far: an upper bound on the savings, before rounding."""
        return float(self._dual.least)

    @property
    def best(self) -> FloatArray:
        """The prices of the least dual value, one for each class."""
        return self._prices.best

    @property
    def bound(self) -> float:
        """The lower bound on the cost that is proved; 0 before the first step is complete."""
        return max(self.alone, safe_bound(self.shape, self.least))

    def set_target(self, savings: float) -> None:
        """Savings that a solution is known to have: the steps aim there."""
        self._dual.target = savings

    def step(self, iterations: int) -> bool:
        """Take at most so many steps, for a few milliseconds; whether there is more to gain."""
        s = self.shape
        if iterations <= 0 or self._dual.converged:
            return False
        if s.floored and self.iterations == 0:
            iterations = 1
        subgradient_steps(s, self.pricing, self._prices, self._dual, iterations, self._work)
        if s.floored and self.iterations == 1 and not self.alone:
            # Prices were 0: what each job would choose if it were alone, at a cost that is rounded exactly.
            self.alone = float(rounded_costs(s, self.pricing.choices))
        return not self._dual.converged

    @property
    def seconds(self) -> float:
        """What pricing one job takes at most, about [s]; it cannot be cut short."""
        return _PER_STEP * self._effort

    @overload
    def primal_heuristic(self, order: IntArray | None = None) -> tuple[float, IntArray]: ...

    @overload
    def primal_heuristic(self, order: IntArray | None, stop: Callable[[], bool]) -> tuple[float, IntArray] | None: ...

    def primal_heuristic(
        self, order: IntArray | None = None, stop: Callable[[], bool] | None = None
    ) -> tuple[float, IntArray] | None:
        """Give the jobs one after another their best choice of what is left, at the best prices.

        Parameters
        ----------
        order : of the jobs, largest first by default.
        stop : asked every few milliseconds whether to give up.

        Returns
        -------
        The savings, and the nodes of each job on each leaf ``(J, S)``; None if it was given up.
        """
        s = self.shape
        if order is None:
            order = np.argsort(-s.sizes[s.types], kind="stable")
        held = np.zeros((len(s.types), len(s.caps)), np.int64)
        left, value = s.caps.copy(), 0.0
        for begin in range(0, len(order), self._work):
            if begin and stop is not None and stop():
                return None
            value = fill(s, self.pricing, self.best, order[begin : begin + self._work], left, held)
        return float(value), held


def pairs(most: IntArray) -> IntArray:
    """Numbers of pairs among 0, 1, ... nodes up to each of these numbers, one after the other."""
    counts = np.arange(int(most.sum()) + len(most)) - np.repeat(np.cumsum(most + 1) - (most + 1), most + 1)
    result: IntArray = counts * (counts - 1) // 2
    return result


def safe_bound(shape: Shape, most: float) -> float:
    """The cost bound that follows from a bound on savings, with rounding errors and rounded costs taken care of."""
    if not math.isfinite(most):
        return 0.0
    bound = shape.base - most
    bound -= _SLACK * (1.0 + abs(bound))
    if not shape.floored:
        return max(0.0, bound)
    return float(max(len(shape.types), math.ceil(bound - shape.loss)))


@cache
def warm_up() -> None:
    """Compile the kernels."""
    problem = Allocation(FatTree.uniform(8, 2, 4), np.arange(1, 8), np.array([2, 3]), "free", True, AUTHORS)
    free_bound(problem, iterations=20)
