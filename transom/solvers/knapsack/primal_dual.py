"""Exact primal-dual dynamic programming on an expanding core."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.models.efficiency import by_efficiency
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.knapsack import core, residues, sharpening
from transom.solvers.knapsack.incumbent import first_incumbent
from transom.solvers.knapsack.incumbent import warm_up as warm_up_greedy
from transom.solvers.knapsack.remainder import Remainder, remainder
from transom.solvers.knapsack.residues import ResidueSearch
from transom.solvers.knapsack.sharpening import STATE, sharpen
from transom.solvers.knapsack.states import FILED, FINISHED, FULL, History, begun, with_room
from transom.solvers.knapsack.thinning import keep, lower_half
from transom.solving import TakesAll
from transom.stop import Budget, Stop

_TURNS = (300_000, 3_000_000, 100_000_000)  # states of the core, before each search under a cut
_ROOMS = (2**12, 2**16, 2**20)  # most states of those
_CHUNK = 1_000_000  # states between two looks at the clock: a few milliseconds
_PER_ITEM = 3e-7  # what it takes to begin [s]
_PER_ITEM_BY_RESIDUES = 2e-6  # and to begin a search by residues [s]
_LARGE = 1 << 20  # lists whose size decides how long they take [bytes]
_REARRANGED = 1e-9  # what it takes at least to rearrange a byte of the states [s]


@dataclass(frozen=True, slots=True)
class PrimalDual(TakesAll):
    r"""Grow a core around the break item, with lists of undominated states.

    The items before the break item, in the order of efficiency, form the break solution. The core
    :math:`[s, t]` grows by turns: the next item after it may be added, the next one before it may be
    removed. A state is the value and weight of one choice inside the core; states that are
    dominated, or whose upper bound

    .. math:: u(\pi, \omega) = \pi + \Bigl\lfloor (W - \omega) \frac{v}{w} \Bigr\rfloor

    with :math:`v/w` of the next item outside the core (on the right if :math:`\omega \le W`, on the
    left otherwise) does not exceed the incumbent, are dropped; so are items that cannot change sides
    in any better solution. The incumbent is optimal once no state or no item is left. Until then the
    largest bound of a state holds.

    Where the states outgrow ``memory``, the half with the smaller bounds is given up again and again:
    the search goes on for better solutions, and the largest bound given up limits what it can prove.
    An iteration is an item that enters the core.

    Parameters
    ----------
    memory : most memory for the states and their histories [MiB], > 0.
    thin : whether to give up states where they outgrow ``memory``; otherwise the search ends there.

    Raises
    ------
    SpecError : ``memory`` is not positive.

    References
    ----------
    Pisinger, A minimal algorithm for the 0-1 knapsack problem, Operations Research 45 (1997).
    Kellerer, Pferschy, Pisinger, Knapsack Problems (2004), section 5.4.
    """

    name: ClassVar[str] = "primal-dual"
    solves: ClassVar[type] = Knapsack

    memory: int = 512
    thin: bool = True

    def __post_init__(self) -> None:
        if self.memory <= 0:
            raise SpecError(f"primal-dual: memory must be > 0 MiB, got {self.memory}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        problem = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)  # greedy misses the optimum
        PrimalDual()(problem, Stop().start(problem), np.random.default_rng(0))
        sharpening.warm_up()
        residues.warm_up()
        warm_up_greedy()  # of large problems too

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        # To sort the items cannot be cut short.
        if budget.done() or budget.short(_PER_ITEM * len(problem)):
            return
        reduced = reduce(problem)
        part: Reduced | Remainder = reduced
        states = self._states(part, budget)
        residues: ResidueSearch | None = None
        turn = 0
        while True:
            until = states.work + (_TURNS[turn] if turn < len(_TURNS) else _CHUNK)
            # Until states are given up the core may prove as well as a cut does, afterwards it hardly can.
            while states.work < until and not (0 < turn < len(_TURNS) and states.thinned):
                left = budget.iterations_left()
                end, items = states.grow(min(until - states.work, _CHUNK), -1 if left is None else left)
                budget.spend(items)
                if (chosen := states.better()) is not None:
                    budget.found(part.solution(chosen))
                budget.prove(max(int(budget.value or 0), part.value_of(states.bound)))
                # To give states more room, or to give up half of them, cannot be cut short.
                if end or budget.done() or budget.short(states.pause):
                    return
            if turn < len(_TURNS):
                room = max(1, min(_ROOMS[turn], self.memory * 2**20 // STATE))
                if residues is None and budget.seconds_left() > _PER_ITEM_BY_RESIDUES * len(problem):
                    residues = ResidueSearch(reduced)
                if residues is not None and residues.promising(budget):
                    residues.grow(budget, room)
                    if budget.done():
                        return
                turn = turn + 1 if sharpen(reduced, budget, room, pairs=turn == 0) else len(_TURNS)
                if budget.done():
                    return
                states.improve(part.best(int(budget.value or 0)))
                rest = remainder(reduced, int(budget.value or 0))
                # What all fits is settled under the cut.
                few = rest is not None and 2 * len(rest.values) <= len(part.values)
                if rest is not None and few and int(rest.weights.sum()) > rest.capacity:
                    part = rest
                    states = self._states(part, budget)

    def _states(self, part: Reduced | Remainder, budget: Budget) -> States:
        return States(part, part.best(int(budget.value or 0)), self.memory * 2**20, self.thin, budget.clock)


class States:
    """The core and its list of states.

    Parameters
    ----------
    reduced : the problem; not all items fit.
    incumbent : the value of the best solution known.
    memory : how many bytes the states and tables may take.
    thin : whether to give up states when that is not enough.
    clock : what :attr:`pause` is measured in.
    """

    def __init__(
        self,
        reduced: Reduced | Remainder,
        incumbent: int,
        memory: int,
        thin: bool = True,
        clock: Callable[[], float] = perf_counter,
    ) -> None:
        self._clock = clock
        self._order = by_efficiency(reduced.values, reduced.weights)
        values, weights = reduced.values[self._order], reduced.weights[self._order]
        self._sums = np.zeros((2, len(self._order) + 1), np.int64)
        np.cumsum(values, out=self._sums[0, 1:])
        np.cumsum(weights, out=self._sums[1, 1:])
        self._broken = int(np.searchsorted(self._sums[1], reduced.capacity, side="right")) - 1
        self._items = core.Items(values, weights, self._sums, self._broken, int(reduced.capacity))
        self._at = begun()  # with the break solution
        self._at.left, self._at.right = self._broken - 1, self._broken
        self._at.best = incumbent - self._sums[0, self._broken]
        self._lists = np.zeros((2, 4, 256), np.int64)
        self._history = History()
        self._memory = memory
        self._thin = thin
        self._better: BoolArray | None = None
        self._given_up: int | None = None
        self._waits: int | None = None  # why the list has to be rearranged before it can grow
        self._rate = _REARRANGED
        self.bound = self._bound()
        """The proved upper bound."""

    @property
    def work(self) -> int:
        """How many states were looked at so far."""
        return int(self._at.work)

    @property
    def thinned(self) -> bool:
        """Whether states were given up."""
        return self._given_up is not None

    def improve(self, incumbent: int) -> None:
        """Look only for solutions that are better than this value."""
        self._at.best = max(int(self._at.best), incumbent - int(self._sums[0, self._broken]))

    @property
    def pause(self) -> float:
        """How long :meth:`grow` will first rearrange the states, if it has to, as the last time suggests [s]."""
        return 0.0 if self._waits is None else self._rate * self._lists.nbytes

    def grow(self, work: int, items: int) -> tuple[bool, int]:
        """Take items into the core.

        Parameters
        ----------
        work : after about how many states to return.
        items : after how many items to return, -1 for any number.

        Returns
        -------
        Whether the search is at its end, and how many items were taken in.
        """
        before = int(self._at.items)
        if self._waits is not None and not self._rearrange(self._waits):
            return True, 0
        why = core.expand(self._lists, self._at, self._history.bits, self._items, items, work)
        if self._at.improved:
            self._at.improved = False
            self._better = self._trace()
        if not self._at.merging:
            self.bound = self._bound()
        self._waits = why if why in (FULL, FILED) else None
        return why == FINISHED, int(self._at.items) - before

    def _rearrange(self, why: int) -> bool:
        began, size = self._clock(), self._lists.nbytes
        going = self._make_room() if why == FULL else self._file()
        if size >= _LARGE:  # small lists depend on other things than their size
            self._rate = max(_REARRANGED, (self._clock() - began) / size)
        return going

    def better(self) -> BoolArray | None:
        """A choice that is better than every one before, once; shape ``(m,)``."""
        better, self._better = self._better, None
        return better

    def _bounds(self) -> IntArray:
        return core.bounds(self._lists, self._at, self._items)

    def _bound(self) -> int:
        most = [int(self._at.best)]
        if self._at.count:
            most.append(int(self._bounds().max()))
        if self._given_up is not None:
            most.append(self._given_up)
        return max(most) + int(self._sums[0, self._broken])

    def _trace(self) -> BoolArray:
        chosen = np.zeros(len(self._order), np.bool_)
        chosen[: self._broken] = True
        chosen[self._history.changed(self._at.best_bits, self._at.best_link)] ^= True
        solution = np.empty_like(chosen)
        solution[self._order] = chosen
        return solution

    def _make_room(self) -> bool:
        # Twice the room, while the old and the new lists fit into two thirds of the memory.
        if 3 * self._lists.nbytes > self._memory * 2 // 3:
            return self._halve()
        self._lists = with_room(self._lists, self._at, 2 * self._lists.shape[2])
        return True

    def _file(self) -> bool:
        # Each table gets at most a quarter of what is left of its third of the memory.
        left = self._memory // 3 - self._history.size
        while 16 * self._at.count > max(left // 4, 16):
            if not self._halve():
                return False
        self._history.file(self._lists, self._at)
        return True

    def _halve(self) -> bool:
        if not self._thin:
            return False
        bounds = self._bounds()
        kept = lower_half(-bounds)
        self._given_up = max(int(bounds[~kept].max()), -(2**63) if self._given_up is None else self._given_up)
        self._at.count = keep(self._lists[self._at.turn], kept)
        return True
