"""The search of ``pareto-dp``: what it begins with, its neighbourhoods, and when something is handed over."""

from __future__ import annotations

import numpy as np

from transom._system.records import record
from transom.models import Selection
from transom.models.arrays import IntArray
from transom.models.selection_reduction import ReducedSelection
from transom.solvers.selection.front_archive import FrontArchive, beaten
from transom.solvers.selection.judging_time import judging_seconds
from transom.solvers.selection.pareto_data import scaled
from transom.solvers.selection.pareto_halves import WORK, Halves
from transom.solvers.selection.pareto_lists import bits, chosen
from transom.solvers.selection.pareto_start import Jobs, Next, exchange, fill, greedy_orders
from transom.stop import Budget

_FEW = 16  # greedy selections that are handed over before anything else
_MARKS = (200, 2000)  # numbers of points that are handed over in any case, to learn how long it takes
_SECONDS = 0.002  # about what a portion takes
_SHARE = 20  # what is known is handed over where the search since the last time took so many times as long
_GUESSED, _MEASURED = 3.0, 1.4  # times as long as judging is thought to take is left for it, before and after one
_BEGINS = 0.0015  # what a hand-over is thought to take at least, before one has been measured [s]
_STALE = 0.1  # share of the points that came since the archive was filtered, from which that is worth its time
_PATIENCE = 200  # neighbourhoods without anything new after which a search without any other end gives up
_BARREN = 20  # the same for neighbourhoods beside a search of everything
_NEARBY, _NEARBY_LONG, _LONG = 0.3, 0.75, 2**15  # share of the portions for those, beside lists up to and beyond it
_SIZES = ((4, 22), (6, 18), (2**62, 14))  # jobs of a neighbourhood, by objectives: of many, more points are new
_SMALL = 2**26  # most memory for the lists of a neighbourhood [bytes]


class Halt(Exception):
    """Leaves the search: its budget is spent."""


class _Ended(Exception):
    """Leaves the lists: a point reaches what no point exceeds."""


