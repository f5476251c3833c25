"""One pass of Slurm's scheduling, compiled: the main scheduler, then, where its time has come, a backfill cycle.

The main scheduler leaves partitions alone in which a job does not fit, and those that share nodes with them. A job
that a limit does not allow is passed over and holds back nobody.

A cycle makes its reservations from nothing. Each goes from the earliest start of a job to its end by the walltime, both
rounded down to a multiple of the resolution. Slurm reserves certain nodes; here they are counted. Before the start, a
reservation holds as many nodes as it needs beside those that become free until then. What is left in the queue is
looked at again at the next cycle, for which the replay is woken.

Where administrators reserve nodes (:mod:`~transom.simulation.passes.slurm_reservations`), both look at the whole time
for which a job asks. A job that waits for its reservation holds back nobody but others of that reservation.

Maintenance of nodes that is announced is in the profile of a cycle. The main scheduler starts no job that would run
into it: such limits stand beside the resources. Where jobs share nodes, one for which no node has room waits as well.

Where the leaf switches of nodes are known, cycles reserve single nodes (:mod:`~transom.simulation.passes.slurm_nodes`)
instead of numbers of them.

Most cycles change nothing. One that would repeat the one before is listed but not made
(:mod:`~transom.simulation.passes.slurm_repeats`), and one that is made ends behind the last job that fits into what is
idle now.
"""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import compiled, inlined, no_refcount
from transom.models.arrays import IntArray
from transom.simulation.core.events import (
    CHANGES,
    DEMAND,
    HELD,
    NEVER,
    NOW,
    QUEUED,
    RUNNING,
    WAKE,
    WALLTIME,
    State,
    advance,
    launch,
    occupy,
)
from transom.simulation.core.queue_order import QueueOrder, reorder
from transom.simulation.core.schedule import BACKFILLED, READY, RESERVED
from transom.simulation.passes.availability import TAKEN, Profile, add, earliest, level_at
from transom.simulation.passes.easy_backfill import fits
from transom.simulation.passes.rule_replay import after, before
from transom.simulation.passes.service_plan import next_instant
from transom.simulation.passes.shared_nodes import SharedNodes, count_taken, fits_on_nodes, take_nodes
from transom.simulation.passes.slurm_limits import Limits, allowed, count_held, hold
from transom.simulation.passes.slurm_nodes import (
    SAME,
    NodePlan,
    begin_plan,
    choose_idle,
    earliest_on_nodes,
    reserve,
    take_chosen,
)
from transom.simulation.passes.slurm_priority import Priorities, note_starts, order_by_priority
from transom.simulation.passes.slurm_repeats import BEGIN, HEAD, UNTIL, LastCycle, keep_cycle, repeats
from transom.simulation.passes.slurm_reservations import (
    ORDINARY,
    Reserved,
    earliest_of,
    enter_running,
    line_of,
    next_change,
    until,
)


class Terms(NamedTuple):
    """Jobs that a cycle and the main scheduler look at, three times [s], and whether the queue keeps its order."""

    depth: int
    queue: int
    interval: int
    resolution: int
    window: int
    steady: bool


class Tables(NamedTuple):
    """What passes read and write beside the state of ``n`` jobs.

    ``runtime`` [s] and ``ids`` ``(n,)``; ``log``: a column per pass; ``picks`` and ``modes`` ``(n,)``: the jobs
    that a pass starts, and how; ``profile``: what is free when, of the resources and of ``K`` reservations by
    administrators in ``P`` amounts; ``early`` and ``asked`` ``(1, DEMAND + 1 + R + K * P)``: a row of a job that
    asks for what a reservation holds before its start, and one of the job that is looked at; ``group`` ``(n,)``:
    jobs whose partitions share nodes have the same number; ``blocked``: whether one of them does not fit, or one of
    a reservation; ``limits``: of users, accounts and QOS; ``passed`` ``(rows, 3)``: in each pass, how many jobs
    limits held back, the first of them, and what held it back; ``reserved``: by administrators; ``shared``: the
    nodes that jobs share; ``plan``: of single nodes; ``last``: the last cycle.
    """

    runtime: IntArray
    ids: IntArray
    log: IntArray
    picks: IntArray
    modes: IntArray
    profile: Profile
    early: IntArray
    asked: IntArray
    group: IntArray
    blocked: IntArray
    limits: Limits
    passed: IntArray
    reserved: Reserved
    shared: SharedNodes
    plan: NodePlan
    last: LastCycle


