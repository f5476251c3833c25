"""A stretch of a workload."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from transom.errors import ModelError
from transom.models.arrays import IntArray
from transom.traces.workload import Workload


def cut(workload: Workload, start: int = 0, jobs: int | None = None) -> Workload:
    """Consecutive jobs of a workload, their submission times unchanged.

    Parameters
    ----------
    workload : where to cut.
    start : position of the first job by (submission, id), from 0.
    jobs : number of jobs, > 0; None takes all that follow. Dependencies on jobs outside are dropped.

    Raises
    ------
    ModelError : the range exceeds the workload.
    """
    number = len(workload)
    if not 0 <= start < number:
        raise ModelError(f"{workload.name}: start must be from 0 to {number - 1}, got {start}")
    if jobs is not None and not 0 < jobs <= number - start:
        raise ModelError(f"{workload.name}: jobs must be from 1 to {number - start} from start {start} on, got {jobs}")
    return stretch(workload, np.arange(start, number if jobs is None else start + jobs))


def stretch(workload: Workload, index: IntArray) -> Workload:
    """The jobs at ``index``, shape ``(jobs,)``; ``repairs`` say that what was left out was so of the whole trace."""
    part = workload.take(index)
    if len(part) == len(workload):
        return part
    said = {what.replace("left out: ", "left out of the whole trace: "): n for what, n in part.repairs.items()}
    return replace(part, repairs=said)
