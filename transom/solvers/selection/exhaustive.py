"""The whole front by looking at every choice of jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import BoolArray
from transom.models.selection import Selection
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solvers.selection.judging_time import judging_seconds
from transom.solvers.selection.pareto_start import greedy_orders
from transom.solvers.selection.subsets import Subsets
from transom.solving import presolve
from transom.stop import Budget, Stop

_PATIENCE = 30.0  # what systems wait for an answer at most [s] (MultiSched, section 3)
_MOST = 60  # a choice is kept as the bits of one number
_LOOK, _PART = 0.003, 0.1  # seconds between two looks at the clock, and share of what is left of the time
_STARTS = 40  # weightings of greedy choices, beside each objective alone
_FIRST = 2**12  # decisions before the first look
_SPARE = 1.5  # how much longer than foreseen it may take
_QUICKEST = 0.3  # share of the time foreseen that a hand-over takes at least
_PORTION = 2**16  # decisions of an iteration
_EVERY = 4  # iterations before what is known is handed over, then four times as many, and so on


@dataclass(frozen=True, slots=True)
class Exhaustive:
    r"""Every choice of the jobs that fit alone, depth first, without those that cannot matter.

    Jobs are decided from the largest to the smallest. A job that no longer fits is left out, which cuts all choices
    that hold it; a job that fits beside all those after it is not left out, for no such choice is maximal; of
    equal jobs the first in the queue are taken; and a branch ends where what is known is at least as good as

    .. math:: v_k + \min\Bigl(\sum_{j \text{ left, fits alone}} o_{jk},\ \text{what is left of the resource } k\Bigr)

    in every objective, the second term where the objective is a demand; nor are more of the best jobs added than
    there are of the smallest ones that fit into what is left of a resource. What is found enters a tree of boxes that
    holds no point that another one was at least as good as when it came. Nothing of the size :math:`2^w` is
    stored. A start and a few greedy choices are in the tree from the beginning: branch after branch, large jobs come
    last, so that a search that is cut short would know one end of the front only.

    An iteration is a portion of 65,536 decisions to take a job or to leave it out: one is enough for 14 jobs.

    Parameters
    ----------
    limit : most jobs that fit alone beside the forced ones and are not decided, from 0 to 60; by default what fits
        into ``memory`` and 30 s by :func:`largest`: 28 jobs with four objectives, 26 with ten.
    memory : most memory for what is found [MiB], > 0. Where a larger ``limit`` lets it run out, the search ends with
        a front that is not complete.

    Raises
    ------
    SpecError : a parameter is out of its range.

    References
    ----------
    Fan, Lan, MultiSched, section 2.2 (which does this below ten jobs).
    """

    name: ClassVar[str] = "exhaustive"
    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("moocore",)

    limit: int | None = None
    memory: int = 512

    def __post_init__(self) -> None:
        if self.limit is not None and not 0 <= self.limit <= _MOST:
            raise SpecError(f"exhaustive: limit must be from 0 to {_MOST}, got {self.limit}")
        if self.memory <= 0:
            raise SpecError(f"exhaustive: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Selection, /) -> str | None:
        """Up to ``limit`` undecided jobs."""
        reduced = reduce_selection(problem)
        if reduced is None:
            return None
        jobs, objectives = len(reduced.jobs), len(problem.terms)
        limit = largest(objectives, self.memory) if self.limit is None else self.limit
        if jobs <= limit:
            return None
        if self.limit is not None or jobs > _MOST:
            return f"{jobs} jobs fit alone, more than {'' if self.limit is None else 'limit='}{limit}"
        seconds, size = estimate(jobs, objectives)
        return (
            f"{jobs} jobs fit alone, more than {limit}: with {objectives} objectives it may take {seconds:,.0f} s and "
            f"{size / 2**20:,.0f} MiB (memory={self.memory}); limit={jobs} lets it try"
        )

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels, import the library that filters fronts."""
        rng = np.random.default_rng(0)
        problem = Selection(rng.integers(1, 100, (9, 3)), np.full(3, 150))
        Exhaustive()(problem, Stop().start(problem), rng)

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        reduced = reduce_selection(problem)
        if reduced is None:
            budget.prove_infeasible()
            return
        budget.notes["front"] = "not complete"
        if len(reduced.jobs):
            finished = self._search(problem, reduced, budget, rng)
        else:
            budget.found(problem.front(reduced.taken[None, :]))
            finished = True
        if finished and budget.value is not None:
            budget.prove(budget.value)
            budget.notes["front"] = "complete"

    def _search(self, problem: Selection, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator) -> bool:
        """Search and hand over; whether all choices have been seen."""
        subsets = Subsets(reduced, self.memory * 2**20)
        subsets.know(_greedy_choices(reduced, rng))
        if budget.solution is not None:
            subsets.know(budget.solution.selections[:, reduced.jobs])
        handing = _HandOver(problem, reduced, subsets, budget)
        work, portion = _FIRST, _PORTION  # decisions until the next look, and left of this iteration
        while not (budget.done() or subsets.finished or subsets.outgrown):
            began = budget.seconds()
            portion -= subsets.go_on(min(work, portion))
            took = max(budget.seconds() - began, 1e-6)
            look = min(_LOOK, _PART * budget.seconds_left())
            work = int(min(2 * work, max(_FIRST, work * look / took)))
            if portion <= 0 or subsets.finished:
                budget.spend()
                portion += _PORTION
                handing.at_intervals()
            handing.in_time()
        if subsets.outgrown:
            budget.notes["memory"] = "ran out"
        return handing.last() and subsets.finished