@compiled
def run_slurm(
    s: State,
    order: QueueOrder | None,
    priorities: Priorities | None,
    terms: Terms,
    t: Tables,
    row: int,
    until: int,
    arrived: bool,
) -> tuple[int, bool]:
    """Pass after pass until ``row`` reaches ``until`` or the trace ends; (row, whether there is more).

    ``order`` or ``priorities``, if they are not None, order the queue before each pass. ``arrived`` says that the
    events of the first pass have been taken in, and its queue is in the order of the rule.
    """
    while row < until:
        if not arrived:
            if not advance(s.jobs, s.queue, s.ends, s.expected, s.ended, s.free, s.children, s.at):
                return row, False
            if order is not None:
                reorder(order, s.jobs, s.queue, s.expected, s.ended, s.free, s.at)
        arrived = False
        if priorities is not None:
            order_by_priority(s, priorities)
        before(t.log, row, s.at, s.free)
        cycle = s.at[NOW] % terms.interval == 0
        if cycle and repeats(s, t.last):
            count = 0
            after(t.log, row, 0, 0, t.last.at[HEAD], t.last.at[BEGIN], t.ids)
            for k in range(t.passed.shape[1]):
                t.passed[row, k] = t.last.passed[k]
        else:
            count, backfilled, head, begin = slurm_pass(s, terms, t, t.passed[row], cycle)
            if priorities is not None:
                note_starts(s, priorities, t.picks, count)
            launch(s.jobs, s.queue, s.ends, s.at, t.runtime, t.picks, t.modes, count)
            after(t.log, row, count, backfilled, head, begin, t.ids)
            if cycle and count == 0 and len(t.plan.idle) == 0:
                keep_cycle(s, t.last, t.passed[row], head, begin)
        if s.at[QUEUED]:
            change = next_change(s, t.reserved)
            if terms.steady and cycle and count == 0 and len(t.plan.idle) > 0:
                # Until then a further cycle would plan the same, and start nobody.
                s.at[WAKE] = -(-max(t.plan.made[SAME], s.at[NOW] + 1) // terms.interval) * terms.interval
            elif s.at[RUNNING] or s.at[NOW] % terms.interval:
                s.at[WAKE] = (s.at[NOW] // terms.interval + 1) * terms.interval
            elif change < NEVER:  # until then a further cycle would start nobody
                s.at[WAKE] = -(-change // terms.interval) * terms.interval
        row += 1
    return row, True


@no_refcount
def slurm_pass(s: State, terms: Terms, t: Tables, passed: IntArray, cycle: bool) -> tuple[int, int, int, int]:
    """Start what the main scheduler starts and, with ``cycle``, what a backfill cycle starts.

    Returns
    -------
    (number of starts, number of backfilled among them, the first job that does not fit or -1, its reservation [s] or
    -1). Jobs that start are placed in the state; ``picks`` and ``modes`` say which they are.
    """
    passed[0] = 0
    count_held(s, t.limits)
    count_taken(s, t.shared)
    begin_plan(s, t.plan)
    count, waiting = _start_in_order(s, terms, t, passed), s.at[QUEUED]
    if count == waiting or not cycle:
        return count, 0, -1, -1
    heads, now, head, begin = count, s.at[NOW], -1, -1
    before_it, tested, planned = 0, 0, len(t.reserved.end) > 0  # heads, jobs that wait, and whether nodes are reserved
    single = len(t.plan.idle) > 0
    limited, fitting = len(t.limits.most) > 0, min(waiting, heads + terms.depth) - 1
    t.last.at[UNTIL] = next_change(s, t.reserved) - 1
    if not single:
        enter_running(s, t.reserved, t.profile, t.asked)
    for i in range(waiting):
        # Behind the last job that fits into what is idle, nobody starts: no further reservation matters.
        while not single and fitting >= i and not fits(s.jobs, s.queue[fitting], s.free):
            fitting -= 1
        over = not single and head >= 0 and i > fitting
        if over and not limited:
            break
        if before_it < heads and t.picks[before_it] == i:
            before_it += 1
            continue
        if tested == terms.depth:
            break
        job, tested = s.queue[i], tested + 1
        if not allowed(s, t.limits, job, passed) or over:
            continue
        used = ORDINARY
        if single:
            start = earliest_on_nodes(s, t.plan, job, now, terms.resolution)
        elif planned:
            used, start = earliest_of(s, t.reserved, t.profile, t.asked, t.shared, job)
        else:
            start = earliest(t.profile, s.jobs, job, now, NEVER, NEVER)
            if start == now and (s.at[CHANGES] > 0 or len(t.shared.free) > 0) and not _fits(s, t, job):
                # The idle nodes leave too soon, or none of them has room.
                start = earliest(t.profile, s.jobs, job, next_instant(s.expected, s.at, 0, 0), NEVER, NEVER)
        starts = start == now and (single or _fits(s, t, job))
        if starts:
            t.picks[count], t.modes[count] = i, RESERVED if head < 0 and s.jobs[job, HELD] else BACKFILLED
            _place(s, t, job, used)
            count += 1
        elif head < 0:
            head, begin = job, start if start < NEVER else -1
            s.jobs[job, HELD] = 1
        if single:
            if not starts and start < now + terms.window:
                reserve(s, t.plan, job, start, terms.resolution)
            elif not starts:
                t.plan.made[SAME] = min(t.plan.made[SAME], start - terms.window + 1)
        elif start < now + terms.window:
            end = (start + s.jobs[job, WALLTIME]) // terms.resolution * terms.resolution
            rounded = start // terms.resolution * terms.resolution
            t.last.at[UNTIL] = min(t.last.at[UNTIL], rounded)
            end, rounded = max(end, start + terms.resolution), max(rounded, now)
            if planned:
                _block_early(t.asked, t, 0, start, rounded)
                add(t.profile, t.asked, 0, start, until(t.reserved, used, end), TAKEN)
            else:
                _block_early(s.jobs, t, job, start, rounded)
                add(t.profile, s.jobs, job, start, end, TAKEN)
        else:
            t.last.at[UNTIL] = min(t.last.at[UNTIL], start - terms.window)
    backfilled = 0
    for k in range(heads, count):
        backfilled += t.modes[k] == BACKFILLED
    _merge(t, heads, count)
    return count, backfilled, head, begin


@no_refcount
def _start_in_order(s: State, terms: Terms, t: Tables, passed: IntArray) -> int:
    """Start jobs in the order of the queue, of each group up to the first that does not fit; how many there are."""
    count, open_groups, now = 0, len(t.blocked), s.at[NOW]
    groups, planned = len(t.blocked) - len(t.reserved.end), len(t.reserved.end) > 0
    t.blocked[:] = 0
    if planned:
        enter_running(s, t.reserved, t.profile, t.asked)
    for i in range(min(s.at[QUEUED], terms.queue)):
        job = s.queue[i]
        line = line_of(s, t.reserved, job, t.group[job], groups) if planned else t.group[job]
        if t.blocked[line] or not allowed(s, t.limits, job, passed):
            continue
        used, start = ORDINARY, now
        if planned:
            used, start = earliest_of(s, t.reserved, t.profile, t.asked, t.shared, job)
        if start == now and _fits(s, t, job):
            t.picks[count], t.modes[count] = i, RESERVED if s.jobs[job, HELD] else READY
            _place(s, t, job, used)
            if planned:
                add(t.profile, t.asked, 0, now, until(t.reserved, used, now + s.jobs[job, WALLTIME]), TAKEN)
            count += 1
            continue
        t.blocked[line] = 1
        open_groups -= 1
        if open_groups == 0:
            break
    return count


@inlined
def _fits(s: State, t: Tables, job: int) -> bool:
    return fits(s.jobs, job, s.free) and fits_on_nodes(t.shared, job) and choose_idle(s, t.plan, job)


@inlined
def _place(s: State, t: Tables, job: int, used: int) -> None:
    occupy(s.jobs, s.expected, s.free, s.at, job)
    take_nodes(t.shared, job)
    take_chosen(s, t.plan, job)
    hold(t.limits, job)
    t.reserved.within[job] = used


@no_refcount
def _merge(t: Tables, first: int, count: int) -> None:
    """Bring picks in the order of the queue; those before ``first`` and those from there are so already."""
    for k in range(first, count):
        pick, mode, i = t.picks[k], t.modes[k], k
        while i > 0 and t.picks[i - 1] > pick:
            t.picks[i], t.modes[i] = t.picks[i - 1], t.modes[i - 1]
            i -= 1
        t.picks[i], t.modes[i] = pick, mode


@no_refcount
def _block_early(jobs: IntArray, t: Tables, job: int, start: int, rounded: int) -> None:
    """Take what a reservation holds from its rounded start to the real one."""
    if rounded >= start:
        return
    taken = False
    for r in range(t.profile.steps.shape[1] - 1):
        coming = level_at(t.profile, start, r) - level_at(t.profile, rounded, r)
        t.early[0, DEMAND + r] = max(jobs[job, DEMAND + r] - max(coming, 0), 0)
        taken = taken or t.early[0, DEMAND + r] > 0
    if taken:  # else the profile would only grow by steps that equal the ones before
        add(t.profile, t.early, 0, rounded, start, TAKEN)
