"""Bin packing by dot product: the method that the papers compare with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom.models.arrays import BoolArray
from transom.models.selection import Selection
from transom.models.selection_reduction import forced_jobs
from transom.solving import TakesAll, presolve
from transom.stop import Budget, Stop


@dataclass(frozen=True, slots=True)
class DotProduct(TakesAll):
    r"""Choose the job that goes best with what is free, again and again, until none fits.

    Of the jobs that fit, and all of whose required jobs are chosen, the one with the largest

    .. math:: \sum_r \frac{d_{jr}}{T_r} \cdot \frac{f_r}{T_r}

    where :math:`T_r` is the resource's total and :math:`f_r` what is left of it by then: both are shares of the
    machine, so that units do not matter. Forced jobs come first, ties go to the earlier job. A front of one
    point; the objectives do not matter. It takes O(n²m) time for n jobs and m resources; when that is over, the other
    jobs follow in the order of the queue. It counts no iterations.

    References
    ----------
    Grandl et al., Multi-resource packing for cluster schedulers, SIGCOMM 2014, section 3.2 (alignment); Fan, Lan,
    MultiSched, section 3 ("Bin Packing").
    """

    name: ClassVar[str] = "dot-product"
    solves: ClassVar[type] = Selection
    needs: ClassVar[tuple[str, ...]] = ("moocore",)

    @staticmethod
    @cache
    def warm_up() -> None:
        """Import the library that judges fronts."""
        problem = Selection(np.array([[2, 1], [1, 2]]), np.array([2, 2]))
        DotProduct()(problem, Stop().start(problem), np.random.default_rng(0))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if not presolve(problem, budget):
            budget.found(problem.front(packed(problem, budget)[None, :]))


def packed(problem: Selection, budget: Budget) -> BoolArray:
    """The choice by dot product of a selection whose forced jobs fit, as far as there is time, shape ``(jobs,)``."""
    chosen = forced_jobs(problem)
    totals = np.maximum(problem.totals, 1).astype(np.float64)
    shares = problem.demands / totals
    room = problem.capacity - problem.demands[chosen].sum(axis=0)
    missing = np.zeros(len(problem), np.int64)  # required jobs that are not chosen
    children: dict[int, list[int]] = {}
    for job, other in problem.requires:
        children.setdefault(other, []).append(job)
        missing[job] += not chosen[other]
    left = ~chosen & ~problem.excluded
    while True:
        # What does not fit now never fits again.
        left &= (problem.demands <= room).all(axis=1)
        open_ = np.flatnonzero(left & (missing == 0))
        if not len(open_) or budget.seconds_left() == 0:
            return chosen
        job = int(open_[(shares[open_] @ (room / totals)).argmax()])
        chosen[job], left[job] = True, False
        room = room - problem.demands[job]
        missing[children.get(job, [])] -= 1
