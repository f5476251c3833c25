"""When jobs are due at the head of the queue, by how much work the machine had when they came.

A job that comes is due after a multiple of the backlog: of the time that the machine would take for all that waits and
for the rest of what runs, by walltimes, if no node idled. The backlog is much the same under any order of the queue, so
that due times follow the machine, and not the waits that they cause. A due time is set once, and does not move.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from transom._system.compiling import no_refcount
from transom.heuristics.priority_rules import Bounded, MaxWait, PriorityRule
from transom.models import JobTable
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import DEMAND, NEVER, NOW, QUEUED, RANK, RUNNING, WALLTIME

UNSEEN = -NEVER
"""The due time of a job that no pass has seen."""

_LATEST = 2.0**61  # a time that does not come [s], as a float


class DueTimes(NamedTuple):
    """For ``n`` jobs, none where the rule has no due times.

    ``backlogs`` ``(1,)``: after so many a job is due; ``due`` ``(n,)``: when each is [s], ``UNSEEN`` at first;
    ``known`` ``(n,)``: what a replay from the middle begins with.
    """

    backlogs: FloatArray
    due: IntArray
    known: IntArray


def backlogs_of(rule: PriorityRule) -> float | None:
    """After how many backlogs jobs are due under a rule, with or without ``max_wait``; None: they never are."""
    inner = rule.rule if isinstance(rule, MaxWait) else rule
    return inner.backlogs if isinstance(inner, Bounded) else None


def due_times(rule: PriorityRule, jobs: int) -> DueTimes:
    """Due times of jobs that nobody has seen yet."""
    backlogs = backlogs_of(rule)
    n = 0 if backlogs is None else jobs
    return DueTimes(np.array([backlogs or 0.0]), np.full(n, UNSEEN), np.full(n, UNSEEN))


@no_refcount
def move_due(d: DueTimes, jobs: IntArray, queue: IntArray, expected: IntArray, free: IntArray, at: IntArray) -> None:
    """Set when new jobs of the queue are due, and move those that are overdue to its head, first come, first served."""
    if len(d.due) == 0:
        return
    now, count, new, late = at[NOW], at[QUEUED], 0, 0
    for i in range(count):
        due = d.due[queue[i]]
        new += due == UNSEEN
        late += UNSEEN < due < now
    if new > 0:
        _set_new(d, jobs, queue, expected, free, at)
    if late == 0:
        return
    n = len(jobs)
    for i in range(count):
        job = queue[i]
        if d.due[job] >= now or jobs[job, RANK] < 0:
            continue
        jobs[job, RANK] = job - n
        k = i
        while k > 0 and jobs[queue[k - 1], RANK] > jobs[job, RANK]:
            queue[k] = queue[k - 1]
            k -= 1
        queue[k] = job


@no_refcount
def _set_new(d: DueTimes, jobs: IntArray, queue: IntArray, expected: IntArray, free: IntArray, at: IntArray) -> None:
    now, work, nodes = at[NOW], 0.0, float(free[0])
    for i in range(at[QUEUED]):
        work += float(jobs[queue[i], WALLTIME]) * jobs[queue[i], DEMAND]
    for i in range(at[RUNNING]):
        asked = jobs[expected[i, 1], DEMAND]
        nodes += asked
        work += float(max(expected[i, 0] - now, 0)) * asked
    slack = _LATEST
    if nodes > 0.0:  # in service
        slack = min(d.backlogs[0] * (work / nodes), _LATEST)
    for i in range(at[QUEUED]):
        if d.due[queue[i]] == UNSEEN:
            d.due[queue[i]] = min(now + int(slack), NEVER)


@no_refcount
def begin_due(d: DueTimes) -> None:
    """Begin with what is known."""
    for job in range(len(d.due)):
        d.due[job] = d.known[job]


def due_in(backlogs: float, jobs: JobTable, start: IntArray, end: IntArray, nodes: int) -> IntArray:
    """When jobs were due in a replay, or on a machine, without outages.

    Parameters
    ----------
    backlogs : of the rule.
    jobs : by (submission, id).
    start, end : of each [s], shape ``(jobs,)``; what lies after a job came is not read for it.
    nodes : of the machine.

    Returns
    -------
    Times [s], shape ``(jobs,)``.
    """
    if not len(jobs):
        return np.zeros(0, np.int64)
    seen = np.ascontiguousarray(jobs.submit)
    if jobs.depends_on:
        ended = dict(zip(jobs.id.tolist(), end.tolist(), strict=True))
        parents = [max((ended.get(p, 0) for p in jobs.depends_on.get(job, ())), default=0) for job in jobs.id.tolist()]
        seen = np.maximum(seen, parents)
    first = int(seen.min())
    area, planned = jobs.walltime * jobs.nodes, start - first + jobs.walltime
    left = np.minimum(end, start + jobs.walltime)  # from then on nothing of it is planned

    def until(times: IntArray, amounts: IntArray, side: Literal["left", "right"]) -> IntArray:
        """The sum of the amounts whose time is before each time of ``seen``, or not after it."""
        order = np.argsort(times, kind="stable")
        return np.append(0, np.cumsum(amounts[order]))[np.searchsorted(times[order], seen, side)]

    waits = until(seen, area, "right") - until(start, area, "left")
    plans = until(start, planned * jobs.nodes, "left") - until(left, planned * jobs.nodes, "right")
    busy = until(start, jobs.nodes, "left") - until(left, jobs.nodes, "right")
    work = (waits + plans - (seen - first) * busy).astype(np.float64)
    found: IntArray = seen + np.minimum(backlogs * (work / nodes), _LATEST).astype(np.int64)
    return found
