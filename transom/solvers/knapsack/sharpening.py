"""Closing the gap of knapsacks that a core alone does not: a cut, pairs of partial choices, a dynamic programme."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.knapsack import cut_core as core
from transom.solvers.knapsack import states
from transom.solvers.knapsack.cardinality import Cut, cuts
from transom.solvers.knapsack.remainder import Remainder, remainder
from transom.solvers.knapsack.states import BITS, LINK, LOSS, VALUE, WEIGHT, History, Numbers, begun, bits_of, with_room
from transom.solvers.knapsack.thinning import keep, lower_half
from transom.stop import Budget, Stop

_CHUNK = 1_000_000  # states between two looks at the clock
STATE = 320  # bytes that a state may take in all: twice two buffers
_HALF = 14  # items of which all choices are listed
_TRIES = 12  # of choices of such items
_WORK = 500  # states that a search looks at, for each that it may keep
_REARRANGED = 5e-10  # what it takes to rearrange a byte of the states, by and large [s]
_PER_ITEM = 2e-6  # what it takes to prepare a search, by and large [s]


def sharpen(reduced: Reduced, budget: Budget, room: int, pairs: bool) -> bool:
    """Search for better solutions under a cut until the gap is closed, states are too many or the budget is done.

    Solutions and bounds go to the budget; items that are taken in are its iterations.

    Parameters
    ----------
    reduced : the problem; not all items fit.
    budget : with a solution.
    room : most states; of more, those with the largest loss are given up.
    pairs : whether to combine partial choices at random first.

    Returns
    -------
    Whether more room could help.
    """
    if budget.seconds_left() < _PER_ITEM * len(reduced.items):
        return False
    rest = remainder(reduced, int(budget.value or 0))
    if rest is None or not len(rest.values):
        if rest is not None:
            budget.found(rest.solution(np.zeros(0, np.bool_)))
        budget.prove(int(budget.value or 0))
        return False
    both = cuts(rest)
    if both is None:
        return False
    bounds = [cut.bound // cut.steps for cut in both]
    for number, cut in enumerate(both):
        _prove(rest, bounds, budget)
        search = CutSearch(rest, cut, budget)
        if pairs:
            search.pair_at_random()
        if budget.done():
            return True
        bounds[number] = search.grow(room)
    _prove(rest, bounds, budget)
    return True


def _prove(rest: Remainder, bounds: list[int], budget: Budget) -> None:
    # Solutions that are fixed out are no better than the best one known.
    known = int(budget.value or 0)
    budget.prove(max([known, *(rest.value_of(bound) for bound in bounds)]))


class CutSearch:
    """A dynamic programme over the items that are left, in the order of their costs under a cut.

    Parameters
    ----------
    rest : what is left of the problem.
    cut : what a solution that is looked for keeps.
    budget : where solutions and bounds go.
    """

    def __init__(self, rest: Remainder, cut: Cut, budget: Budget) -> None:
        self._rest, self._cut, self._budget = rest, cut, budget
        self._history = History()
        values, weights = rest.values, rest.weights
        ratio = values / weights
        efficient = np.argsort(-ratio, kind="stable")
        # What the cut leaves open is filled by efficiency, as is everything without a cut.
        chosen = cut.gains > 0
        room = rest.capacity - int(weights[chosen].sum())
        undecided = efficient[cut.gains[efficient] == 0]
        fitting = int(np.searchsorted(np.cumsum(weights[undecided]), room, side="right"))
        chosen[undecided[:fitting]] = True
        place = int(np.searchsorted(np.cumsum(weights[efficient]), rest.capacity, side="right"))
        slope = round(float(ratio[efficient[place]]) * cut.steps) if place < len(efficient) else 0
        plain = cut.steps * values - slope * weights
        sign = np.where(chosen, -1, 1)
        steps = np.stack((sign * values, sign * weights), axis=1)
        lost = -sign * plain
        order = np.lexsort((np.abs(plain), np.abs(cut.gains)))
        rises = np.zeros(len(values) + 1, np.int64)
        rises[:-1] = np.cumsum(np.maximum(0, -lost[order])[::-1])[::-1]
        self._chosen, self._order = chosen, order
        self._value = int(values[chosen].sum())
        self._room = rest.capacity - int(weights[chosen].sum())
        bounds = cut.bound - cut.steps * self._value, slope * self._room + int(rises[0])
        self._numbers = np.array([self._room, cut.steps, *bounds, slope], np.int64)
        self._changes = core.Changes(steps[order], np.stack((np.abs(cut.gains), lost), axis=1)[order], rises)
        if self._room >= 0 and self._value > self._best():
            self._budget.found(rest.solution(chosen))

    def pair_at_random(self) -> None:
        """Combine all choices of a few items with all choices of a few others, first those that cost least."""
        rng = np.random.default_rng(0)
        inside = np.flatnonzero(self._chosen[self._order])
        outside = np.flatnonzero(~self._chosen[self._order])
        costs = self._changes.costs[:, 0]
        share = min(_HALF, len(inside)), min(_HALF, len(outside))
        least = costs[min(2 * _HALF, len(costs)) - 1]
        for trial in range(_TRIES):
            if self._budget.done():
                return
            few = []
            for side, count in zip((inside, outside), share, strict=True):
                near = max(int(np.searchsorted(costs[side], 2 * least, side="right")), count + 2 * trial)
                few.append(rng.permutation(side[:near])[:count] if trial else side[:count])
            items = np.concatenate([few[0][::2], few[1][::2], few[0][1::2], few[1][1::2]])
            half = -(-len(few[0]) // 2) + -(-len(few[1]) // 2)
            one, two = (core.subsets(self._changes.steps[some]) for some in (items[:half], items[half:]))
            value, i, j = core.pair(one[0], one[1], two, self._room)
            if value + self._value > self._best():
                flipped = (
                    items[bits_of(int(one[2, i]), half)],
                    items[half:][bits_of(int(two[2, j]), len(items) - half)],
                )
                self._change(np.concatenate(flipped))

    def grow(self, most: int) -> int:
        """Take items in until the end, or until the budget is done; what no solution that is looked for exceeds.

        Parameters
        ----------
        most : states; of more, those with the largest loss are given up.
        """
        cut = self._cut
        bound = cut.bound // cut.steps
        lists = np.zeros((2, 5, min(4096, 2 * most)), np.int64)
        at = begun()
        given_up, work = -1, 0
        while work < _WORK * most:
            at.best = self._best() - self._value
            left, before = self._budget.iterations_left(), int(at.items)
            items = -1 if left is None else left
            why = core.expand(lists, at, self._history.bits, self._changes, self._numbers, items, _CHUNK)
            self._budget.spend(int(at.items) - before)
            work = int(at.work)
            if at.improved:
                at.improved = False
                self._change(self._history.changed(at.best_bits, at.best_link))
            if why == states.FINISHED:
                if given_up < 0:
                    return self._best()
                # What was given up has lost at least so much.
                return max(self._best(), (cut.bound - given_up) // cut.steps)
            if self._budget.done():
                return bound
            if why == states.FULL:
                if self._budget.seconds_left() < _REARRANGED * lists.nbytes:
                    return bound  # others may still find something in that time
                if at.count > most:
                    self._pair(lists[at.turn], at)
                    lost = _thinned(lists[at.turn], at)
                    given_up = lost if given_up < 0 else min(given_up, lost)
                else:
                    lists = with_room(lists, at, min(2 * lists.shape[2], 2 * most))
            elif why == states.FILED:
                self._history.file(lists, at)
        return bound

    def _pair(self, now: IntArray, at: Numbers) -> None:
        # States with all choices of the next items.
        first, count = int(at.next), int(at.count)
        others = core.subsets(self._changes.steps[first : first + _HALF])
        value, i, j = core.pair(now[VALUE, :count], now[WEIGHT, :count], others, self._room)
        if value + self._value > self._best():
            more = first + bits_of(int(others[2, j]), min(_HALF, len(self._order) - first))
            known = self._history.changed(now[BITS, i], now[LINK, i])
            self._change(np.concatenate((known, more)))

    def _best(self) -> int:
        return self._rest.best(int(self._budget.value or 0))

    def _change(self, places: IntArray) -> None:
        chosen = self._chosen.copy()
        chosen[self._order[places]] ^= True
        self._budget.found(self._rest.solution(chosen))


def _thinned(now: IntArray, at: Numbers) -> int:
    """Give up half of the states, those that lost most; the least loss that was given up."""
    count = int(at.count)
    losses = now[LOSS, :count].copy()
    kept = lower_half(losses)
    at.count = keep(now, kept)
    return int(losses[~kept].min())


def warm_up() -> None:
    """Compile the kernels."""
    weights = np.arange(1, 41) ** 2 * 37 % 991 + 1
    problem = Knapsack(weights + 100, weights, int(weights.sum()) // 2 + 1)
    for pairs in (False, True):
        budget = Stop().start(problem)
        budget.found(np.zeros(len(problem), np.bool_))
        sharpen(reduce(problem), budget, 1, pairs)
