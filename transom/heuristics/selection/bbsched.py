"""BBSched's genetic algorithm, as it is published."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import ascending, largest, put, stable_order
from transom.errors import SpecError
from transom.heuristics.selection.archive import Archive
from transom.heuristics.selection.incumbent_reporter import IncumbentReporter, undecided
from transom.heuristics.selection.rows import SelectionArrays
from transom.models import Selection
from transom.models.arrays import BoolArray, IntArray
from transom.models.selection_reduction import ReducedSelection
from transom.solving import TakesAll
from transom.stop import Budget, Stop

_WORK = 1 << 20  # entries looked at between two looks at the clock: a few milliseconds
_ROWS = 4096  # most children between two looks at the clock
_BITS = 60  # jobs from which on 2**jobs is more than anybody counts


@dataclass(frozen=True, slots=True)
class BBSchedGenetic(TakesAll):
    r"""BBSched's genetic algorithm: one bit per job, no repair, the oldest leave first.

    The population of :math:`\lceil 2^w / 50 \rceil` rows, from 10 to 25, for a chromosome of :math:`w` jobs begins
    with each job alone, in queue order, and random feasible rows (jobs in random order until one does not fit). A
    generation draws as many children from random pairs: crossover in the middle, one flipped bit in 5 % of them;
    infeasible ones are thrown away. Survivors are first those that nobody dominates, then the others, in both the
    youngest; of equal values the oldest. It ends after 50 generations, fewer where :math:`\lceil 0.1 \cdot 2^w
    \rceil` is less. The population, completed greedily, is the answer.

    The public code removes both of two equal points, which can leave nothing; one stays here.

    An iteration is a generation. Time only ever ends the search: the same seed and number of iterations give the
    same answer. A target or a stall makes it hand over the population of every generation, and all that was handed
    over counts; otherwise it is the last one alone.

    Parameters
    ----------
    generations : how many, >= 0; ``none`` goes on to the budget's end (50 where it has none).
    cap : bound of the generations, as a share of :math:`2^w`, > 0.
    smallest, largest : bounds of the population, 1 < smallest <= largest.
    share : size of the population, as a share of :math:`2^w`, > 0.
    mutation : probability that a child has a bit flipped, 0 to 1.
    prune : whether jobs that do not fit alone leave the problem first (MultiSched) or not (BBSched).
    archive : whether the answer is all that was met, completed, in place of the last population.

    Raises
    ------
    SpecError : a condition above does not hold.

    References
    ----------
    Fan et al., Scheduling beyond CPUs for HPC, HPDC 2019; Fan, Lan, MultiSched, section 2.2, and its public code for
    the numbers.
    """

    name: ClassVar[str] = "bbsched-ga"
    solves: ClassVar[type] = Selection

    generations: int | None = 50
    cap: float = 0.1
    smallest: int = 10
    largest: int = 25
    share: float = 0.02
    mutation: float = 0.05
    prune: bool = True
    archive: bool = False

    def __post_init__(self) -> None:
        if self.generations is not None and self.generations < 0:
            raise SpecError(f"bbsched-ga: generations must be >= 0, got {self.generations}")
        if not (0 < self.cap < math.inf and 0 < self.share < math.inf):
            raise SpecError(f"bbsched-ga: cap and share must be > 0, got cap={self.cap}, share={self.share}")
        if not 1 < self.smallest <= self.largest:
            raise SpecError(
                f"bbsched-ga: 1 < smallest <= largest must hold, got smallest={self.smallest}, largest={self.largest}"
            )
        if not 0 <= self.mutation <= 1:
            raise SpecError(f"bbsched-ga: mutation must be from 0 to 1, got {self.mutation}")

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        problem = Selection(np.array([[4, 1], [3, 3], [1, 4], [2, 2]]), np.array([7, 6]), requires=((3, 0),))
        for archive in (False, True):
            budget = Stop(iterations=3).start(problem)
            BBSchedGenetic(archive=archive)(problem, budget, np.random.default_rng(0))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        reduced = undecided(problem, budget)
        if reduced is None:
            return
        if not self.prune:
            reduced = _unpruned(problem, reduced)
        reporter = IncumbentReporter(problem, reduced, budget, maximal=False)
        population = _Population(self, reduced, budget, rng)
        generations = self._generations(len(reduced.jobs), budget)
        archive = Archive(reduced.objectives)
        if self.archive:
            archive.add(population.greedy_complete(population.rows))
        while population.generation < generations and not budget.done():
            count = 1 if reporter.eager else generations - population.generation
            limit = budget.iterations_left()
            children = population.evolve(min(count, count if limit is None else limit))
            budget.spend(population.generation - budget.iterations)
            if self.archive:
                archive.add(population.greedy_complete(children))
                reporter.report_in_time(archive)
                if reporter.report_before_deadline(archive):
                    return
            elif reporter.eager:
                reporter.report_rows(population.rows)
            elif reporter.must_report(len(population.rows)):
                break
        if self.archive:
            reporter.report(archive)
        else:
            reporter.report_rows(population.rows)

    def size(self, jobs: int) -> int:
        """Size of the population for a chromosome of so many jobs."""
        return int(min(max(math.ceil(self.share * 2 ** min(jobs, _BITS)), self.smallest), self.largest))

    def _generations(self, jobs: int, budget: Budget) -> int:
        limited = budget.seconds_left() < math.inf or budget.iterations_left() is not None
        if self.generations is None and limited:
            return 2**62
        most: int = math.ceil(self.cap * 2 ** min(jobs, _BITS))
        return min(50 if self.generations is None else self.generations, most)


class Members(NamedTuple):
    """Rows that live and that were just made, with room for as many again.

    Parameters
    ----------
    rows : shape ``(2 size, jobs)``.
    values : what each row is worth in each objective.
    birth : the generation that each was made in.
    objectives : what each job adds to the values, shape ``(jobs, objectives)``.
    """

    rows: BoolArray
    values: IntArray
    birth: IntArray
    objectives: IntArray


class _Population:
    """The rows that live, what they are worth and when they were made."""

    def __init__(
        self, given: BBSchedGenetic, reduced: ReducedSelection, budget: Budget, rng: np.random.Generator
    ) -> None:
        self._arrays, self._rng = SelectionArrays.of(reduced), rng
        self._mutation = given.mutation
        self.generation = 0
        jobs, size = len(reduced.jobs), given.size(len(reduced.jobs))
        # A step of so many generations takes a few milliseconds.
        work = size * (jobs * (len(reduced.room) + reduced.objectives.shape[1]) + 4 * size)
        self._step = max(1, min(_WORK // work, _ROWS // size))
        rows, values = np.zeros((2 * size, jobs), np.bool_), np.zeros((2 * size, reduced.objectives.shape[1]), np.int64)
        self._members = Members(rows, values, np.zeros(2 * size, np.int64), reduced.objectives)
        first = np.empty((0, jobs), np.bool_)
        for begin in range(0, jobs, size):  # as many as there is room for
            if len(first) >= size:
                break
            alone = self._arrays.one_hot(begin, begin + size)
            asked = alone @ self._arrays.demands if len(self._arrays.parents) else self._arrays.demands[begin:][:size]
            first = np.concatenate((first, alone[(asked <= self._arrays.room).all(axis=1)]))
        if budget.solution is not None:
            first = np.concatenate((budget.solution.selections[:, reduced.jobs], first))
        drawn = np.zeros((max(0, size - len(first)), jobs), np.bool_)
        orders = rng.permuted(np.tile(np.arange(jobs), (len(drawn), 1)), axis=1)
        _draw(drawn, orders, self._arrays.demands, self._arrays.room, self._arrays.parents)
        rows[:size] = np.concatenate((first[:size], drawn))
        values[:size] = rows[:size] @ reduced.objectives
        self._count = size

    @property
    def rows(self) -> BoolArray:
        """The rows that live, shape ``(n, k)``, n > 0; a view, good until the next generation."""
        return self._members.rows[: self._count]

    def greedy_complete(self, rows: BoolArray) -> BoolArray:
        """Rows of shape ``(n, k)`` with every further job that fits, in queue order."""
        queue = -np.arange(rows.shape[1], dtype=np.float64)
        return self._arrays.greedy(np.broadcast_to(queue, rows.shape), rows)

    def evolve(self, generations: int) -> BoolArray:
        """So many generations, or fewer if they would take more than a few milliseconds.

        Returns
        -------
        The feasible children, shape ``(n, k)``.
        """
        generations = min(generations, self._step)
        size, jobs = self._members.rows.shape
        children = np.empty((generations * size // 2, jobs), np.bool_)
        self._count, added = _evolve(
            self._rng,
            self._members,
            self._count,
            children,
            self._arrays,
            self._mutation,
            self.generation + 1,
            generations,
        )
        self.generation += generations
        return children[:added]


def _unpruned(problem: Selection, reduced: ReducedSelection) -> ReducedSelection:
    """The same with the jobs that do not fit, and with all resources."""
    out = problem.excluded.copy()
    while more := [job for job, other in problem.requires if out[other] and not out[job]]:
        out[more] = True
    jobs = np.flatnonzero(~reduced.taken & ~out)
    parents = np.zeros((len(problem), len(problem)), bool)
    for job, other in problem.requires:
        parents[job, other] = True
    return replace(
        reduced,
        jobs=jobs,
        demands=np.ascontiguousarray(problem.demands[jobs]),
        room=problem.capacity - problem.demands[reduced.taken].sum(axis=0),
        objectives=np.ascontiguousarray(problem.objectives[jobs]),
        parents=np.ascontiguousarray(parents[np.ix_(jobs, jobs)]),
        pruned=0,
    )


@compiled
def _feasible(row: BoolArray, demands: IntArray, room: IntArray, parents: IntArray) -> bool:
    for r in range(len(room)):
        used = 0
        for job in range(len(row)):
            if row[job]:
                used += demands[job, r]
        if used > room[r]:
            return False
    for pair in range(len(parents)):  # noqa: SIM110  (compiled)
        if row[parents[pair, 0]] and not row[parents[pair, 1]]:
            return False
    return True


@compiled
def _draw(rows: BoolArray, orders: IntArray, demands: IntArray, room: IntArray, parents: IntArray) -> None:
    for row in range(len(rows)):
        chosen, left = rows[row], room.copy()
        for job in orders[row]:
            fits = True
            for r in range(len(room)):
                fits = fits and demands[job, r] <= left[r]
            for pair in range(len(parents)):
                fits = fits and (parents[pair, 0] != job or chosen[parents[pair, 1]])
            if not fits:
                break
            chosen[job] = True
            for r in range(len(room)):
                left[r] -= demands[job, r]


@compiled
def _evolve(
    rng: np.random.Generator,
    members: Members,
    count: int,
    children: BoolArray,
    arrays: SelectionArrays,
    mutation: float,
    generation: int,
    generations: int,
) -> tuple[int, int]:
    rows, values, birth, objectives = members
    demands, room, parents = arrays.demands, arrays.room, arrays.parents
    size, jobs = len(rows) // 2, rows.shape[1]
    half = jobs // 2
    total = 0
    for now in range(generation, generation + generations):
        alive = count
        for offspring in range(size):
            if offspring % 2 == 0:
                one, other = int(rng.random() * alive), int(rng.random() * alive)
            else:
                one, other = other, one
            child = rows[count]
            put(child[:half], rows[one, :half])
            put(child[half:], rows[other, half:])
            if rng.random() < mutation:
                job = int(rng.random() * jobs)
                child[job] = not child[job]
            if not _feasible(child, demands, room, parents):
                continue
            values[count] = 0
            for job in range(jobs):
                if child[job]:
                    for k in range(objectives.shape[1]):
                        values[count, k] += objectives[job, k]
            birth[count] = now
            put(children[total], child)
            total += 1
            count += 1
        count = _survive(rows, values, birth, count, size)
    return count, total


@compiled
def _survive(rows: BoolArray, values: IntArray, birth: IntArray, count: int, size: int) -> int:
    # Places: 0 for those that nobody dominates, 1 for the others, 2 for twins of earlier ones, which leave.
    places = np.zeros(count, np.int64)
    alive = 0
    for i in range(count):
        for j in range(count):
            if i == j or places[i] == 2:
                continue
            no_better, no_worse = True, True
            for k in range(values.shape[1]):
                no_better &= values[i, k] <= values[j, k]
                no_worse &= values[i, k] >= values[j, k]
            if no_better and no_worse:
                if j < i:
                    places[i] = 2
            elif no_better:
                places[i] = 1
        alive += places[i] < 2
    # By place, then the youngest first; the sort is stable.
    youngest = largest(birth) + 1
    for i in range(count):
        places[i] = places[i] * youngest - birth[i]
    order = stable_order(places)
    kept = ascending(order[: min(alive, size)])
    for place in range(len(kept)):
        put(rows[place], rows[kept[place]])
        put(values[place], values[kept[place]])
        birth[place] = birth[kept[place]]
    return len(kept)
