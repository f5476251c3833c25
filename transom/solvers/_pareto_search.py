"""The search of ``pareto-dp``: its halves, what is known, and when something is handed over."""

from __future__ import annotations

import math

import numpy as np

from transom.models import Selection
from transom.models._arrays import BoolArray, IntArray
from transom.models.pareto_front import EXACT_OBJECTIVES
from transom.models.selection_reduction import ReducedSelection
from transom.solvers._pareto_archive import Archive
from transom.solvers._pareto_join import DEPTH, FINISHED, FULL, join
from transom.solvers._pareto_lists import BITS, bits, bound, chosen, empty, extend, limits
from transom.solvers._pareto_start import exchange, fill, greedy_orders
from transom.solvers._pareto_tree import Tree, needed
from transom.stop import Budget

_WORK = 20_000  # steps of a portion: some milliseconds
_PAIRS = 4_000  # pairs of a portion
_FEW = 16  # greedy selections that are handed over before anything else
_SOME = 200  # points whose judging takes long enough to learn from
_SECONDS = 0.002  # about what a portion takes
_SHARE = 20  # what is known is handed over where the search since the last time took so many times as long
_SHARES = (0.998, 0.99, 0.95, 0.0)  # of what is out of reach: where the best pairs are looked for in turn
_SUMS = 2**24  # largest amount for which all sums of demands are listed


class Halt(Exception):
    """Leaves the search: its budget is spent."""


class Half:
    """A list of choices among the jobs of one half.

    Parameters
    ----------
    columns, words : of a row, and of its selection as bits.
    """

    def __init__(self, columns: int, words: int) -> None:
        self.jobs: list[int] = []
        self.rows = np.zeros((1, columns), np.int64)
        self.words = np.zeros((1, words), np.int64)


