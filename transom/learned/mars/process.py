"""The decision process of the learned policy: the textbook's events with EASY backfilling, compiled.

All events of an instant are processed, then jobs are picked one after the other. A picked job that fits starts. One
that does not fit gets a reservation, the others are backfilled around it in order of submission, and the next pick is
at the next instant. No decision is asked where one job waits or none of those that wait fits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.errors import SpecError
from transom.learned.kernel.scoring import VisibleJobs
from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.events import (
    CHILDREN,
    CHILDREN_END,
    COUNTERS,
    DEMAND,
    NEVER,
    NOW,
    PASSED,
    QUEUED,
    RUNNING,
    START,
    SUBMIT,
    WAKE,
    WALLTIME,
    launch,
    occupy,
)
from transom.simulation.core.replay import new_state
from transom.simulation.core.schedule import READY
from transom.simulation.passes.easy_backfill import Starts, easy_pass, fits
from transom.traces import Workload

TOTAL, BLOCKED = range(COUNTERS, COUNTERS + 2)
"""Places in :attr:`MarsState.at` behind the counters of a replay: nodes of the machine, and whether nothing is picked
before the next instant."""


class Sequence(NamedTuple):
    """Jobs by submission, then id; int64.

    ``jobs`` and ``children``: of the :class:`~transom.simulation.core.events.State` before the first event;
    ``runtime`` ``(n,)`` [s]; ``nodes`` of the machine.
    """

    jobs: IntArray
    children: IntArray
    runtime: IntArray
    nodes: int


class MarsState(NamedTuple):
    """A replay of a sequence: the arrays of a :class:`~transom.simulation.core.events.State`, and three more.

    ``runtime`` ``(n,)`` [s]; ``starts`` and ``extra``: what an EASY pass fills in.
    """

    jobs: IntArray
    queue: IntArray
    ends: IntArray
    expected: IntArray
    ended: IntArray
    free: IntArray
    children: IntArray
    at: IntArray
    runtime: IntArray
    starts: Starts
    extra: IntArray


def sequence_of(workload: Workload) -> Sequence:
    """The jobs of a workload as the process takes them.

    Raises
    ------
    SpecError : jobs ask for further resources, which the network does not see.
    """
    if workload.cluster.resources:
        raise SpecError(f"mars: learns on nodes alone, and {workload.name} has {', '.join(workload.cluster.resources)}")
    state = new_state(workload)
    return Sequence(state.jobs, state.children, workload.runtime.astype(np.int64), workload.cluster.num_nodes)


@compiled
def begin(sequence: Sequence) -> MarsState:
    """The state before the first instant, on an empty machine; :func:`advance` goes to the first decision."""
    n = len(sequence.jobs)
    queue, ends, expected = np.empty(n, np.int64), np.empty((n, 2), np.int64), np.empty((n, 2), np.int64)
    ended, free, at = np.empty(n, np.int64), np.empty(1, np.int64), np.zeros(COUNTERS + 2, np.int64)
    free[0], at[TOTAL], at[WAKE] = sequence.nodes, sequence.nodes, NEVER
    starts, extra = Starts(np.empty(n, np.int64), np.empty(n, np.int64)), np.empty(1, np.int64)
    jobs, children, runtime = sequence.jobs.copy(), sequence.children, sequence.runtime
    return MarsState(jobs, queue, ends, expected, ended, free, children, at, runtime, starts, extra)


@compiled
def advance(state: MarsState) -> bool:
    """Go on to the next decision; False if all jobs have started and none will wait any more."""
    jobs, queue, ends, expected, ended, free, children, at, _, _, _ = state
    while True:
        if at[QUEUED] and not at[BLOCKED] and _somebody_fits(state):
            if at[QUEUED] > 1:
                return True
            take(state, 0)
            continue
        at[BLOCKED] = 0
        if not events.advance(jobs, queue, ends, expected, ended, free, children, at):
            return False


@compiled
def take(state: MarsState, row: int) -> None:
    """Pick the job at a place of the queue: it starts, or the others are backfilled around it."""
    jobs, queue, ends, expected, _, free, _, at, runtime, starts, extra = state
    head = queue[row]
    for k in range(row, 0, -1):
        queue[k] = queue[k - 1]
    queue[0] = head
    if fits(jobs, head, free):
        occupy(jobs, expected, free, at, head)
        starts.picks[0], starts.modes[0] = 0, READY
        launch(jobs, queue, ends, at, runtime, starts.picks, starts.modes, 1)
        return
    at[PASSED], at[BLOCKED] = 0, 1
    count, _, _, _ = easy_pass(jobs, queue, expected, free, at, starts, extra, None)
    launch(jobs, queue, ends, at, runtime, starts.picks, starts.modes, count)
    k = 0  # back to its place by submission
    while k + 1 < at[QUEUED] and queue[k + 1] < head:
        queue[k] = queue[k + 1]
        k += 1
    queue[k] = head


@compiled
def visible_jobs(state: MarsState, slots: int) -> VisibleJobs:
    """What the policy is shown: the first jobs of the queue, at most so many.

    Running jobs are expected to end by their walltimes, overdue ones the next second.
    """
    jobs, at = state.jobs, state.at
    count = min(slots, at[QUEUED])
    waiting, ends = np.empty((count, 3), np.int64), np.empty((at[RUNNING], 2), np.int64)
    for row in range(count):
        job = state.queue[row]
        waiting[row, 0], waiting[row, 1] = jobs[job, SUBMIT], jobs[job, WALLTIME]
        waiting[row, 2] = jobs[job, DEMAND]
    for i in range(at[RUNNING]):
        ends[i, 0] = max(state.expected[i, 0], at[NOW] + 1)
        ends[i, 1] = jobs[state.expected[i, 1], DEMAND]
    return VisibleJobs(waiting, ends, np.array([at[NOW], state.free[0], at[TOTAL]]))


@compiled
def mean_slowdown(state: MarsState, tau: int) -> float:
    """Mean bounded slowdown of the jobs of a finished replay; ``tau`` is the bound [s].

    A job waits from when it could have started: when it was submitted and its parents had ended.
    """
    jobs, runtime, total = state.jobs, state.runtime, 0.0
    ready = jobs[:, SUBMIT].copy()
    for parent in range(len(jobs)):
        for k in range(jobs[parent, CHILDREN], jobs[parent, CHILDREN_END]):
            child = state.children[k]
            ready[child] = max(ready[child], jobs[parent, START] + runtime[parent])
    for job in range(len(jobs)):
        total += max((jobs[job, START] - ready[job] + runtime[job]) / max(runtime[job], tau), 1.0)
    return total / len(jobs)


@no_refcount
def _somebody_fits(state: MarsState) -> bool:
    for row in range(state.at[QUEUED]):  # noqa: SIM110  (a generator is slower when compiled)
        if state.jobs[state.queue[row], DEMAND] <= state.free[0]:
            return True
    return False
