"""Rows of chosen jobs of a reduced selection: made, repaired, completed, bred. Shared by the heuristics on fronts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import stable_order
from transom.heuristics.selection.visited_set import signature, slot
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.selection_reduction import ReducedSelection

_TRIES = 6  # attempts at a child that is not known yet, with more and more mutation
_FRESH = 2  # attempts after those at a random row in its place
_FLIPS = 2.0  # bits of a child that are flipped at the first attempt, on average
_BLIND = 0.5  # share of the rows whose jobs are dropped and added in random order


class SelectionArrays(NamedTuple):
    """What the kernels read of a reduced selection of ``k`` jobs, ``b`` resources and ``p`` objectives.

    Parameters
    ----------
    demands : int64, shape ``(k, b)``.
    room : int64, shape ``(b,)``.
    gains : what each job is worth as a share of what all are worth, shape ``(k, p)``.
    costs : shares of the room that each job takes, shape ``(k, b)``.
    parents : pairs ``(job, other)``, ``job`` requires ``other``, shape ``(pairs, 2)``.
    """

    demands: IntArray
    room: IntArray
    gains: FloatArray
    costs: FloatArray
    parents: IntArray

    @classmethod
    def of(cls, reduced: ReducedSelection) -> SelectionArrays:
        """The arrays of a reduced selection."""
        return cls(
            demands=reduced.demands,
            room=reduced.room,
            gains=reduced.objectives / np.maximum(1, reduced.objectives.sum(axis=0)),
            costs=reduced.demands / np.maximum(1, reduced.room),
            parents=_pairs(reduced.parents),
        )

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return len(self.demands)

    def greedy(self, scores: FloatArray, first: BoolArray | None = None) -> BoolArray:
        """One maximal row for each row of scores: jobs by falling score, whichever fits.

        Parameters
        ----------
        scores : shape ``(rows, k)``; of equal ones the earlier job goes first.
        first : jobs that each row begins with, shape ``(rows, k)``, feasible together up to what they require,
            which is added.
        """
        rows = np.zeros(scores.shape, np.bool_) if first is None else first.copy()
        order = np.argsort(-scores, axis=1, kind="stable")
        mend(rows, order, self.demands, self.room, self.parents)
        return rows

    def one_hot(self, begin: int = 0, end: int | None = None) -> BoolArray:
        """Some jobs, by default all, each alone with what it requires, shape ``(end - begin, k)``."""
        rows = np.zeros((min(self.jobs if end is None else end, self.jobs) - begin, self.jobs), np.bool_)
        rows[np.arange(len(rows)), begin + np.arange(len(rows))] = True
        while True:
            more = rows.copy()
            for job, other in self.parents.tolist():
                more[:, other] |= rows[:, job]
            if np.array_equal(more, rows):
                return rows
            rows = more

    def by_dot_product(self) -> BoolArray:
        """The row that takes the job with the largest product of request and what is free, again and again."""
        row = np.zeros(self.jobs, np.bool_)
        _by_dot_product(row, self.demands, self.costs, self.room, self.parents)
        return row


def _pairs(parents: BoolArray) -> IntArray:
    # In one dimension numpy finds them ten times as fast.
    return np.column_stack(np.divmod(np.flatnonzero(parents), max(1, len(parents)))).astype(np.int64)


@compiled
def mend(rows: BoolArray, orders: IntArray, demands: IntArray, room: IntArray, parents: IntArray) -> None:
    """Make each row feasible and maximal: drop from the end of its order, then add from the beginning.

    Parameters
    ----------
    rows : bool, shape ``(rows, k)``, changed in place.
    orders : jobs of each row, the best first, int64, shape ``(rows, k)``.
    demands, room, parents : as in :class:`SelectionArrays`.
    """
    left = np.empty(len(room), np.int64)
    for row in range(len(rows)):
        _mend(rows[row], orders[row], demands, room, parents, left)


@compiled
def _mend(
    chosen: BoolArray, order: IntArray, demands: IntArray, room: IntArray, parents: IntArray, left: IntArray
) -> None:
    jobs, resources = demands.shape
    # A job without what it requires goes; whatever required it goes with it.
    orphans = len(parents) > 0
    while orphans:
        orphans = False
        for pair in range(len(parents)):
            if chosen[parents[pair, 0]] and not chosen[parents[pair, 1]]:
                chosen[parents[pair, 0]] = False
                orphans = True
    over = 0
    for r in range(resources):
        left[r] = room[r]
    for job in range(jobs):
        if chosen[job]:
            for r in range(resources):
                left[r] -= demands[job, r]
    for r in range(resources):
        over += left[r] < 0
    place = jobs - 1
    while over > 0:
        job = order[place]
        place -= 1
        if not chosen[job]:
            continue
        helps = False
        for r in range(resources):
            helps |= left[r] < 0 and demands[job, r] > 0
        if not helps and len(parents) == 0:
            continue
        over -= _drop(chosen, job, demands, left)
        orphans = len(parents) > 0
        while orphans:
            orphans = False
            for pair in range(len(parents)):
                child = parents[pair, 0]
                if chosen[child] and not chosen[parents[pair, 1]]:
                    over -= _drop(chosen, child, demands, left)
                    orphans = True
    added = True
    while added:
        added = False
        for place in range(jobs):
            job = order[place]
            if chosen[job]:
                continue
            fits = True
            for r in range(resources):
                if demands[job, r] > left[r]:
                    fits = False
                    break
            if not fits:
                continue
            for pair in range(len(parents)):
                fits &= parents[pair, 0] != job or chosen[parents[pair, 1]]
            if fits:
                chosen[job] = True
                for r in range(resources):
                    left[r] -= demands[job, r]
                added = len(parents) > 0  # it may come after a job that requires it


@compiled
def _drop(chosen: BoolArray, job: int, demands: IntArray, left: IntArray) -> int:
    cured = 0
    chosen[job] = False
    for r in range(len(left)):
        cured += left[r] < 0 and left[r] + demands[job, r] >= 0
        left[r] += demands[job, r]
    return cured


@compiled
def _by_dot_product(chosen: BoolArray, demands: IntArray, costs: FloatArray, room: IntArray, parents: IntArray) -> None:
    jobs, resources = demands.shape
    left = room.copy()
    while True:
        best, most = -1, -1.0
        for job in range(jobs):
            if chosen[job]:
                continue
            fits = True
            for r in range(resources):
                fits &= demands[job, r] <= left[r]
            for pair in range(len(parents)):
                fits &= parents[pair, 0] != job or chosen[parents[pair, 1]]
            if not fits:
                continue
            product = 0.0
            for r in range(resources):
                product += costs[job, r] * left[r] / max(1, room[r])
            if product > most:
                best, most = job, product
        if best < 0:
            return
        chosen[best] = True
        for r in range(resources):
            left[r] -= demands[best, r]


@compiled
def breed(
    rng: np.random.Generator,
    children: BoolArray,
    population: BoolArray,
    elite: BoolArray,
    arrays: SelectionArrays,
    marks: IntArray,
    table: IntArray,
) -> int:
    """Make children that are feasible, maximal and not known yet.

    One parent wins a binary tournament in the population, the other one a second tournament or is drawn from the
    elite. Uniform crossover, bit flips, repair: jobs are dropped and added by efficiency in a random weighting of
    the objectives, or in random order. A child that is known already is tried again with more flips, in the end as a
    random row.

    Parameters
    ----------
    rng : numpy's generator.
    children : bool, shape ``(n, k)``, written.
    population : bool, shape ``(m, k)``, the best first.
    elite : bool, shape ``(e, k)``; e > 0.
    arrays : the selection.
    marks, table : as in :class:`~transom.heuristics.selection.visited_set.VisitedSet`, with room for ``n`` more.

    Returns
    -------
    How many children there are, the first so many rows; their signatures are in the table.
    """
    demands, room, gains, costs, parents = arrays
    jobs = len(demands)
    made = 0
    left = np.empty(len(room), np.int64)
    scores = np.empty(jobs, np.float64)
    for _ in range(len(children)):
        child = children[made]
        for attempt in range(_TRIES + _FRESH):
            blind = attempt >= _TRIES or rng.random() < _BLIND
            if attempt < _TRIES:
                one = _tournament(rng, len(population))
                other = population[_tournament(rng, len(population))]
                if rng.random() < 0.5:
                    other = elite[int(rng.random() * len(elite))]
                rate = (_FLIPS + attempt) / jobs
                for job in range(jobs):
                    child[job] = population[one, job] if rng.random() < 0.5 else other[job]
                    if rng.random() < rate:
                        child[job] = not child[job]
            else:
                child[:] = False
            _score(rng, scores, blind, gains, costs)
            _mend(child, stable_order(scores), demands, room, parents, left)
            mark = signature(child, marks)
            at = slot(table, mark)
            if table[at] == 0:
                table[at] = mark
                made += 1
                break
    return made


@compiled
def _tournament(rng: np.random.Generator, count: int) -> int:
    return min(int(rng.random() * count), int(rng.random() * count))


@compiled
def _score(rng: np.random.Generator, scores: FloatArray, blind: bool, gains: FloatArray, costs: FloatArray) -> None:
    # The lower the better, as places in an order are.
    jobs, objectives = gains.shape
    if blind:
        for job in range(jobs):
            scores[job] = rng.random()
        return
    scores[:] = 0.0
    for k in range(objectives):
        weight = -np.log(1.0 - rng.random())
        for job in range(jobs):
            scores[job] -= weight * gains[job, k]
    price = np.empty(costs.shape[1], np.float64)
    for r in range(len(price)):
        price[r] = -np.log(1.0 - rng.random())
    for job in range(jobs):
        cost = 1e-9
        for r in range(len(price)):
            cost += price[r] * costs[job, r]
        scores[job] /= cost
