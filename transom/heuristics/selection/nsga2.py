"""NSGA-II on selections, with repair and an archive (pymoo)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.heuristics.genetic import import_pymoo
from transom.heuristics.selection.archive import Archive
from transom.heuristics.selection.crowding import survivors
from transom.heuristics.selection.incumbent_reporter import IncumbentReporter, undecided
from transom.heuristics.selection.rows import SelectionArrays, breed
from transom.heuristics.selection.visited_set import VisitedSet
from transom.models import Selection
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.selection_reduction import ReducedSelection
from transom.solving import TakesAll
from transom.stop import Budget, Stop

_PATIENCE = 100  # generations that add nothing to the archive, where the budget has no limit at all
_STAGNATION = 20  # generations in a row without a new child, after which the search ends
_WEIGHTINGS = 8  # greedy rows by random weightings, per objective
_BATCHES = 2  # children of a generation, as a multiple of the population
_PER_PAIR = 2e-9  # what the row by dot product takes, for each pair of jobs [s]
_WORK = 1 << 20  # entries looked at between two looks at the clock: a few milliseconds


@dataclass(frozen=True, slots=True)
class Nsga2(TakesAll):
    """pymoo's NSGA-II with repair, greedy completion and an archive of all that is not dominated.

    Children have two parents, one of them often from the archive, uniform crossover and bit flips; then jobs are
    dropped until it fits, and every further one that fits is added, by efficiency in a random weighting of the
    objectives or in random order. A generation has twice as many children as the population, none of them met
    before; pymoo sees those that can survive. The first population holds greedy solutions (by each objective, by
    random weightings, by dot product), each job alone, completed, and random ones; a start goes into the archive. It
    ends early when no new children come about.

    An iteration is a generation, the first population included. Time only ever ends the search: the same seed and
    number of iterations give the same answer. Without any limit it ends after 100 generations that add nothing.

    Parameters
    ----------
    population : number of solutions, > 1.

    Raises
    ------
    SpecError : ``population`` is less than 2.

    References
    ----------
    Deb, Pratap, Agarwal, Meyarivan, IEEE Transactions on Evolutionary Computation 6 (2002).
    """

    name: ClassVar[str] = "nsga2"
    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("pymoo",)

    population: int = 100

    def __post_init__(self) -> None:
        if self.population < 2:
            raise SpecError(f"nsga2: population must be > 1, got {self.population}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Import pymoo and compile the kernels."""
        import_pymoo()
        problem = Selection(np.array([[4, 1], [3, 3], [1, 4], [2, 2]]), np.array([7, 6]), requires=((3, 0),))
        budget = Stop(iterations=3).start(problem)
        Nsga2(population=4)(problem, budget, np.random.default_rng(0))
        known = VisitedSet(4, np.random.default_rng(0))
        known.reserve(len(known.table))  # a table that grows

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        reduced = undecided(problem, budget)
        if reduced is not None:
            _Search(self, problem, reduced, budget, rng).run()


