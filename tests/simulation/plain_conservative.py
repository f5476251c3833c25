"""Conservative backfilling over a plain list of steps, as it was before: slow, and compared with what is used now."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    DEMAND,
    ENDED,
    HELD,
    MODE,
    NEVER,
    NOW,
    QUEUED,
    RUNNING,
    START,
    WAKE,
    WALLTIME,
    State,
    launch,
    occupy,
)
from transom.simulation.core.replay import Replay
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.easy_backfill import fits
from transom.simulation.passes.free_profile import FreeProfile, add, earliest
from transom.traces import Workload

Passes = list[tuple[int, dict[int, int]]]


def replay(workload: Workload, rule: str = "fcfs", promises: bool = True) -> tuple[IntArray, IntArray, Passes]:
    """Starts and modes by job, and after every pass its instant and the begin of every reservation by job id."""
    made = Replay(workload, rule)
    s = made.state
    plan = new_plan(s)
    picks, modes = np.empty(len(s.jobs), np.int64), np.empty(len(s.jobs), np.int64)
    passes: Passes = []
    while made.advance():
        count = conservative_pass(s, plan, picks, modes)[0]
        launch(s.jobs, s.queue, s.ends, s.at, made.runtime, picks, modes, count)
        if promises:
            queue = s.queue[: s.at[QUEUED]]
            passes.append(
                (int(s.at[NOW]), dict(zip(made.ids[queue].tolist(), plan.begin[queue].tolist(), strict=True)))
            )
    return s.jobs[:, START].copy(), s.jobs[:, MODE].copy(), passes


class Plan(NamedTuple):
    """The reservations: ``begin`` per job (-1 for none), shape ``(jobs,)``, and the free profile.

    ``loose[0]`` is the end of what moved reservations left free behind jobs that had been looked
    at before them; a later compression must look there too. ``loose[1]`` says that the last plan was
    made behind a job past its walltime: it only guesses when that ends, so it is made afresh.
    ``peaks``: the most that is free at any time of the stretch that is being compressed.
    """

    begin: IntArray
    times: IntArray
    levels: IntArray
    size: IntArray
    loose: IntArray
    peaks: IntArray


def new_plan(state: State) -> Plan:
    """The plan before the first event: everything is free."""
    jobs, amounts = len(state.jobs), len(state.free)
    steps = 2 * jobs + 4
    plan = Plan(
        begin=np.full(jobs, -1, np.int64),
        times=np.zeros(steps, np.int64),
        levels=np.zeros((steps, amounts), np.int64),
        size=np.ones(1, np.int64),
        loose=np.zeros(2, np.int64),
        peaks=np.zeros(amounts, np.int64),
    )
    plan.times[0] = -NEVER
    plan.levels[0] = state.free
    return plan


@compiled
def conservative_pass(s, p, picks, modes):
    """Compress, reserve for the new jobs, start those whose reservation has come.

    Returns (number of starts, number of backfilled among them, the first job in queue order that
    keeps waiting or -1, the begin of its reservation or -1).
    """
    at = s.at
    now = at[NOW]
    trim(p.times, p.levels, p.size, now)
    freed = now
    for k in range(at[ENDED]):
        job = s.ended[k]
        end = s.jobs[job, START] + s.jobs[job, WALLTIME]
        if end > now:
            add(steps(p), now, end, s.jobs[job, DEMAND:], 1)
            freed = max(freed, end)
    at[ENDED] = 0
    overdue = at[RUNNING] > 0 and s.expected[0, 0] <= now
    if overdue or p.loose[1]:
        _replan(s, p)
    elif freed > now:
        _compress(s, p, freed)
    p.loose[1] = overdue
    for i in range(at[QUEUED]):
        job = s.queue[i]
        if p.begin[job] < 0:
            p.begin[job] = earliest(steps(p), s.jobs, job, NEVER, NEVER)
            _hold(s, p, job, -1)
    return _start_due(s, p, picks, modes, overdue)


@compiled
def steps(p: Plan) -> FreeProfile:
    return FreeProfile(p.times, p.levels, p.size)


@compiled
def _hold(s, p, job, sign):
    add(steps(p), p.begin[job], p.begin[job] + s.jobs[job, WALLTIME], s.jobs[job, DEMAND:], sign)


@compiled
def _compress(s, p, freed):
    # A job can only move to where something became free, so it need not look beyond `freed`.
    freed = max(freed, p.loose[0])
    p.loose[0] = 0
    highest(p.times, p.levels, p.size, freed, p.peaks)
    for i in range(s.at[QUEUED]):
        job = s.queue[i]
        old = p.begin[job]
        if old < 0 or not fits(s.jobs, job, p.peaks):
            continue
        end = old + s.jobs[job, WALLTIME]
        limit = min(old, freed)
        new = earliest(steps(p), s.jobs, job, limit, old)
        if new < limit:
            _hold(s, p, job, 1)
            p.begin[job] = new
            _hold(s, p, job, -1)
            freed = max(freed, end)
            p.loose[0] = max(p.loose[0], end)
            highest(p.times, p.levels, p.size, freed, p.peaks)


@compiled
def _replan(s, p):
    now = s.at[NOW]
    p.size[0] = 1
    p.times[0] = now
    p.levels[0] = s.free
    p.loose[0] = 0
    for i in range(s.at[RUNNING]):
        end = max(s.expected[i, 0], now + 1)
        add(steps(p), end, NEVER, s.jobs[s.expected[i, 1], DEMAND:], 1)
    for i in range(s.at[QUEUED]):
        p.begin[s.queue[i]] = -1


@compiled
def _start_due(s, p, picks, modes, overdue):
    at = s.at
    now = at[NOW]
    count = backfilled = 0
    first, first_begin = -1, -1
    wake = NEVER
    for i in range(at[QUEUED]):
        job = s.queue[i]
        begin = p.begin[job]
        if begin == now:
            occupy(s.jobs, s.expected, s.free, at, job)
            picks[count] = i
            if first >= 0:
                modes[count] = BACKFILLED
                backfilled += 1
            else:
                modes[count] = RESERVED if s.jobs[job, HELD] else READY
            count += 1
            continue
        s.jobs[job, HELD] = 1
        if first < 0:
            first, first_begin = job, begin
        # Behind an overdue job a reservation for the next second moves on with it: wait for its end.
        if not (overdue and begin == now + 1):
            wake = min(wake, begin)
    at[WAKE] = wake
    return count, backfilled, first, first_begin


@compiled
def trim(times, levels, size, now):
    """Forget all that lies before ``now``."""
    first = 0
    while first + 1 < size[0] and times[first + 1] <= now:
        first += 1
    if first:
        for i in range(first, size[0]):
            times[i - first] = times[i]
            for r in range(levels.shape[1]):
                levels[i - first, r] = levels[i, r]
        size[0] -= first
    times[0] = now


@compiled
def highest(times, levels, size, until, peaks):
    """Fill ``peaks`` with the most of each amount that is free at any time before ``until``."""
    peaks[:] = 0
    for i in range(size[0]):
        if times[i] >= until:
            return
        for r in range(len(peaks)):
            peaks[r] = max(peaks[r], levels[i, r])
