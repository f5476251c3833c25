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
from transom.traces import Workload

SUBMIT, WALLTIME, RUNTIME, NODES, START, READY = range(6)
"""Columns of :attr:`MarsState.jobs`: submission, walltime and runtime [s], nodes, start [s], and when the job could
have started [s]: when it was submitted and its parents had ended. The last two are -1 before."""

NOW, NEXT, QUEUED, RUNNING, FREE, TOTAL, BLOCKED = range(7)
"""Places in :attr:`MarsState.at`: now, next arrival, lengths of queue and of running, idle nodes, nodes of the machine,
and whether nothing is picked before the next instant."""

_LAST = 2**62


class Sequence(NamedTuple):
    """Jobs and who waits for whom; int64.

    ``jobs`` ``(n, 6)`` by submission, then id; the children of job j are ``children[first[j]:first[j + 1]]``.
    """

    jobs: IntArray
    first: IntArray
    children: IntArray
    nodes: int


class MarsState(NamedTuple):
    """A replay of a sequence; int64.

    ``missing`` ``(n,)``: parents that have not ended; ``queue`` ``(n,)``: jobs that wait, by submission; ``running``
    ``(n,)``; ``at`` ``(7,)``: counters.
    """

    jobs: IntArray
    first: IntArray
    children: IntArray
    missing: IntArray
    queue: IntArray
    running: IntArray
    at: IntArray


def sequence_of(workload: Workload) -> Sequence:
    """The jobs of a workload as the process takes them.

    Raises
    ------
    SpecError : jobs ask for further resources, which the network does not see.
    """
    if workload.cluster.resources:
        raise SpecError(f"mars: learns on nodes alone, and {workload.name} has {', '.join(workload.cluster.resources)}")
    table = workload.jobs
    order = np.lexsort((table.id, table.submit))
    jobs = np.full((len(order), 6), -1, np.int64)
    for column, values in ((SUBMIT, table.submit), (WALLTIME, table.walltime), (RUNTIME, workload.runtime)):
        jobs[:, column] = values[order]
    jobs[:, NODES] = table.nodes[order]
    place = {int(job): at for at, job in enumerate(table.id[order])}
    edges = sorted((place[parent], place[job]) for job, parents in table.depends_on.items() for parent in parents)
    pairs = np.array(edges, np.int64).reshape(-1, 2)
    first = np.searchsorted(pairs[:, 0], np.arange(len(order) + 1)).astype(np.int64)
    return Sequence(jobs, first, pairs[:, 1].copy(), workload.cluster.num_nodes)


@compiled
def begin(sequence: Sequence) -> MarsState:
    """The state before the first instant, on an empty machine; :func:`advance` goes to the first decision."""
    n = len(sequence.jobs)
    jobs, missing, at = sequence.jobs.copy(), np.zeros(n, np.int64), np.zeros(7, np.int64)
    for child in sequence.children:
        missing[child] += 1
    at[FREE], at[TOTAL] = sequence.nodes, sequence.nodes
    queue, running = np.empty(n, np.int64), np.empty(n, np.int64)
    return MarsState(jobs, sequence.first, sequence.children, missing, queue, running, at)


@compiled
def advance(state: MarsState) -> bool:
    """Go on to the next decision; False if all jobs have started and none will wait any more."""
    while True:
        if state.at[QUEUED] and not state.at[BLOCKED] and _somebody_fits(state):
            if state.at[QUEUED] > 1:
                return True
            take(state, 0)
        elif not _step(state):
            return False


@compiled
def take(state: MarsState, row: int) -> None:
    """Pick the job at a place of the queue: it starts, or the others are backfilled around it."""
    jobs, queue, at = state.jobs, state.queue, state.at
    head = queue[row]
    if jobs[head, NODES] <= at[FREE]:
        _start(state, row)
        return
    ends, extra, shadow = _ends(state), at[FREE], at[NOW]
    i = 0
    while extra < jobs[head, NODES]:
        shadow = ends[i, 0]
        while i < len(ends) and ends[i, 0] == shadow:
            extra += ends[i, 1]
            i += 1
    extra -= jobs[head, NODES]
    k = 0
    while k < at[QUEUED]:
        job = queue[k]
        fits = job != head and jobs[job, NODES] <= at[FREE]
        if fits and at[NOW] + jobs[job, WALLTIME] > shadow:
            if jobs[job, NODES] <= extra:
                extra -= jobs[job, NODES]
            else:
                fits = False
        if fits:
            _start(state, k)
        else:
            k += 1
    at[BLOCKED] = 1


