"""The search of ``pareto-dp``: its halves, what is known, and when something is handed over."""

from __future__ import annotations

import numpy as np

from transom.models import Selection
from transom.models._arrays import IntArray
from transom.models.selection_reduction import ReducedSelection
from transom.solvers._pareto_archive import Archive
from transom.solvers._pareto_join import DEPTH, FINISHED, FULL, join
from transom.solvers._pareto_lists import BITS, bits, chosen, empty, extend, limits
from transom.solvers._pareto_start import fill, greedy_orders
from transom.solvers._pareto_tree import Tree, needed
from transom.stop import Budget

_WORK = 20_000  # steps of a portion: some milliseconds
_GROWTH = 4  # what is known is handed over when it has grown so many times


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
        jobs, self._terms = self._objectives.shape
        self._total = jobs
        self._words = len(empty(jobs))
        equal = (self._objectives[:, :, None] == self._demands[:, None, :]).all(axis=0)
        self._same = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
        self._most = self._objectives.sum(axis=0)
        at = self._same >= 0
        self._most[at] = np.minimum(self._most[at], self._room[self._same[at]])
        self._known = Archive(self._terms, self._words)
        self._halves = (
            Half(self._terms + len(self._room), self._words),
            Half(self._terms + len(self._room), self._words),
        )
        self._told = 0
        self._cost = 0.0

    def begin(self, starts: int, rng: np.random.Generator) -> None:
        """Fill the archive with greedy selections."""
        terms, resources = self._terms, len(self._room)
        weights = np.concatenate((np.ones((1, terms)), np.eye(terms), rng.dirichlet(np.full(terms, 0.7), starts)))
        prices = np.concatenate((np.ones((1 + terms, resources)), rng.dirichlet(np.full(resources, 0.7), starts)))
        orders = greedy_orders(self._demands, self._room, self._objectives, weights, prices)
        begin = 0
        while begin < len(orders):
            begin, full = fill(
                orders, begin, self._demands, self._room, self._objectives, self._reduced.parents,
                self._known.rows, self._known.nodes, self._known.last, _WORK,
            )  # fmt: skip
            if full:
                self._known.spread()
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

    def join(self) -> bool:
        """Search the pairs of both halves; True when all are looked at."""
        trees = []
        for half in self._halves:
            built = Tree(half.rows.copy())
            while not built.grow(_WORK):
                self._tick()
            trees += [built.rows, built.nodes, half.words[built.order]]
        stack, top = np.zeros((DEPTH, 2), np.int64), np.ones(1, np.int64)
        known = self._known
        while True:
            why = join(
                *trees, self._terms, self._room, self._most, known.rows, known.nodes, known.last, stack, top, _WORK
            )
            if why == FULL:
                known.spread()
                if len(known) > _GROWTH * self._told:
                    self.hand_over()
            if why == FINISHED:
                return True
            self._tick()

    def hand_over(self) -> None:
        """Tell the budget what is known."""
        rows = self._known.content()
        self._told = len(rows)
        taken = chosen(rows[:, self._terms :], self._total)
        self._budget.found(self._problem.front(self._reduced.selections(taken)))

    def _tick(self) -> None:
        self._budget.spend()
        if self._budget.done():
            raise Halt

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
        state = np.zeros(2, np.int64)
        while state[0] < len(half.rows):
            extend(
                half.rows, half.words, rows, words, keys, state, row, job // BITS, 1 << job % BITS, needs,
                self._room, rest, table, self._same, self._known.rows, self._known.nodes, self._known.last, _WORK // 4,
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
