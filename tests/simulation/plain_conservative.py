"""Conservative backfilling by brute force over a list of steps: after an early end, all jobs are tried at all steps."""

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
from transom.traces import Workload

Passes = list[tuple[int, dict[int, int]]]


def replay(
    workload: Workload, rule: str = "fcfs", depth: int | None = None, promises: bool = True
) -> tuple[IntArray, IntArray, Passes]:
    """Starts and modes by job, and after every pass its instant and the begin of every reservation by job id.

    ``depth``: how many waiting jobs hold reservations, by default all.
    """
    made = Replay(workload, rule)
    s = made.state
    plan = new_plan(s, depth)
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
    """The reservations: ``begin`` per job (-1 for none), shape ``(jobs,)``, and what is free when.

    From ``times[i]`` until ``times[i + 1]`` the amounts ``levels[i]`` are free, the last of the ``size[0]`` steps
    for ever. ``guessed[0]``: whether the last plan was made behind a job past its walltime: it only guesses when that
    ends, so it is made afresh. ``depth[0]`` jobs may hold a reservation.
    """

    begin: IntArray
    times: IntArray
    levels: IntArray
    size: IntArray
    guessed: IntArray
    depth: IntArray


def new_plan(state: State, depth: int | None) -> Plan:
    """The plan before the first event: everything is free."""
    jobs, amounts = len(state.jobs), len(state.free)
    steps = 2 * jobs + 4
    plan = Plan(
        begin=np.full(jobs, -1, np.int64),
        times=np.zeros(steps, np.int64),
        levels=np.zeros((steps, amounts), np.int64),
        size=np.ones(1, np.int64),
        guessed=np.zeros(1, np.int64),
        depth=np.array([jobs if depth is None else depth]),
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
            add(p, now, end, s.jobs[job, DEMAND:], 1)
            freed = max(freed, end)
    at[ENDED] = 0
    overdue = at[RUNNING] > 0 and s.expected[0, 0] <= now
    if overdue or p.guessed[0]:
        _replan(s, p)
    else:
        for i in range(p.depth[0], at[QUEUED]):
            job = s.queue[i]
            if p.begin[job] >= 0:
                freed = max(freed, p.begin[job] + s.jobs[job, WALLTIME])
                _hold(s, p, job, 1)
                p.begin[job] = -1
        if freed > now:
            _compress(s, p, freed)
    p.guessed[0] = overdue
    held = 0
    for i in range(at[QUEUED]):
        job = s.queue[i]
        if p.begin[job] < 0:
            p.begin[job] = earliest(p, s.jobs, job)
            if held >= p.depth[0] and p.begin[job] > now:
                p.begin[job] = -1
                continue
            _hold(s, p, job, -1)
        held += p.begin[job] > now
    return _start_due(s, p, picks, modes, overdue)


@compiled
def _hold(s, p, job, sign):
    add(p, p.begin[job], p.begin[job] + s.jobs[job, WALLTIME], s.jobs[job, DEMAND:], sign)


@compiled
def _compress(s, p, freed):
    """Give each job in turn the earliest place beside all others, until a whole round moves nobody.

    ``freed``: from then on nothing has become free; who asks for more than there is anywhere before it cannot move.
    """
    most, moved = _most(p, freed), True
    while moved:
        moved = False
        for i in range(s.at[QUEUED]):
            job = s.queue[i]
            old = p.begin[job]
            if old < 0 or not _fits(s.jobs, job, most):
                continue
            _hold(s, p, job, 1)
            p.begin[job] = earliest(p, s.jobs, job)
            _hold(s, p, job, -1)
            if p.begin[job] != old:
                moved = True
                freed = max(freed, old + s.jobs[job, WALLTIME])
                most = _most(p, freed)


@compiled
def _most(p, until):
    """The most of each amount that is free at any time before an instant."""
    most = p.levels[0].copy()
    for i in range(1, p.size[0]):
        if p.times[i] >= until:
            break
        for r in range(len(most)):
            most[r] = max(most[r], p.levels[i, r])
    return most


@compiled
def _replan(s, p):
    now = s.at[NOW]
    p.size[0] = 1
    p.times[0] = now
    p.levels[0] = s.free
    for i in range(s.at[RUNNING]):
        end = max(s.expected[i, 0], now + 1)
        add(p, end, NEVER, s.jobs[s.expected[i, 1], DEMAND:], 1)
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
        if begin < 0:
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
def add(p, begin, end, amounts, sign):
    """So much more, or less, is free in ``[begin, end)``."""
    low, high = _step(p, begin), _step(p, end)
    for i in range(low, high):
        for r in range(len(amounts)):
            p.levels[i, r] += sign * amounts[r]
    _join(p, high)
    _join(p, low)


@compiled
def _step(p, time):
    """The step that begins at an instant, made if need be."""
    i = int(np.searchsorted(p.times[: p.size[0]], time))
    if i < p.size[0] and p.times[i] == time:
        return i
    for k in range(p.size[0], i, -1):
        p.times[k] = p.times[k - 1]
        for r in range(p.levels.shape[1]):
            p.levels[k, r] = p.levels[k - 1, r]
    p.times[i] = time
    for r in range(p.levels.shape[1]):
        p.levels[i, r] = p.levels[i - 1, r]
    p.size[0] += 1
    return i


@compiled
def _join(p, i):
    """Remove step ``i`` if it equals the one before."""
    for r in range(p.levels.shape[1]):
        if i == 0 or p.levels[i, r] != p.levels[i - 1, r]:
            return
    p.size[0] -= 1
    for k in range(i, p.size[0]):
        p.times[k] = p.times[k + 1]
        for r in range(p.levels.shape[1]):
            p.levels[k, r] = p.levels[k + 1, r]


@compiled
def _fits(jobs, job, amounts):
    for r in range(len(amounts)):  # noqa: SIM110  (a generator is slower when compiled)
        if jobs[job, DEMAND + r] > amounts[r]:
            return False
    return True


@compiled
def earliest(p, jobs, job):
    """The first step from which on a job has room for its walltime; there is one, as the last step is all free."""
    i = j = 0
    while j < p.size[0] and p.times[j] < p.times[i] + jobs[job, WALLTIME]:
        if not _fits(jobs, job, p.levels[j]):
            i = j + 1
        j += 1
    return p.times[i]
