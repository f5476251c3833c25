"""How long it takes to hand over a front: a small measured model, which searches keep free before a deadline."""

from __future__ import annotations

from transom.models import Selection
from transom.models.pareto_front import EXACT_OBJECTIVES
from transom.models.selection_reduction import forced_jobs
from transom.solving import presolve
from transom.stop import Budget

_CALL = 5e-4  # seconds of a hand-over of a point
_EACH = {True: 4e-6, False: 1.4e-5}  # of each point more, whether the hypervolume is exact
_PER_JOB = 1.5e-7  # of each job in each point
_PAIR = {True: 3e-9, False: 5e-10}  # of each pair of points, which filters and hypervolume look at
_PAIR_MOST = 1e-8  # the same with the most objectives for which the hypervolume is exact

_PER_SQUARE = 1e-9  # of each pair of jobs and resource, to prepare an exact search


def too_short(problem: Selection, budget: Budget) -> bool:
    """Whether less time is left than preparing an exact search takes; the budget then has the jobs in queue order."""
    short = budget.short(_PER_SQUARE * len(problem) * problem.demands.size)
    if short and not presolve(problem, budget):
        budget.found(problem.front(forced_jobs(problem)[None]))
    return short


def judging_seconds(problem: Selection, points: float) -> float:
    """About what it takes to complete, check and value so many points of a selection, on one core [s].

    Parameters
    ----------
    points : how many, >= 0; those that others beat count as well, as long as nobody has filtered them.
    """
    objectives = len(problem.terms)
    exact = objectives <= EXACT_OBJECTIVES
    pair = _PAIR_MOST if objectives == EXACT_OBJECTIVES else _PAIR[exact]
    return _CALL + (_EACH[exact] + _PER_JOB * len(problem)) * points + pair * points**2