@compiled
def visible_jobs(state: MarsState, slots: int) -> VisibleJobs:
    """What the policy is shown: the first jobs of the queue, at most so many."""
    jobs, at = state.jobs, state.at
    count = min(slots, at[QUEUED])
    waiting = np.empty((count, 3), np.int64)
    for row in range(count):
        job = state.queue[row]
        waiting[row, 0], waiting[row, 1] = jobs[job, SUBMIT], jobs[job, WALLTIME]
        waiting[row, 2] = jobs[job, NODES]
    return VisibleJobs(waiting, _ends(state), np.array([at[NOW], at[FREE], at[TOTAL]]))


@compiled
def mean_slowdown(state: MarsState, tau: int) -> float:
    """Mean bounded slowdown of the jobs of a finished replay; ``tau`` is the bound [s]."""
    total = 0.0
    for job in range(len(state.jobs)):
        row = state.jobs[job]
        total += max((row[START] - row[READY] + row[RUNTIME]) / max(row[RUNTIME], tau), 1.0)
    return total / len(state.jobs)


@compiled
def _ends(state: MarsState) -> IntArray:
    """When running jobs end by their walltimes, ascending, and their nodes; overdue ones end the next second."""
    jobs, at = state.jobs, state.at
    ends = np.empty((at[RUNNING], 2), np.int64)
    for i in range(at[RUNNING]):
        job = state.running[i]
        end = max(jobs[job, START] + jobs[job, WALLTIME], at[NOW] + 1)
        place = i
        while place > 0 and ends[place - 1, 0] > end:
            ends[place, 0], ends[place, 1] = ends[place - 1, 0], ends[place - 1, 1]
            place -= 1
        ends[place, 0], ends[place, 1] = end, jobs[job, NODES]
    return ends


@no_refcount
def _somebody_fits(state: MarsState) -> bool:
    for row in range(state.at[QUEUED]):  # noqa: SIM110  (a generator is slower when compiled)
        if state.jobs[state.queue[row], NODES] <= state.at[FREE]:
            return True
    return False


@no_refcount
def _start(state: MarsState, row: int) -> None:
    jobs, at = state.jobs, state.at
    job = state.queue[row]
    jobs[job, START] = at[NOW]
    at[FREE] -= jobs[job, NODES]
    state.running[at[RUNNING]] = job
    at[RUNNING] += 1
    at[QUEUED] -= 1
    for k in range(row, at[QUEUED]):
        state.queue[k] = state.queue[k + 1]


@no_refcount
def _step(state: MarsState) -> bool:
    """Process all events of the next instant; False if there is none."""
    jobs, at, running = state.jobs, state.at, state.running
    now = jobs[at[NEXT], SUBMIT] if at[NEXT] < len(jobs) else _LAST
    for i in range(at[RUNNING]):
        now = min(now, jobs[running[i], START] + jobs[running[i], RUNTIME])
    if now == _LAST:
        return False
    at[NOW], at[BLOCKED] = now, 0
    i = 0
    while i < at[RUNNING]:
        job = running[i]
        if jobs[job, START] + jobs[job, RUNTIME] > now:
            i += 1
            continue
        at[FREE] += jobs[job, NODES]
        at[RUNNING] -= 1
        running[i] = running[at[RUNNING]]
        for k in range(state.first[job], state.first[job + 1]):
            child = state.children[k]
            state.missing[child] -= 1
            if state.missing[child] == 0 and child < at[NEXT]:
                _enqueue(state, child)
    while at[NEXT] < len(jobs) and jobs[at[NEXT], SUBMIT] <= now:
        job = at[NEXT]
        at[NEXT] += 1
        if state.missing[job] == 0:
            _enqueue(state, job)
    return True


@no_refcount
def _enqueue(state: MarsState, job: int) -> None:
    place = state.at[QUEUED]
    while place > 0 and state.queue[place - 1] > job:
        state.queue[place] = state.queue[place - 1]
        place -= 1
    state.queue[place] = job
    state.at[QUEUED] += 1
    state.jobs[job, READY] = state.at[NOW]