class _HandOver:
    """Hands over what is known, at growing intervals and before the time is up.

    A hand-over is verified and valued, which takes the longer the more points there are.
    """

    def __init__(self, problem: Selection, reduced: ReducedSelection, subsets: Subsets, budget: Budget) -> None:
        self._problem, self._reduced, self._subsets, self._budget = problem, reduced, subsets, budget
        self._next, self._handed, self._late = _EVERY, -1, False
        self._slow = 1.0

    def at_intervals(self) -> None:
        """Hand over if it is time to: after so many iterations, for what is the same every time."""
        if self._subsets.finished or self._budget.iterations < self._next:
            return
        if self._budget.seconds_left() > 3 * self._seconds():
            self._next *= 4
            self._all()

    def in_time(self) -> None:
        """Hand over if that is the last moment to do it; where it took less time than foreseen, there is another."""
        if self._subsets.finished or self._subsets.found == self._handed or not self._budget.short(self._seconds()):
            return
        if not self._late:
            self._all()
        self._late = self._budget.short(self._seconds())

    def last(self) -> bool:
        """Hand over what is left to; whether all that was found has been handed over."""
        if self._subsets.found != self._handed and not (self._late and self._budget.short(self._seconds())):
            self._all()
        return self._subsets.found == self._handed

    def _all(self) -> None:
        expected = self._seconds() / (_SPARE * self._slow)
        began = self._budget.seconds()
        self._handed = self._subsets.found
        self._budget.found(self._problem.front(self._reduced.selections(self._subsets.chosen())))
        self._slow = max(_QUICKEST, (self._budget.seconds() - began) / expected)

    def _seconds(self) -> float:
        known = 0 if self._budget.solution is None else len(self._budget.solution)
        return _SPARE * self._slow * judging_seconds(self._problem, self._subsets.size + known)


def _greedy_choices(reduced: ReducedSelection, rng: np.random.Generator) -> BoolArray:
    """Feasible choices of jobs by falling worth per demand, in several weightings, shape ``(choices, k)``."""
    terms, resources = reduced.objectives.shape[1], len(reduced.room)
    weights = np.concatenate((np.eye(terms), rng.dirichlet(np.full(terms, 0.7), _STARTS)))
    prices = np.concatenate((np.ones((terms, resources)), rng.dirichlet(np.full(resources, 0.7), _STARTS)))
    orders = greedy_orders(reduced.demands, reduced.room, reduced.objectives, weights, prices)
    chosen, room = np.zeros(orders.shape, bool), np.tile(reduced.room, (len(orders), 1))
    for jobs in orders.T:
        fits = (reduced.demands[jobs] <= room).all(axis=1)
        if reduced.parents.any():
            fits &= (chosen | ~reduced.parents[jobs]).all(axis=1)
        rows, added = np.flatnonzero(fits), jobs[fits]
        chosen[rows, added] = True
        room[rows] -= reduced.demands[added]
    return chosen


def largest(objectives: int, memory: int) -> int:
    """The most jobs of which ``exhaustive`` may look at every choice with so much memory [MiB], within 30 s."""
    jobs = 0
    while jobs < _MOST:
        seconds, size = estimate(jobs + 1, objectives)
        if seconds > _PATIENCE or size > memory * 2**20:
            break
        jobs += 1
    return jobs


def estimate(jobs: int, objectives: int) -> tuple[float, float]:
    r"""What looking at every choice may take, at worst: seconds and bytes.

    Measured on 24 jobs, half of which fit together: :math:`2^k (2 + 0.3 p^3)` ns with :math:`p` objectives, and a
    twentieth of the :math:`\binom{k}{k/2}` selections of which none holds another. Most windows take far less.
    """
    seconds = 2.0**jobs * (2 + 0.3 * objectives**3) * 1e-9
    return seconds, 0.05 * math.comb(jobs, jobs // 2) * 40 * (objectives + 2)