class Search:
    """The search for the front of what a selection comes down to.

    Parameters
    ----------
    problem, reduced : the selection; some jobs of it are undecided.
    budget : when to stop, and who wants to know.
    rng : for greedy selections and neighbourhoods.
    """

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator) -> None:
        self._problem, self._reduced, self._budget, self._rng = problem, reduced, budget, rng
        self._data = scaled(reduced)
        self._known = FrontArchive(self._data.terms, self._data.words)
        self._orders = np.empty((0, self._data.jobs), np.int64)
        self._size = next(size for terms, size in _SIZES if self._data.terms <= terms)
        self._reported = self._since = self._barren = self._nearby = self._points = 0
        self._extra, self._slowness = 0.0, 1.0

    @property
    def wide(self) -> bool:
        """Whether there are so many jobs that neighbourhoods are much smaller."""
        return self._data.jobs > self._size + 4

    def begin(self, starts: int, exchanges: int) -> None:
        """Fill the archive with greedy selections and what comes of exchanges of jobs in them."""
        data, rng = self._data, self._rng
        terms, resources = data.terms, len(data.room)
        weights = np.concatenate((np.ones((1, terms)), np.eye(terms), rng.dirichlet(np.full(terms, 0.7), starts)))
        prices = np.concatenate((np.ones((1 + terms, resources)), rng.dirichlet(np.full(resources, 0.7), starts)))
        self._orders = greedy_orders(data.demands, data.room, data.objectives, weights, prices)
        jobs = Jobs(data.demands, data.room, data.objectives, data.parents)
        # The first few are reported at once, which also says how long judging takes.
        for orders in (self._orders[:_FEW], self._orders[_FEW:]):
            begin = 0
            while begin < len(orders):
                begin, full = fill(orders, begin, jobs, self._known.tree, WORK)
                if full:
                    self._known.make_room(self._pause)
                self._tick()
            if not self._reported:
                self.hand_over()
        points, following = self._known.content(), record(Next)
        for _ in range(exchanges):
            if following.point < len(points) and exchange(
                points, following, self._orders, jobs, self._known.tree, 10 * WORK
            ):
                self._known.make_room(self._pause)
            self._tick()

    def neighbourhoods(self, number: int | None = None) -> None:
        """Search all choices among a few jobs, the others as in a known selection, again and again.

        Parameters
        ----------
        number : of neighbourhoods; by default until nothing new comes of them.
        """
        done = self._barren = 0
        while not self.settled() and ((done < number) if number is not None else (self._barren < _PATIENCE)):
            self._neighbourhood()
            done += 1

    def _neighbourhood(self) -> None:
        data, rng = self._data, self._rng
        before, spent = self._known.added, self._budget.iterations
        points = self._known.content()
        # A point that is close to the ceiling, seen from a random side.
        lack = (data.most - points[:, : data.terms]) / np.maximum(1, data.most) * rng.dirichlet(np.ones(data.terms))
        best = points[int((lack.max(axis=1) + 1e-3 * lack.sum(axis=1)).argmin())]
        taken = chosen(best[None, data.terms :], data.jobs)[0]
        units, free = [], 0
        for at in rng.permutation(len(data.units)).tolist():
            if free + len(data.units[at]) <= self._size:
                units.append(data.units[at])
                free += len(data.units[at])
        for job in (job for unit in units for job in unit):
            taken[job] = False
        base = np.concatenate((data.objectives[taken].sum(axis=0), data.demands[taken].sum(axis=0)))
        halves = self._halves(units, base, bits(np.flatnonzero(taken), data.jobs))
        if halves.grow(_SMALL):
            halves.join(self._report)
        self._barren = 0 if self._known.added > before else self._barren + 1
        self._nearby += self._budget.iterations - spent

    def complete(self, memory: int) -> bool:
        """Search all choices; False where the lists outgrow the memory [bytes]."""
        data = self._data
        base = np.zeros(data.terms + len(data.room), np.int64)
        halves = self._halves(data.units, base, np.zeros(data.words, np.int64))
        self._barren = 0
        try:
            if not halves.grow(memory, self._between):
                return False
        except _Ended:
            return True
        halves.join(self._report)
        return True

    def _between(self, rows: int) -> None:
        # Neighbourhoods get a share of the work while something comes of them: what they find keeps lists short, and
        # is what there will be where the lists become too long.
        share = _NEARBY if rows <= _LONG else _NEARBY_LONG
        while self._barren < _BARREN and self.wide:
            if self._nearby > share * self._budget.iterations:
                return
            if self.settled():
                raise _Ended
            self._neighbourhood()

    def settled(self) -> bool:
        """Whether a point reaches what no point exceeds."""
        return beaten(self._data.most, self._data.terms, self._known.tree, False)

    def hand_over(self) -> None:
        """Tell the budget what is known."""
        began = self._budget.seconds()
        # With those that are let go: no number is reached twice.
        self._reported, self._since = len(self._known), self._budget.iterations
        self._known.shed()
        rows = self._known.content()
        taken = chosen(rows[:, self._data.terms :], self._data.jobs)
        self._budget.found(self._problem.front(self._reduced.selections(taken)))
        took, expected = self._budget.seconds() - began, self._judging(len(rows))
        # Of a few points only what comes with any number of them is learnt, else how fast this machine is.
        if len(rows) < _MARKS[0]:
            self._extra = max(0.0, took - expected)
        else:
            self._slowness = min(5.0, max(0.5, (took - self._extra) / expected))

    def _halves(self, units: list[list[int]], base: IntArray, words: IntArray) -> Halves:
        return Halves(self._data, units, base, words, self._known, self._tick, self._pause)

    def _tick(self) -> None:
        self._budget.spend()
        if self._budget.done():
            raise Halt
        self._points = len(self._known)
        if self.late() and self._known.unsifted > _STALE * self._points:
            # Those that have been beaten are not judged.
            self._known.shed()
            self._points = len(self._known)
        self._pause()

    def _pause(self) -> None:
        if self.late():
            raise Halt

    def late(self) -> bool:
        """Whether the time that is left is too short to go on, as what is known has to be judged in it."""
        margin = _MEASURED if self._reported >= _MARKS[0] else _GUESSED
        return self._budget.short(self._extra + margin * self._slowness * self._judging(self._points))

    def _report(self) -> None:
        # Some sizes are handed over to learn how long that takes, the others where the search has been long enough.
        # Counted in portions, not in seconds: the same seed and iterations give the same answer.
        size, spent = len(self._known), (self._budget.iterations - self._since) * _SECONDS
        if any(self._reported < mark <= size for mark in _MARKS) or (
            size >= 2 * self._reported and spent > _SHARE * self._judging(size)
        ):
            self.hand_over()

    def _judging(self, points: float) -> float:
        # Before anything has been measured, a slow machine may need four times as long for the first few points. A
        # front that another solver has found is judged again with what is added to it.
        known = 0 if self._budget.solution is None else len(self._budget.solution)
        return _BEGINS + judging_seconds(self._problem, max(points, known))
