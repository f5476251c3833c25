r"""Search for better knapsacks by what weights leave over when they are divided by the weight of the break item.

Let the break item stay free: any number of it costs nothing against the linear relaxation. A solution then changes
other items, each at its reduced cost :math:`c_j`, so that the weights of the changes add up to the free capacity
:math:`r` modulo the weight :math:`w` of the break item. With :math:`x_j` the weight of a change modulo :math:`w`, any
subadditive :math:`\varphi` on the residues with :math:`\varphi(x_j) \le c_j` proves that this costs
:math:`\varphi(r)` at least. Here, for each residue, the highest tent with its top there,

.. math:: \varphi(r) = \min\Bigl\{r \min_{x_j \le r} \frac{c_j}{x_j},\
    (w - r) \min_{x_j \ge r} \frac{c_j}{w - x_j}\Bigr\},

which is Gomory's mixed-integer cut for that residue. Where small items are the most efficient ones, as in the class
``circle``, this closes nearly all of the gap, where counting items closes little.

References
----------
Gomory, Some polyhedra related to combinatorial problems, Linear Algebra and its Applications 2 (1969).
"""

from __future__ import annotations

import numpy as np

from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.efficiency import by_efficiency
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.knapsack import residue_core as core
from transom.solvers.knapsack import states
from transom.solvers.knapsack.states import History, begun, with_room
from transom.stop import Budget, Stop

_CELLS = 2**15  # of residues, for each of which the bound is known
_CHUNK = 500_000  # states between two looks at the clock
_WORK = 200  # states that a search looks at, for each that it may keep
_CLOSES = 0.25  # share of the gap that the bound closes where the search is worth it
_LARGEST = 2.0**42  # sums below this are exact far below a unit, also times the number of cells


class ResidueSearch:
    """The search for one problem, which may be begun again with more room.

    Parameters
    ----------
    reduced : the problem; not all items fit.
    """

    def __init__(self, reduced: Reduced) -> None:
        self._reduced = reduced
        order = by_efficiency(reduced.values, reduced.weights)
        place = int(np.searchsorted(np.cumsum(reduced.weights[order]), reduced.capacity, side="right"))
        self._chosen = np.zeros(len(order), np.bool_)
        self._chosen[order[:place]] = True
        self._value = int(reduced.values[self._chosen].sum())
        room = reduced.capacity - int(reduced.weights[self._chosen].sum())
        self._broken = int(order[place])
        weight = int(reduced.weights[self._broken])
        slope = int(reduced.values[self._broken]) / weight
        most = float(reduced.values.sum()) + slope * float(reduced.weights.sum())
        self._possible = max(most, float(reduced.weights.sum())) < _LARGEST
        if not self._possible:
            return
        sign = np.where(self._chosen, -1, 1)
        costs = np.maximum(0.0, -sign * (reduced.values - slope * reduced.weights))
        steps = np.stack((sign * reduced.values, sign * reduced.weights), axis=1)
        residues = steps[:, 1] % weight
        self._numbers = np.array([room, weight, slope])
        others = np.arange(len(order)) != self._broken
        self._first: FloatArray = core.slopes(residues[others], costs[others], weight, slope, _CELLS)
        self._closed = core.least(room % weight, weight, self._first)
        rest = (room - residues) % weight
        at = rest * _CELLS // weight
        through = costs + np.minimum(rest * self._first[0, at], (weight - rest) * self._first[1, at])
        self._order = np.argsort(through)
        self._order = self._order[self._order != self._broken]
        self._through, self._costs = through[self._order], costs[self._order]
        self._steps, self._residues = steps[self._order], residues[self._order]

    def promising(self, budget: Budget) -> bool:
        """Whether the bound closes a good part of the gap."""
        if not self._possible:
            return False
        gap = self._numbers[2] * self._numbers[0] - (self._reduced.best(int(budget.value or 0)) - self._value)
        return bool(gap > 0 and self._closed >= _CLOSES * gap)

    def grow(self, budget: Budget, most: int) -> None:
        """Take items in until the end, or until the budget is done; solutions and the bound go to the budget.

        Parameters
        ----------
        most : states; of more, those with the smallest bounds are given up.
        """
        history = History()
        lists = np.zeros((2, 4, max(4, min(4096, 2 * most))), np.int64)
        at = begun()
        # The break item is on either side, and does not fit where nothing else changes.
        lists[0, :, 1] = self._reduced.values[self._broken], self._reduced.weights[self._broken], 1, 0
        at.count, at.used = 2, 1
        history.bits[0] = -1
        at.best = self._reduced.best(int(budget.value or 0)) - self._value
        if at.best < 0:
            at.best = 0
            budget.found(self._reduced.solution(self._chosen))
        tables, given_up = self._first, -np.inf
        while at.work < _WORK * most:
            why = core.expand(lists, at, history.bits, self._steps, self._through, tables, self._numbers, _CHUNK)
            if at.improved:
                at.improved = False
                budget.found(self._solution(history.changed(at.best_bits, at.best_link)))
            if why == states.FINISHED:
                bound = max(int(at.best), int(np.floor(given_up + 1e-3)) if given_up > -np.inf else -(2**62))
                budget.prove(self._reduced.value_of(self._value + bound))
                return
            if budget.done():
                return
            count = int(at.count)
            if why == states.FULL and count > most:
                now = lists[at.turn]
                bounds = core.bounds(now, count, tables, self._numbers)
                kept = np.zeros(count, np.bool_)
                kept[np.argpartition(-bounds, count // 2)[: count // 2]] = True
                given_up = max(given_up, float(bounds[~kept].max()))
                now[:, : count // 2] = now[:, :count][:, kept]
                at.count = count // 2
            elif why == states.FULL:
                lists = with_room(lists, at, min(2 * lists.shape[2], 4 * most))
            elif why == states.FILED:
                history.file(lists, at)
                left = int(at.next)
                tables = core.slopes(
                    self._residues[left:], self._costs[left:], int(self._numbers[1]), self._numbers[2], _CELLS
                )

    def _solution(self, changed: IntArray) -> BoolArray:
        chosen = self._chosen.copy()
        chosen[np.where(changed < 0, self._broken, self._order[changed])] ^= True
        return self._reduced.solution(chosen)


def warm_up() -> None:
    """Compile the kernels."""
    weights = np.arange(1, 201) ** 2 * 37 % 9973 + 1
    problem = Knapsack(weights + 100, weights, int(weights.sum()) // 2 + 1)
    budget = Stop().start(problem)
    budget.found(np.zeros(len(problem), np.bool_))
    search = ResidueSearch(reduce(problem))
    search.promising(budget)
    search.grow(budget, 1)
    core.bounds(np.zeros((2, 4, 2), np.int64)[0], 1, search._first, search._numbers)
