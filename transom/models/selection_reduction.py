"""What a selection comes down to once the obvious is decided."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import BoolArray, IntArray
from transom.models.selection import Selection


@dataclass(frozen=True, eq=False, slots=True)
class ReducedSelection:
    """The undecided jobs of a selection, and the resources that can run out for them.

    Every point of the front is, up to jobs added by :meth:`Selection.completed`, ``taken`` and a choice among
    ``jobs``; it is worth ``base`` and what the choice is worth. Each undecided job fits alone, with what it
    requires; not all of them fit together.

    Parameters
    ----------
    jobs : positions of the undecided jobs, in queue order, shape ``(k,)``.
    demands : what they ask for of those resources of which all of them together ask for more than there is,
        shape ``(k, b)``, ``b`` > 0 unless there is no job.
    room : what is left of those resources, shape ``(b,)``.
    objectives : what they are worth, shape ``(k, objectives)``.
    parents : which job requires which, bool, shape ``(k, k)``: ``parents[j, i]`` says that ``j`` requires ``i``.
    taken : the jobs that are chosen in any case, bool, shape ``(jobs,)``.
    base : what those are worth, shape ``(objectives,)``.
    pruned : how many jobs, not excluded, do not fit alone beside the forced ones.
    """

    jobs: IntArray
    demands: IntArray
    room: IntArray
    objectives: IntArray
    parents: BoolArray
    taken: BoolArray
    base: IntArray
    pruned: int

    def selections(self, chosen: BoolArray) -> BoolArray:
        """Selections of the problem for choices among the undecided jobs of shape ``(points, k)``."""
        selections = np.repeat(self.taken[None, :], len(chosen), axis=0)
        selections[:, self.jobs] = chosen
        return selections


def reduce_selection(problem: Selection) -> ReducedSelection | None:
    """Decide the obvious jobs of a selection; None if the forced ones do not fit together.

    Jobs that do not fit alone beside the forced ones leave the problem, and with them those that require them
    (pruning, MultiSched, section 2.2); jobs that ask for nothing that can run out are taken.
    """
    parents = _parents(problem)
    taken = _closed(problem.forced, parents)
    out = _closed(problem.excluded, parents.T)
    room: IntArray = problem.capacity - problem.demands[taken].sum(axis=0)
    if (room < 0).any() or (taken & out).any():
        return None
    alone = problem.demands.copy()
    if problem.requires:
        for job in np.flatnonzero(parents.any(axis=1)).tolist():
            needed = _closed(np.arange(len(problem)) == job, parents) & ~taken
            alone[job] = problem.demands[needed].sum(axis=0)
    unfit = ~taken & ~out & (alone > room).any(axis=1)
    pruned = int(unfit.sum())
    out |= unfit
    while True:
        open_ = ~taken & ~out
        binding: BoolArray = problem.demands[open_].sum(axis=0) > room
        # Nothing is worth less than nothing, so what costs nothing is taken.
        free = open_ & ~problem.demands[:, binding].any(axis=1)
        if problem.requires:
            free &= ~(parents & ~taken).any(axis=1)
        if not free.any():
            break
        taken |= free
        room = room - problem.demands[free].sum(axis=0)
    jobs = np.flatnonzero(open_)
    return ReducedSelection(
        jobs=jobs,
        demands=np.ascontiguousarray(problem.demands[np.ix_(jobs, np.flatnonzero(binding))]),
        room=room[binding],
        objectives=np.ascontiguousarray(problem.objectives[jobs]),
        parents=among(parents, jobs),
        taken=taken,
        base=problem.objectives[taken].sum(axis=0),
        pruned=pruned,
    )


def forced_jobs(problem: Selection) -> BoolArray:
    """The forced jobs of a selection and all that they require, bool, shape ``(jobs,)``."""
    return _closed(problem.forced, _parents(problem))


def among(pairs: BoolArray, kept: IntArray) -> BoolArray:
    """Relations of jobs, shape ``(jobs, jobs)``, of those kept only."""
    # Where there are none, as a rule, the copy would take longer than all the rest.
    none = np.zeros((len(kept), len(kept)), bool)
    return np.ascontiguousarray(pairs[np.ix_(kept, kept)]) if pairs.any() else none


def _parents(problem: Selection) -> BoolArray:
    parents = np.zeros((len(problem), len(problem)), bool)
    for job, other in problem.requires:
        parents[job, other] = True
    return parents


def _closed(marks: BoolArray, leads_to: BoolArray) -> BoolArray:
    """``marks`` and all that can be reached from them."""
    closed = marks.copy()
    while closed.any():
        more = leads_to[closed].any(axis=0) & ~closed
        if not more.any():
            break
        closed |= more
    return closed
