"""The values of a front, from the words of the problem and out of a result."""

from __future__ import annotations

from typing import Any

import numpy as np

from transom.models import ParetoFront, Selection


def enumerated_front(problem: Selection) -> set[tuple[int, ...]]:
    """The values of the front from the words of the problem: every choice, every pair of values."""
    jobs = len(problem)
    chosen = (np.arange(2**jobs)[:, None] >> np.arange(jobs)) & 1 == 1
    fits = (chosen.astype(np.int64) @ problem.demands <= problem.capacity).all(axis=1)
    fits &= chosen[:, problem.forced].all(axis=1) & ~chosen[:, problem.excluded].any(axis=1)
    for job, other in problem.requires:
        fits &= ~chosen[:, job] | chosen[:, other]
    values = np.unique(chosen[fits].astype(np.int64) @ problem.objectives, axis=0)
    best: list[Any] = []
    for value in values[::-1]:  # whoever beats it comes before it
        if not any((other >= value).all() for other in best):
            best.append(value)
    return {tuple(value.tolist()) for value in best}


def values_of(front: ParetoFront) -> set[tuple[int, ...]]:
    """The values of a front."""
    return {tuple(value) for value in front.values.tolist()}
