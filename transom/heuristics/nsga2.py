"""NSGA-II on selections, with repair and an archive (pymoo)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from time import perf_counter
from typing import Any, ClassVar

import numpy as np

from transom.errors import SpecError
from transom.heuristics._crowding import survivors
from transom.heuristics._selection_archive import Archive
from transom.heuristics._selection_rows import Ground, KnownRows, breed
from transom.models import Selection
from transom.models._arrays import BoolArray, IntArray
from transom.models.pareto_front import pareto_front
from transom.models.selection_reduction import ReducedSelection, reduce_selection
from transom.solving import settled
from transom.stop import Budget, Stop

_PATIENCE = 100  # generations that add nothing to the archive, where the budget has no limit at all
_BARREN = 20  # generations in a row without a new child, after which the search ends
_WEIGHTINGS = 8  # greedy rows by random weightings, per objective
_WORK = 1 << 20  # entries looked at between two looks at the clock: a few milliseconds
_SPARE = 1.3  # how much longer than foreseen handing over may take


@dataclass(frozen=True, slots=True)
class Nsga2:
    """pymoo's NSGA-II with repair, greedy completion and an archive of all that is not dominated.

    Children have two parents, one of them often from the archive, uniform crossover and bit flips; then jobs are
    dropped until it fits, and every further one that fits is added, by efficiency in a random weighting of the
    objectives or in random order. No child is evaluated twice. The first population holds greedy solutions (by each
    objective, by random weightings, by dot product), each job alone, completed, and random ones; a start goes
    into the archive. It ends early when no new children come about.

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

    def supports(self, problem: Selection, /) -> str | None:
        """Every selection."""
        return None

    def warm_up(self) -> None:
        """Import pymoo and compile the kernels."""
        _warm_up()

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if settled(problem, budget):
            return
        reduced = reduce_selection(problem)
        if reduced is None:
            budget.prove_infeasible()
            return
        budget.notes["front"] = "not complete"
        if not len(reduced.jobs):
            budget.found(problem.front(reduced.taken[None]))
            budget.prove(budget.value or 0.0)
            budget.notes["front"] = "complete"
            return
        _Search(self, problem, reduced, budget, rng).run()


