"""Simulated annealing on bit flips, with repair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put
from transom.errors import SpecError
from transom.heuristics.knapsack.greedy import Greedy
from transom.models.arrays import BoolArray, IntArray
from transom.models.efficiency import by_efficiency
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solving import TakesAll
from transom.stop import Budget

_CHUNK = 4096  # steps between two looks at the clock
_PER_ITEM = 3e-7  # what it takes to begin [s]
_MOVES = 64  # most flips of one step; a step that would need more is not taken


@dataclass(frozen=True, slots=True)
class SimulatedAnnealing(TakesAll):
    r"""Flip a random item, repair, and accept a loss :math:`\Delta` with probability :math:`e^{-\Delta/T}`.

    An item that comes in and does not fit pushes random others out; one that goes out makes room for
    a random other. A new best solution is completed greedily. The temperature falls geometrically
    from ``initial`` to ``final`` within ``steps`` steps (fewer, if the budget has fewer iterations),
    then the next run starts from the best solution; without any limit there is one run.

    An iteration is a step. Time only ever ends the search: the same seed and number of iterations
    give the same answer.

    Parameters
    ----------
    steps : steps of one run, > 0.
    initial, final : temperatures in units of the mean value of an item, initial >= final > 0.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Kirkpatrick, Gelatt, Vecchi, Optimization by simulated annealing, Science 220 (1983).
    """

    name: ClassVar[str] = "sa"
    solves: ClassVar[type] = Knapsack

    steps: int = 500_000
    initial: float = 0.05
    final: float = 0.0005

    def __post_init__(self) -> None:
        if self.steps <= 0:
            raise SpecError(f"sa: steps must be > 0, got {self.steps}")
        if not 0 < self.final <= self.initial < math.inf:
            raise SpecError(f"sa: 0 < final <= initial must hold, got final={self.final}, initial={self.initial}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        Greedy().warm_up()
        problem = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)
        walk = Walk(reduce(problem), np.zeros(3, np.bool_))
        walk.restart()
        walk.run(SimulatedAnnealing(), np.random.default_rng(0), 0, 1, 1)

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        Greedy()(problem, budget, rng)
        # To sort the items cannot be cut short.
        if budget.done() or budget.short(_PER_ITEM * len(problem)):
            return
        reduced = reduce(problem)
        walk = Walk(reduced, budget.solution)
        while not budget.done():
            left = budget.stop.iterations
            steps = self.steps if left is None else min(self.steps, left - budget.iterations)
            walk.restart()
            for first in range(0, steps, _CHUNK):
                # The stall limit may end a chunk early, but never changes what its steps do.
                limit = budget.iterations_left()
                count = min(_CHUNK, steps - first, _CHUNK if limit is None else limit)
                better_at = walk.run(self, rng, first, count, steps)
                if better_at:
                    budget.spend(better_at)
                    budget.found(reduced.solution(walk.best))
                budget.spend(count - better_at)
                if budget.done():
                    return
            if budget.seconds_left() == math.inf and budget.iterations_left() is None:
                return


class Chosen(NamedTuple):
    """A solution that is walked about, so that chosen items and others can be drawn in constant time.

    Parameters
    ----------
    chosen : which items are, shape ``(items,)``.
    order : the chosen items first, the others behind them.
    place : where each item stands there.
    state : number of chosen items, free capacity, value, best value.
    """

    chosen: BoolArray
    order: IntArray
    place: IntArray
    state: IntArray


class Items(NamedTuple):
    """Values and weights, and the items by falling efficiency, shape ``(items,)`` each."""

    values: IntArray
    weights: IntArray
    efficient: IntArray


class Walk:
    """A solution that is walked about, and the best one met.

    Parameters
    ----------
    reduced : the problem.
    solution : where to begin.
    """

    def __init__(self, reduced: Reduced, solution: np.ndarray) -> None:
        self._items = Items(reduced.values, reduced.weights, by_efficiency(reduced.values, reduced.weights))
        self._capacity = reduced.capacity
        self._mean = float(reduced.values.mean()) if len(reduced.items) else 1.0
        self.best = solution[reduced.items]
        order, place = np.empty(len(self.best), np.int64), np.empty(len(self.best), np.int64)
        self.solution = Chosen(self.best.copy(), order, place, np.zeros(4, np.int64))

    def restart(self) -> None:
        """Go back to the best solution."""
        chosen, order, place, state = self.solution
        chosen[:] = self.best
        inside = np.flatnonzero(self.best)
        order[: len(inside)] = inside
        order[len(inside) :] = np.flatnonzero(~self.best)
        place[order] = np.arange(len(order))
        value, weight = int(self._items.values[inside].sum()), int(self._items.weights[inside].sum())
        state[:] = len(inside), self._capacity - weight, value, value

    def run(self, annealing: SimulatedAnnealing, rng: np.random.Generator, first: int, count: int, steps: int) -> int:
        """Take ``count`` steps of a run of ``steps``, from the step ``first`` on.

        Returns
        -------
        After how many of them the best solution was met, 0 if it was none of them.
        """
        cooling = (annealing.final / annealing.initial) ** (1 / steps)
        # From the step's number, not from the last temperature: rounding must not depend on the chunks.
        temperature = annealing.initial * self._mean
        return _walk(rng, self.solution, self.best, self._items, temperature, cooling, first, count)


@compiled
def _walk(
    rng: np.random.Generator,
    solution: Chosen,
    best: BoolArray,
    items: Items,
    temperature: float,
    cooling: float,
    first: int,
    count: int,
) -> int:
    chosen, _, _, state = solution
    flipped = np.empty(_MOVES, np.int64)
    better_at = 0
    for step in range(first, first + count):
        before = state[2]
        moves = _move(rng, solution, items, flipped)
        loss = before - state[2]
        accepted = state[1] >= 0
        if accepted and loss > 0:
            accepted = rng.random() < math.exp(-loss / (temperature * cooling**step))
        if not accepted:
            for i in range(moves - 1, -1, -1):
                _flip(flipped[i], solution, items)
        elif state[2] > state[3]:
            for item in items.efficient:
                if not chosen[item] and items.weights[item] <= state[1]:
                    _flip(item, solution, items)
            put(best, chosen)
            state[3] = state[2]
            better_at = step - first + 1
    return better_at


@no_refcount
def _move(rng: np.random.Generator, solution: Chosen, items: Items, flipped: IntArray) -> int:
    # Flip one item and repair; `flipped` lists what was flipped. Too heavy after all moves: not repaired.
    chosen, order, _, state = solution
    item = int(rng.random() * len(order))
    came_in = not chosen[item]
    _flip(item, solution, items)
    flipped[0] = item
    moves = 1
    if came_in:
        while state[1] < 0 and state[0] > 1 and moves < len(flipped):
            other = order[int(rng.random() * state[0])]
            if other != item:
                _flip(other, solution, items)
                flipped[moves] = other
                moves += 1
    else:
        other = order[state[0] + int(rng.random() * (len(order) - state[0]))]
        if other != item and items.weights[other] <= state[1]:
            _flip(other, solution, items)
            flipped[moves] = other
            moves += 1
    return moves


@no_refcount
def _flip(item: int, solution: Chosen, items: Items) -> None:
    chosen, order, place, state = solution
    sign = -1 if chosen[item] else 1
    border = state[0] - 1 if chosen[item] else state[0]  # the place it swaps to
    other, here = order[border], place[item]
    order[here], order[border] = other, item
    place[other], place[item] = here, border
    chosen[item] = not chosen[item]
    state[0] += sign
    state[1] -= sign * items.weights[item]
    state[2] += sign * items.values[item]
