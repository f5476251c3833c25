"""Futures of a machine: sampled runtimes and submissions, replayed by the engine under the policy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom.forecast.arrivals import arrivals
from transom.forecast.known import Known
from transom.forecast.pools import SIZE, runtimes_of
from transom.models import JobTable
from transom.models import job as table
from transom.models.arrays import IntArray
from transom.rng import stream
from transom.simulation.core.decision import Backfilling
from transom.simulation.core.due_times import UNSEEN
from transom.simulation.passes.continued import Continued
from transom.traces.workload import Workload

WEEKS = 8
"""The submissions of so many weeks are tried."""

FUTURES: dict[Backfilling, int] = {"none": 64, "easy": 64, "conservative": 24}
"""Futures of a question, by kind of backfilling."""

_TOGETHER = 0.5  # how often all jobs of a user run long or short together
_DAY = 86400
_LONGEST = 30 * _DAY  # for which jobs are submitted in a future


class Instant(NamedTuple):
    """A machine at an instant, for a question.

    Parameters
    ----------
    now : the instant [s].
    shown : so many jobs, the first ones, are known.
    active : those of them that run, end now, or wait, ascending.
    elapsed : how long each of these has run [s], -1 if it has not started.
    promised : the start that each of these holds a reservation for [s], -1 for none.
    undecided : whether the scheduler decides now, with or without an event.
    """

    now: int
    shown: int
    active: IntArray
    elapsed: IntArray
    promised: IntArray
    undecided: bool = False


def instant(known: Known, now: int, count: int, promised: IntArray | None = None) -> Instant:
    """The machine at ``now``, of which the first ``count`` jobs are known; ``promised``: starts, shape ``(jobs,)``."""
    active = np.flatnonzero(known.end[:count] >= now)
    started = known.start[active]
    elapsed = np.where(started < now, now - started, -1)
    held = np.full(len(active), -1) if promised is None else np.where(elapsed < 0, promised[active], -1)
    return Instant(now, count, active, elapsed, held)


def plan(known: Known, at: Instant) -> IntArray:
    """The walltime plan: when active jobs, shape ``(active,)``, start if all run to their limits and none comes [s]."""
    going = _continued(known, at, np.empty(0, np.int64), np.empty(0, np.int64))
    walltime = known.jobs.walltime[at.active]
    runtime = np.maximum(walltime, at.elapsed + 1)  # who is past it is expected to end the next second
    started = np.where(at.elapsed >= 0, at.now - at.elapsed, -1)
    starts = going.starts(_ending_now(known, at, runtime[None]), np.arange(len(at.active)), known.depth)[0]
    return np.where(started >= 0, started, starts)


def forecast(known: Known, at: Instant, targets: IntArray, seed: int) -> tuple[IntArray, IntArray]:
    """How long jobs wait in sampled futures, and the walltime plan.

    Parameters
    ----------
    known, at : what is known, and the instant.
    targets : places of jobs in ``at.active``.
    seed : of what is drawn.

    Returns
    -------
    Waits from now on, shape ``(futures, targets)`` [s], and planned starts, shape ``(active,)`` [s].
    """
    planned, rng = plan(known, at), stream(seed, "when", at.now, at.shown)
    horizon = min(2 * int(planned[targets].max(initial=at.now) - at.now) + _DAY, _LONGEST)
    pool = runtimes_of(known.pools, known.end, at.now, at.shown, at.active, at.elapsed)
    users = np.unique(known.jobs.user[: at.shown])
    found = []
    for weeks in range(1, WEEKS + 1):
        again, when = arrivals(known.submit[: at.shown], at.now, horizon, weeks)
        going = _continued(known, at, again, when)
        coming = runtimes_of(known.pools, known.end, at.now, at.shown, again, np.full(len(again), -1))
        ended = known.end[again] <= at.now
        coming[ended] = (known.end[again] - known.start[again])[ended][:, None]
        choices = np.concatenate((pool, coming))
        user = np.searchsorted(users, known.jobs.user[np.concatenate((at.active, again))])
        number = FUTURES[known.backfilling] // WEEKS
        drawn, shared = rng.random((number, len(choices))), rng.random((number, len(users)))
        together = (rng.random(shared.shape) < _TOGETHER) & (users >= 0)
        drawn = np.where(together[:, user], shared[:, user], drawn)
        runtime = choices[np.arange(len(choices)), (drawn * SIZE).astype(np.int64)]
        found.append(going.starts(_ending_now(known, at, runtime), targets, known.depth))
    return np.maximum(np.concatenate(found) - at.now, 0), planned


def _ending_now(known: Known, at: Instant, runtime: IntArray) -> IntArray:
    """Runtimes in which those jobs that end at the instant do."""
    ends = np.flatnonzero(known.end[at.active] == at.now)
    runtime[:, ends] = at.elapsed[ends]
    return runtime


def _continued(known: Known, at: Instant, again: IntArray, when: IntArray) -> Continued:
    """A replay that stands at the instant, with these submissions to come."""
    here, coming = known.jobs.take(at.active), known.jobs.data[again]
    coming[:, table.ID] = int(here.id.max(initial=0)) + 1 + np.arange(len(again))
    coming[:, table.SUBMIT] = when
    here_too = set(here.id.tolist())
    parents = {job: [p for p in of if p in here_too] for job, of in here.depends_on.items()}
    jobs = JobTable(np.concatenate((here.data, coming)), parents)
    backfilling: Backfilling = known.backfilling
    # The runtimes are those of the futures.
    workload = Workload("future", known.cluster, jobs, jobs.walltime)
    new = np.full(len(again), -1)
    started = np.append(np.where(at.elapsed >= 0, at.now - at.elapsed, -1), new)
    promised = np.append(at.promised, new)
    going = Continued(workload, known.rule, backfilling, at.now, started, promised, known.origin, at.undecided)
    if known.due is not None:
        seen = (here.submit < at.now) & ~np.array([bool(parents.get(job)) for job in here.id.tolist()], bool)
        going.know_due(np.append(np.where(seen, known.due[at.active], UNSEEN), np.full(len(again), UNSEEN)))
    return going
