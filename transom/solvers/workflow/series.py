"""A workflow as a series of parts: all tasks of a part wait, over some path, for all tasks of the part before."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import IntArray
from transom.models.workflow import Workflow

_TASKS = 2000  # up to which it is looked for: ancestors take the square of it


def series_parts(problem: Workflow) -> list[IntArray]:
    """The parts, as positions of tasks; their least makespans add up to that of the workflow.

    With releases they do not: the workflow is then a single part.
    """
    count = len(problem)
    if not 0 < count <= _TASKS or problem.releases.any():
        return [np.arange(count)]
    first, parents = (part.tolist() for part in problem.parents)
    before = [0] * count  # the ancestors of each task, a bit each
    for task in problem.order().tolist():
        for parent in parents[first[task] : first[task + 1]]:
            before[task] |= before[parent] | 1 << parent
    # Behind a cut every task has all tasks before it as ancestors, so these have the fewest ancestors.
    order = sorted(range(count), key=lambda task: before[task].bit_count())
    common = [-1] * (count + 1)  # ancestors of all tasks from a position on
    for k in range(count - 1, 0, -1):
        common[k] = before[order[k]] & common[k + 1]
    cuts, begun = [0], 0
    for k in range(1, count):
        begun |= 1 << order[k - 1]
        if begun & ~common[k] == 0:
            cuts.append(k)
    return [np.array(sorted(order[a:b]), np.int64) for a, b in zip(cuts, [*cuts[1:], count], strict=True)]