class _Search:
    """One run: archive, clock, and what pymoo's operators share."""

    def __init__(
        self, given: Nsga2, problem: Selection, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator
    ) -> None:
        self.given, self.problem, self.reduced, self.budget, self.rng = given, problem, reduced, budget, rng
        self.ground = Ground.of(reduced)
        self.known = KnownRows(self.ground.jobs, rng)
        self.archive = Archive(reduced.objectives)
        self.handing = HandingOver(problem, reduced, budget)
        if budget.solution is not None:
            self.archive.add(budget.solution.selections[:, reduced.jobs])

    def run(self) -> None:
        """Search to the end."""
        first = self.seeds()
        if self.budget.done():
            return
        algorithm = _algorithm(self, first)
        unlimited = self.budget.seconds_left() == math.inf and self.budget.iterations_left() is None
        eager = self.budget.stop.target is not None or self.budget.stop.stall is not None
        entered_at = self.budget.iterations
        next_due = 1
        barren = 0
        while not self.budget.done() and not self.handing.pressing(len(self.archive)):
            if unlimited and self.budget.iterations - entered_at >= _PATIENCE:
                break
            children = algorithm.ask()
            self.budget.spend()
            if children is None or not len(children):
                barren += 1
                if barren >= _BARREN:
                    break
                continue
            barren = 0
            algorithm.evaluator.eval(algorithm.problem, children)
            chosen, values = children.get("X"), (-children.get("F")).astype(np.int64)
            if self.archive.add_valued(values, chosen):
                entered_at = self.budget.iterations
            algorithm.tell(infills=children)
            if eager or self.budget.iterations >= next_due or self.handing.grown(len(self.archive)):
                self.handing.give(self.archive)
                next_due = max(next_due, 2 * self.budget.iterations)
        self.handing.give(self.archive)

    def seeds(self) -> BoolArray:
        """The first population; the best of it has been handed over."""
        ground, rng = self.ground, self.rng
        objectives = ground.gains.shape[1]
        pure = np.concatenate((np.eye(objectives), np.full((1, objectives), 1 / objectives)))
        rows = [ground.greedy(_efficiency(ground, pure)), ground.by_dot_product()[None]]
        self._let_in(rows)
        weights = rng.exponential(size=(_WEIGHTINGS * objectives, objectives))
        batches = [(None, pure @ ground.gains.T), (None, _efficiency(ground, weights))]
        alone = ground.one_hot()
        batches.append((alone, _efficiency(ground, rng.exponential(size=(len(alone), objectives)))))
        batches.append((None, rng.random((self.given.population, ground.jobs))))
        step = max(1, _WORK // ground.demands.size)
        for begun, scores in batches:
            for at in range(0, len(scores), step):
                if self.budget.seconds_left() == 0:
                    return np.concatenate(rows)
                made = ground.greedy(scores[at : at + step], None if begun is None else begun[at : at + step])
                rows.append(made)
                self.archive.add(made)
        self.handing.give(self.archive)
        first = np.concatenate(rows)
        return first[self.known.add(first)]

    def children(self, population: BoolArray, fitness: IntArray, count: int) -> BoolArray:
        """New rows, at most so many; fewer where the time ends or no others come about."""
        ground, known = self.ground, self.known
        rows = np.empty((count, ground.jobs), np.bool_)
        made = 0
        step = max(1, _WORK // (4 * ground.demands.size))
        known.reserve(count)
        for at in range(0, count, step):
            if at and self.budget.seconds_left() == 0:
                break
            part = rows[made : made + min(step, count - at)]
            new = breed(
                self.rng, part, population, fitness, self.archive.chosen, ground.demands, ground.room, ground.gains,
                ground.costs, ground.parents, known.marks, known.table,
            )  # fmt: skip
            made += int(new)
            known.count += int(new)
        return rows[:made]

    def _let_in(self, rows: list[BoolArray]) -> None:
        self.archive.add(np.concatenate(rows))
        self.handing.give(self.archive)


class HandingOver:
    """Gives an archive to the budget, and knows how long that takes.

    Judging a front takes time that grows with the square of its points; the time for the last one is left in
    time.
    """

    def __init__(self, problem: Selection, reduced: ReducedSelection, budget: Budget) -> None:
        self._problem, self._reduced, self._budget = problem, reduced, budget
        self._points = 64
        self._took = 0.002  # seconds, for so many points: a guess, until there is a measurement

    def grown(self, points: int) -> bool:
        """Whether it is time, as an archive of so many points has grown by half."""
        return points >= 1.5 * self._points

    def pressing(self, points: int) -> bool:
        """Whether the time that is left is needed to hand over so many points."""
        left = self._budget.seconds_left()
        return left < _SPARE * self._took * max(1.0, points / self._points) ** 2

    def give(self, archive: Archive) -> None:
        """Hand over what the archive holds."""
        began = perf_counter()
        worth = archive.values + self._reduced.base
        self._budget.found(pareto_front(worth, self._reduced.selections(archive.chosen)))
        self._took = perf_counter() - began
        self._points = max(64, len(archive))


def _efficiency(ground: Ground, weights: Any) -> Any:
    """Scores of the jobs, shape ``(rows, k)``, in weightings of the objectives of shape ``(rows, p)``."""
    return (weights @ ground.gains.T) / (ground.costs.sum(axis=1) + 1e-9)


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
            fitness = np.arange(len(pop))  # the survivors stand in order
            return Population.new("X", search.children(pop.get("X"), fitness, n_offsprings))

    class RankAndCrowding(Survival):
        def _do(self, problem: Any, pop: Any, *args: Any, n_survive: int | None = None, **kwargs: Any) -> Any:
            order, ranks, distances = survivors(pop.get("F"), min(size, len(pop)))
            alive = pop[order]
            alive.set("rank", ranks)
            alive.set("crowding", distances)
            return alive

    algorithm = NSGA2(
        pop_size=size,
        sampling=first,
        mating=Mating(),
        survival=RankAndCrowding(),
        eliminate_duplicates=NoDuplicateElimination(),
    )
    problem = Selections(n_var=first.shape[1], n_obj=objectives.shape[1], xl=0, xu=1, vtype=bool)
    algorithm.setup(problem, termination=NoTermination(), seed=0, verbose=False)
    return algorithm


@cache
def _warm_up() -> None:
    from pymoo.config import Config

    Config.warnings["not_compiled"] = False  # pymoo would print a hint on its optional C modules
    problem = Selection(np.array([[4, 1], [3, 3], [1, 4], [2, 2]]), np.array([7, 6]), requires=((3, 0),))
    budget = Stop(iterations=3).start(problem)
    Nsga2(population=4)(problem, budget, np.random.default_rng(0))
