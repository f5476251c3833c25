"""Every feasible choice among a few jobs, depth first: the compiled search of ``exhaustive``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.records import record
from transom.models.arrays import BoolArray, IntArray
from transom.models.pareto_front import nondominated
from transom.models.selection_reduction import ReducedSelection
from transom.solvers.selection.front_archive import ArchiveTree, FrontArchive, beaten, insert

SPENT, FINISHED, FULL = range(3)
"""Why :func:`search` returned: the nodes were spent, all has been seen, what is known needs room."""


class Decisions(NamedTuple):
    """What is decided, in the order of the decisions.

    Parameters
    ----------
    jobs : per job what it asks for, what it is worth, and of all jobs after it the sums of both, shape
        ``(k, 2 (b + p))``.
    links : per job the jobs that it requires, as bits, all of them before it; and whether it equals the one before it.
    ranks : the jobs from the smallest demand on each resource, then from the most worth in each objective, shape
        ``(b + p, k)``.
    limits : the resource whose demand an objective is, else -1, shape ``(p,)``.
    """

    jobs: IntArray
    links: IntArray
    ranks: IntArray
    limits: IntArray


class Place:
    """Where the search is."""

    job: int  # the one to decide next
    held: int  # how many are chosen
    mask: int  # which ones, as bits
    end: bool  # whether all has been seen


class Path(NamedTuple):
    """Where the search is; changed in place.

    Parameters
    ----------
    place : the next decision.
    rows : what is left of each resource and what is reached in each objective with the first so many of the chosen
        jobs, shape ``(k + 1, b + p)``.
    held : the chosen jobs, shape ``(k,)``.
    point : room for a point and its mark, shape ``(p + 1,)``.
    """

    place: Place
    rows: IntArray
    held: IntArray
    point: IntArray


class Subsets:
    """The search among the undecided jobs of a selection, which can be stopped and gone on with.

    Parameters
    ----------
    reduced : the jobs.
    memory : most bytes for what is found.
    """

    def __init__(self, reduced: ReducedSelection, memory: int) -> None:
        self._order = decision_order(reduced)
        demands, gains = reduced.demands[self._order], reduced.objectives[self._order]
        k, (b, p) = len(demands), (demands.shape[1], gains.shape[1])
        self._gains = gains
        both = np.hstack((demands, gains))
        after = both.sum(axis=0) - np.cumsum(both, axis=0)
        self._decisions = Decisions(
            np.hstack((both, after)),
            _links(both, reduced.parents[np.ix_(self._order, self._order)]),
            np.argsort(np.hstack((demands, -gains)), axis=0, kind="stable").T.copy(),
            _limits(reduced),
        )
        rows = np.zeros((k + 1, b + p), np.int64)
        rows[0] = np.concatenate((reduced.room, reduced.base))
        self._path = Path(record(Place), rows, np.zeros(k, np.int64), np.zeros(p + 1, np.int64))
        self._known = FrontArchive(p, 1, memory)
        self.outgrown = False
        """Whether the search had to end because the memory is full."""

    @property
    def finished(self) -> bool:
        """Whether all choices have been seen."""
        return bool(self._path.place.end)

    @property
    def size(self) -> int:
        """How many points there are, at least as many as the front of what has been seen has."""
        return len(self._known)

    @property
    def found(self) -> int:
        """How many points have entered so far."""
        return self._known.added

    def go_on(self, work: int) -> int:
        """Take about ``work`` further decisions; how many it were."""
        spent = 0
        while spent < work and not (self.finished or self.outgrown):
            why, took = search(self._path, self._decisions, self._known.tree, work - spent)
            spent += int(took)
            if why == FULL:
                self.outgrown = not self._known.make_room()
        return spent

    def know(self, chosen: BoolArray) -> None:
        """Begin with feasible choices of shape ``(points, k)``: only what none of them covers is looked for then."""
        chosen = chosen[:, self._order].astype(np.int64)
        values = self._path.rows[0, -self._gains.shape[1] :] + chosen @ self._gains
        marks = (chosen << np.arange(len(self._order))).sum(axis=1)
        points = np.column_stack((values, marks))[nondominated(values)]
        self.outgrown = not self._known.add(points)

    def chosen(self) -> BoolArray:
        """The choices of the front of what has been seen, shape ``(points, k)``, in the order of the reduced jobs.

        Until all has been seen, the empty one is among them: what it is completed to is the least that is known.
        """
        self._known.shed()
        marks = self._known.content()[:, -1]
        if not self.finished:
            marks = np.append(marks, 0)
        chosen = np.empty((len(marks), len(self._order)), bool)
        chosen[:, self._order] = marks[:, None] >> np.arange(len(self._order)) & 1
        return chosen


def decision_order(reduced: ReducedSelection) -> IntArray:
    """Positions among the undecided jobs: parents before children, else the largest share of a resource first.

    Equal jobs stand together, in queue order.
    """
    shares = (reduced.demands / np.maximum(reduced.room, 1)).max(axis=1)
    waiting = np.lexsort((*reduced.objectives.T, *reduced.demands.T, -shares)).tolist()
    order: list[int] = []
    decided = np.zeros(len(shares), bool)
    while waiting:
        job = next(each for each in waiting if not (reduced.parents[each] & ~decided).any())
        waiting.remove(job)
        decided[job] = True
        order.append(job)
    return np.array(order, np.int64)


def _links(both: IntArray, parents: BoolArray) -> IntArray:
    links = np.zeros((len(both), 2), np.int64)
    links[:, 0] = (parents.astype(np.int64) << np.arange(len(both))).sum(axis=1)
    alone: BoolArray = ~(np.any(parents, axis=0) | np.any(parents, axis=1))
    links[1:, 1] = (both[1:] == both[:-1]).all(axis=1) & alone[1:] & alone[:-1]
    return links


def _limits(reduced: ReducedSelection) -> IntArray:
    same: BoolArray = np.all(reduced.objectives[:, :, None] == reduced.demands[:, None, :], axis=0)
    return np.where(same.any(axis=1), same.argmax(axis=1), -1)


@compiled
def search(path: Path, decisions: Decisions, known: ArchiveTree, work: int) -> tuple[int, int]:
    """Go on through the choices; those that nothing known is as good as become known.

    Parameters
    ----------
    path : where the search is.
    decisions : what is decided.
    known : what has been found.
    work : decisions after which to return.

    Returns
    -------
    Why it returned, and how many decisions were taken.
    """
    place, rows, held, point = path
    jobs, links = decisions.jobs, decisions.links
    k, p = len(jobs), len(decisions.limits)
    b = rows.shape[1] - p
    d, c, mask = place.job, place.held, np.int64(place.mask)
    left = work
    why = SPENT
    one = np.int64(1)
    while left > 0:
        # Down: take whatever fits.
        while d < k:
            left -= 1
            needs, twin = links[d, 0], links[d, 1]
            fits = mask & needs == needs and not (twin and not mask >> (d - 1) & one)
            if fits:
                for r in range(b):
                    if jobs[d, r] > rows[c, r]:
                        fits = False
                        break
            if fits:
                for r in range(b):
                    rows[c + 1, r] = rows[c, r] - jobs[d, r]
                for o in range(b, b + p):
                    rows[c + 1, o] = rows[c, o] + jobs[d, o]
                held[c] = d
                c += 1
                mask |= one << d
            d += 1
        if _maximal(jobs, links, rows[c], int(mask), b):
            for o in range(p):
                point[o] = rows[c, b + o]
            point[p] = mask
            if not beaten(point, p, known) and insert(point, p, known):
                why = FULL
                break
        # Up: leave out the last job without which there is still something to find.
        d = -1
        while c > 0:
            c -= 1
            i = held[c]
            left -= 1
            mask ^= one << i
            if i + 1 < k and _open(decisions, rows[c], i, known, point):
                d = i + 1
                break
        if d < 0:
            why = FINISHED
            break
    place.job, place.held, place.mask, place.end = d, c, int(mask), why == FINISHED
    return why, work - left


@no_refcount
def _maximal(jobs: IntArray, links: IntArray, row: IntArray, mask: int, b: int) -> bool:
    for j in range(len(jobs)):
        if mask >> j & 1 or mask & links[j, 0] != links[j, 0]:
            continue
        fits = True
        for r in range(b):
            if jobs[j, r] > row[r]:
                fits = False
                break
        if fits:
            return False
    return True


@no_refcount
def _open(decisions: Decisions, row: IntArray, i: int, known: ArchiveTree, point: IntArray) -> bool:
    """Whether a choice without job ``i`` that goes on from ``row`` can be new, maximal and not covered."""
    jobs, p = decisions.jobs, len(decisions.limits)
    b = len(row) - p
    # The job fits whatever comes after it: no choice without it is maximal.
    free = True
    for r in range(b):
        if row[r] - jobs[i, b + p + r] < jobs[i, r]:
            free = False
            break
    if free:
        return False
    _reach(decisions, row, i, point)
    return not beaten(point, p, known)


@no_refcount
def _reach(decisions: Decisions, row: IntArray, i: int, point: IntArray) -> None:
    """Write into ``point`` an upper bound of each objective with what ``row`` has and jobs after ``i``, which is out.

    The sum of what still fits alone, of so many of the best at most as fit by the smallest demands on one resource,
    and where the objective is a demand, what is left.
    """
    jobs, links, ranks, limits = decisions
    k, p = len(jobs), len(limits)
    b = len(row) - p
    one = np.int64(1)
    for o in range(p):
        point[o] = row[b + o]
    fitting = np.int64(0)
    count = 0
    barred = True
    for j in range(i + 1, k):
        barred = barred and links[j, 1] == 1  # of equal jobs the first ones are taken
        fits = not barred
        for r in range(b):
            if jobs[j, r] > row[r]:
                fits = False
                break
        if fits:
            fitting |= one << j
            count += 1
            for o in range(p):
                point[o] += jobs[j, b + o]
    most = count
    for r in range(b):
        need = 0
        taken = 0
        for x in range(k):
            j = ranks[r, x]
            if fitting >> j & one:
                need += jobs[j, r]
                if need > row[r] or taken == most:
                    break
                taken += 1
        most = min(most, taken)
    if most < count:
        for o in range(p):
            point[o] = row[b + o]
            taken = 0
            for x in range(k):
                j = ranks[b + o, x]
                if fitting >> j & one:
                    if taken == most:
                        break
                    point[o] += jobs[j, b + o]
                    taken += 1
    for o in range(p):
        if limits[o] >= 0:
            point[o] = min(point[o], row[b + o] + row[limits[o]])