class Search:
    """The search for the front of what a selection comes down to.

    Parameters
    ----------
    problem, reduced : the selection; some jobs of it are undecided.
    budget : when to stop, and who wants to know.
    memory : most bytes of the lists.
    """

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget, memory: int) -> None:
        self._problem, self._reduced, self._budget, self._memory = problem, reduced, budget, memory
        # Only multiples of the greatest common divisor can be asked for.
        unit = np.gcd.reduce(reduced.demands, axis=0)
        self._demands = reduced.demands // unit
        self._room = reduced.room // unit
        self._objectives = reduced.objectives // np.maximum(1, np.gcd.reduce(reduced.objectives, axis=0))
        self._total, self._terms = self._objectives.shape
        self._words = len(empty(self._total))
        equal = (self._objectives[:, :, None] == self._demands[:, None, :]).all(axis=0)
        self._same = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
        self._most = self._ceiling()
        self._known = Archive(self._terms, self._words)
        columns = self._terms + len(self._room)
        self._halves = (Half(columns, self._words), Half(columns, self._words))
        self._orders = np.empty((0, self._total), np.int64)
        self._told = self._since = 0
        self._extra, self._slowness = 0.0, 1.0

    def begin(self, starts: int, exchanges: int, rng: np.random.Generator) -> None:
        """Fill the archive with greedy selections and what comes of exchanges of jobs in them."""
        terms, resources = self._terms, len(self._room)
        weights = np.concatenate((np.ones((1, terms)), np.eye(terms), rng.dirichlet(np.full(terms, 0.7), starts)))
        prices = np.concatenate((np.ones((1 + terms, resources)), rng.dirichlet(np.full(resources, 0.7), starts)))
        self._orders = greedy_orders(self._demands, self._room, self._objectives, weights, prices)
        # The first few are told at once, which also says how long judging takes.
        for orders in (self._orders[:_FEW], self._orders[_FEW:]):
            begin = 0
            while begin < len(orders):
                begin, full = fill(orders, begin, *self._data(), *self._archive(), _WORK)
                if full:
                    self._known.spread(self._pause)
                self._tick()
            if not self._told:
                self.hand_over()
        self.improve(exchanges)

    def improve(self, most: int | None = None) -> None:
        """Exchange jobs in known selections, in so many portions at most, until nothing new comes of it."""
        explored: set[bytes] = set()
        while True:
            points = self._known.content()
            fresh = [row[self._terms :].tobytes() not in explored for row in points]
            points = points[fresh]
            if not len(points):
                return
            explored.update(row[self._terms :].tobytes() for row in points)
            state = np.zeros(3, np.int64)
            while state[0] < len(points):
                if most is not None:
                    if most == 0:
                        return
                    most -= 1
                if exchange(points, state, self._orders, *self._data(), *self._archive(), 10 * _WORK):
                    self._known.spread(self._pause)
                self._tick()

    def grow(self) -> bool:
        """Take every job into one of the halves; False where they outgrow the memory."""
        # At the peak a row stands in the old list, the new one, the keys and the tree; twice as many come as go.
        most = self._memory // (8 * 8 * (self._halves[0].rows.shape[1] + self._words))
        for unit in self._units():
            half = min(self._halves, key=lambda half: len(half.rows))
            for job in unit:
                if 2 * len(half.rows) > most:
                    return False
                self._take(half, job)
        return True

    def join(self) -> None:
        """Search the pairs of both halves: what is known afterwards is the front."""
        if not len(self._halves[0].rows) or not len(self._halves[1].rows):
            return  # whatever was still possible is known
        trees = []
        for half in self._halves:
            built = Tree(half.rows)
            while not built.grow(4 * _WORK):
                self._tick()
            trees += [built.rows, built.nodes, half.words[built.order]]
        stack, top = np.zeros((DEPTH, 2), np.int64), np.ones(1, np.int64)
        # Points close to what no point exceeds beat many pairs, and there are few pairs as close: those come first.
        for share in _SHARES:
            stack[0], top[0] = 0, 1
            least = (self._most * share).astype(np.int64)
            while True:
                why = join(*trees, self._terms, self._room, self._most, least, *self._archive(), stack, top, _PAIRS)
                if why == FULL:
                    self._known.spread(self._pause)
                    if self._worth_telling():
                        self.hand_over()
                if why == FINISHED:
                    break
                self._tick()

    def hand_over(self) -> None:
        """Tell the budget what is known."""
        rows = self._known.content()
        self._told, self._since = len(rows), self._budget.iterations
        began = self._budget.seconds()
        taken = chosen(rows[:, self._terms :], self._total)
        self._budget.found(self._problem.front(self._reduced.selections(taken)))
        took, expected = self._budget.seconds() - began, self._judging(len(rows))
        # Of a few points only what comes with any number of them is learnt, else how fast this machine is.
        if len(rows) < _SOME:
            self._extra = max(0.0, took - expected)
        else:
            self._slowness = min(5.0, max(0.5, (took - self._extra) / expected))

    def _judging(self, points: float) -> float:
        return _judging(points, self._terms, len(self._problem))

    def _worth_telling(self) -> bool:
        # Counted in portions, not in seconds: the same seed and iterations give the same answer.
        if self._known.size < 2 * self._told:
            return False
        return (self._budget.iterations - self._since) * _SECONDS > _SHARE * self._judging(self._known.size)

    def _ceiling(self) -> IntArray:
        # What no selection exceeds in each objective: demands as far as their sums come to it, else Dantzig's bound.
        most = np.empty(self._terms, np.int64)
        nothing = np.zeros(self._terms + len(self._room), np.int64)
        bound(nothing, self._room, limits(self._demands, self._objectives), self._same, most)
        for k in np.flatnonzero((self._same >= 0) & (most < _SUMS)).tolist():
            sums, within = 1, (1 << int(most[k]) + 1) - 1
            for amount in self._objectives[:, k].tolist():
                sums |= sums << amount & within
            most[k] = sums.bit_length() - 1
        return most

    def _data(self) -> tuple[IntArray, IntArray, IntArray, BoolArray]:
        return self._demands, self._room, self._objectives, self._reduced.parents

    def _archive(self) -> tuple[IntArray, IntArray, IntArray]:
        return self._known.rows, self._known.nodes, self._known.last

    def _pause(self) -> None:
        # What is known has to be judged in the time that is left.
        left = self._budget.seconds_left()
        needed = self._extra + 1.5 * self._slowness * self._judging(1.2 * self._known.size)
        if left < math.inf and left < needed:
            raise Halt

    def _tick(self) -> None:
        self._budget.spend()
        if self._budget.done():
            raise Halt
        self._pause()

    def _units(self) -> list[list[int]]:
        # Jobs that hang together through what they require, parents first; good ones first.
        worth = self._objectives / np.maximum(1, self._objectives.sum(axis=0))
        asked = self._demands / np.maximum(1, self._room)
        order = np.argsort(-worth.sum(axis=1) / (asked.sum(axis=1) + 1e-12), kind="stable")
        parents = self._reduced.parents
        group = np.arange(self._total)
        for job, other in np.argwhere(parents).tolist():
            group[group == group[other]] = group[job]
        units: dict[int, list[int]] = {}
        for job in order.tolist():
            units.setdefault(int(group[job]), []).append(job)
        for unit in units.values():
            jobs = unit.copy()
            unit.clear()
            while jobs:
                ready = [job for job in jobs if not parents[job, jobs].any()]
                unit += ready
                jobs = [job for job in jobs if job not in ready]
        return list(units.values())

    def _take(self, half: Half, job: int) -> None:
        parents = self._reduced.parents
        half.jobs.append(job)
        open_ = np.ones(self._total, bool)
        open_[half.jobs] = False  # the jobs of the other half are still to be chosen from, seen from this one
        rest = self._demands[open_].sum(axis=0)
        table = limits(self._demands[open_], self._objectives[open_])
        needs = bits(np.flatnonzero(parents[job]), self._total)
        size = 2 * len(half.rows)
        columns = half.rows.shape[1]
        rows, keys = np.empty((size, columns), np.int64), np.empty((size, columns), np.int64)
        words = np.empty((size, self._words), np.int64)
        row = np.concatenate((self._objectives[job], self._demands[job]))
        state, portion = np.zeros(2, np.int64), max(100, 2 * _WORK // (10 + self._terms * len(self._room)))
        while state[0] < len(half.rows):
            extend(
                half.rows, half.words, rows, words, keys, state, row, job // BITS, 1 << job % BITS, needs,
                self._room, rest, table, self._same, *self._archive(), portion,
            )  # fmt: skip
            self._tick()
        count = int(state[1])
        if not count:
            half.rows, half.words = rows[:0], words[:0]
            return
        tree = Tree(keys[:count])
        while not tree.grow(_WORK * 4):
            self._tick()
        # A choice is only as good as another one if it lets the same jobs follow.
        followed = parents[open_].any(axis=0)
        open_words = bits(np.flatnonzero(followed), self._total)
        kept, at = np.zeros(count, np.bool_), 0
        while at < count:
            at = needed(tree.rows, tree.order, tree.nodes, words, open_words, kept, at, _WORK * 4)
            self._tick()
        half.rows, half.words = rows[:count][kept], words[:count][kept]


def _judging(points: float, terms: int, jobs: int) -> float:
    # About what it takes to hand over so many points [s]: values, filters, and the hypervolume.
    if terms > EXACT_OBJECTIVES:
        return 3e-2 + (2.5e-5 + 4e-7 * jobs) * points + 3e-10 * points**2
    return 2e-3 + (6e-6 + 4e-7 * jobs) * points + (2e-8 if terms == EXACT_OBJECTIVES else 3e-9) * points**2
