"""Whether a front of few jobs is complete: by going through every choice, with no solver in between."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.models.pareto_front import ParetoFront, nondominated
from transom.models.selection import Selection

MOST_JOBS = 14
"""Most jobs beside the forced ones, each of which fits, for which every choice is looked at."""


def missing_points(problem: Selection, front: ParetoFront) -> IntArray | None:
    """Values of the true front that a front lacks, shape ``(points, objectives)``; None where there are too many jobs.

    Parameters
    ----------
    problem : the selection.
    front : feasible selections with their values, as :meth:`Selection.violations` judges them.
    """
    room = problem.capacity - problem.demands[problem.forced].sum(axis=0)
    fits = (problem.demands <= room).all(axis=1) & ~problem.forced & ~problem.excluded
    jobs = np.flatnonzero(fits)
    if len(jobs) > MOST_JOBS:
        return None
    choices = np.arange(2 ** len(jobs))[:, None] >> np.arange(len(jobs)) & 1
    fine = (choices @ problem.demands[jobs] <= room).all(axis=1)
    chosen = np.repeat(problem.forced[None, :], int(fine.sum()), axis=0)
    chosen[:, jobs] = choices[fine]
    evaluated = problem.evaluate(chosen[problem.feasible(chosen)])
    true = evaluated[nondominated(evaluated)]
    found = {tuple(values) for values in front.values.tolist()}
    lacking: IntArray = true[[tuple(values) not in found for values in true.tolist()]]
    return lacking
