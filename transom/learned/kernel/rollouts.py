"""Sequences in the locked environment under the network, in one compiled loop."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.learned.kernel.scoring import SLOTS, KernelWeights, VisibleJobs, best
from transom.models.arrays import IntArray
from transom.simulation.locked import process as locked
from transom.simulation.locked.process import LockedState


@compiled
def visible_jobs(state: LockedState) -> VisibleJobs:
    """What a policy is shown at this instant; the queue of the state is then sorted by submission."""
    locked.sort_by_submission(state)
    jobs, queue, running, at, _ = state
    count, busy = min(SLOTS, at[locked.QUEUED]), at[locked.RUNNING]
    waiting, ends = np.empty((count, 3), np.int64), np.empty((busy, 2), np.int64)
    for i in range(count):
        job = queue[i]
        waiting[i, 0], waiting[i, 1] = jobs[job, locked.SUBMIT], max(jobs[job, locked.WALLTIME], 1)
        waiting[i, 2] = jobs[job, locked.NODES]
    for i in range(busy):
        job = running[i]
        end = max(jobs[job, locked.START] + jobs[job, locked.WALLTIME], at[locked.NOW] + 1)
        place = i
        while place > 0 and ends[place - 1, 0] > end:
            ends[place, 0], ends[place, 1] = ends[place - 1, 0], ends[place - 1, 1]
            place -= 1
        ends[place, 0], ends[place, 1] = end, jobs[job, locked.NODES]
    return VisibleJobs(waiting, ends, np.array([at[locked.NOW], at[locked.FREE], at[locked.TOTAL]]))


@compiled
def bounded_slowdown(weights: KernelWeights, jobs: IntArray, nodes: int, easy: bool, tau: int) -> float:
    """Mean bounded slowdown of a sequence under the network, which takes the highest score.

    ``jobs`` ``(n, 7)`` are those of :attr:`~transom.simulation.locked.process.LockedState.jobs`, by arrival; starts are
    written into them. ``tau`` is the bound [s].
    """
    state = locked.begin(jobs, nodes)
    while state.at[locked.QUEUED]:
        job = -1
        if state.at[locked.LOCKED] < 0:
            shown = visible_jobs(state)
            job = state.queue[best(weights, shown) if len(shown.queue) > 1 else 0]
        locked.take(state, job, easy)
    total = 0.0
    for job in range(len(jobs)):
        run = jobs[job, locked.RUNTIME]
        response = jobs[job, locked.START] - jobs[job, locked.SUBMIT] + run
        total += max(response / max(run, tau), 1.0)
    return total / len(jobs)