class _Search:
    """One run: archive, clock, and what pymoo's operators share."""

    def __init__(
        self, given: Nsga2, problem: Selection, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator
    ) -> None:
        self.given, self.problem, self.reduced, self.budget, self.rng = given, problem, reduced, budget, rng
        self.arrays = SelectionArrays.of(reduced)
        self.visited = VisitedSet(self.arrays.jobs, rng)
        self.archive = Archive(reduced.objectives)
        self.reporter = IncumbentReporter(problem, reduced, budget, maximal=True)
        self.entered_at = 0
        self.accepted = 0
        if budget.solution is not None:
            self.archive.add(budget.solution.selections[:, reduced.jobs])

    def run(self) -> None:
        """Search to the end."""
        first = self.seeds()
        if self.budget.done() or self.must_report():
            self.reporter.report(self.archive)
            return
        algorithm = _algorithm(self, first)
        unlimited = self.budget.seconds_left() == math.inf and self.budget.iterations_left() is None
        stagnation = 0
        while not self.budget.done() and not self.reporter.report_before_deadline(self.archive):
            if stagnation >= _STAGNATION or (unlimited and self.budget.iterations - self.entered_at >= _PATIENCE):
                break
            children = algorithm.ask()
            self.budget.spend()
            stagnation = 0 if self.accepted else stagnation + 1
            if len(children):
                algorithm.evaluator.eval(algorithm.problem, children)
                algorithm.tell(infills=children)
            self.reporter.report_in_time(self.archive)
        self.reporter.report(self.archive)

    def seeds(self) -> BoolArray:
        """The first population; the best of it has been handed over."""
        arrays, rng = self.arrays, self.rng
        objectives = arrays.gains.shape[1]
        pure = np.concatenate((np.eye(objectives), np.full((1, objectives), 1 / objectives)))
        rows = [arrays.greedy(_efficiency(arrays, pure))]
        self.archive.add(rows[0])
        if not self.budget.short(_PER_PAIR * arrays.jobs**2):
            rows.append(arrays.by_dot_product()[None])
            self.archive.add(rows[1])
        self.reporter.report(self.archive)
        weights = rng.exponential(size=(_WEIGHTINGS * objectives, objectives))
        # Scores and rows are made when they are needed: those of each job alone take the square of the jobs.
        batches: list[tuple[bool, FloatArray, Callable[[FloatArray], FloatArray]]] = [
            (False, pure, lambda part: part @ arrays.gains.T),
            (False, weights, lambda part: _efficiency(arrays, part)),
            (True, rng.exponential(size=(arrays.jobs, objectives)), lambda part: _efficiency(arrays, part)),
            (False, rng.random((self.given.population, arrays.jobs)), lambda part: part),
        ]
        step = max(1, _WORK // (4 * arrays.demands.size))
        for alone, given, scores in batches:
            for at in range(0, len(given), step):
                if self.must_report():
                    return np.concatenate(rows)
                begun = arrays.one_hot(at, at + step) if alone else None
                made = arrays.greedy(scores(given[at : at + step]), begun)
                rows.append(made)
                self.archive.add(made)
        first = np.concatenate(rows)
        return first[self.visited.add(first)]

    def must_report(self) -> bool:
        """Whether what has been found has to be handed over now; a generation of thousands of jobs takes long."""
        return self.reporter.must_report(len(self.archive))

    def offspring(self, population: BoolArray, ranks: IntArray) -> BoolArray:
        """Offspring for the population, best first as the rows of the population are, shape ``(n, k)``.

        All enter the archive. Where the population is full of points that do not dominate each other, only those
        that the archive let in can survive.
        """
        rows = self._children(population)
        self.accepted = len(rows)
        entered = self.archive.add(rows)
        if entered.any():
            self.entered_at = self.budget.iterations + 1  # of the generation in the making
        return rows[entered] if len(population) >= self.given.population and ranks[-1] == 0 else rows

    def _children(self, population: BoolArray) -> BoolArray:
        arrays, known, count = self.arrays, self.visited, _BATCHES * self.given.population
        rows = np.empty((count, arrays.jobs), np.bool_)
        made = 0
        step = max(1, _WORK // (4 * arrays.demands.size))
        known.reserve(count)
        for at in range(0, count, step):
            if at and self.must_report():
                break
            children = rows[made : made + min(step, count - at)]
            new = breed(self.rng, children, population, self.archive.chosen, arrays, known.marks, known.table)
            made += new
            known.count += new
        return rows[:made]


def _efficiency(arrays: SelectionArrays, weights: FloatArray) -> FloatArray:
    """Scores of the jobs, shape ``(rows, k)``, in weightings of the objectives of shape ``(rows, p)``."""
    scores: FloatArray = (weights @ arrays.gains.T) / (arrays.costs.sum(axis=1) + 1e-9)
    return scores


def _algorithm(search: _Search, first: BoolArray) -> Any:
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.duplicate import NoDuplicateElimination
    from pymoo.core.infill import InfillCriterion
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.core.survival import Survival
    from pymoo.core.termination import NoTermination

    objectives = search.reduced.objectives.astype(np.float64)
    size = search.given.population

    class Selections(Problem):
        def _evaluate(self, x: BoolArray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = -(x @ objectives)  # exact: sums stay below 2**53

    class Mating(InfillCriterion):
        # pymoo's own operators visit parents and children one by one, which takes longer than all else together.
        def do(self, problem: Any, pop: Any, n_offsprings: int, **kwargs: Any) -> Any:
            return Population.new("X", search.offspring(pop.get("X"), pop.get("rank")))

    class RankAndCrowding(Survival):
        def _do(self, problem: Any, pop: Any, *args: Any, n_survive: int | None = None, **kwargs: Any) -> Any:
            order, ranks, distances = survivors(pop.get("F"), min(size, len(pop)))
            alive = pop[order]
            alive.set("rank", ranks)
            alive.set("crowding", distances)
            return alive

    class Nsga(NSGA2):
        def _set_optimum(self, **kwargs: Any) -> None:
            self.opt = self.pop  # the optimum is in the archive

        def _infill(self) -> Any:
            return self.mating(self.problem, self.pop, size)  # there may be no offspring

    algorithm = Nsga(
        pop_size=size,
        sampling=first,
        mating=Mating(),
        survival=RankAndCrowding(),
        eliminate_duplicates=NoDuplicateElimination(),
    )
    problem = Selections(n_var=first.shape[1], n_obj=objectives.shape[1], xl=0, xu=1, vtype=bool)
    algorithm.setup(problem, termination=NoTermination(), seed=0, verbose=False)
    return algorithm
