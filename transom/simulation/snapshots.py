"""Windows cut out of a replay: what the scheduler saw at an instant, with running jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from transom.errors import SpecError
from transom.heuristics.priority_rules import MaxWait, PriorityRule
from transom.models import JobTable, Window
from transom.models.arrays import BoolArray, IntArray
from transom.simulation.core.due_times import backlogs_of, due_in
from transom.simulation.core.events import NEVER
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.core.schedule import Schedule
from transom.simulation.core.site_order import clock_begins, load_rule, site_order
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.traces.workload import Workload


def snapshots(
    schedule: Schedule, every: int, order: str = "fcfs", minimum: int = 1, workload: Workload | None = None
) -> Iterator[Window]:
    """The windows of a schedule just before the first decision at or after each grid point.

    Parameters
    ----------
    schedule : a replay with its decisions.
    every : distance of the grid points, from the first decision on [s], > 0.
    order : priority rule that orders the queue of the windows.
    minimum : windows with fewer waiting jobs are left out.
    workload : what was replayed, for rules that count submissions from the first one of a trace; None: the schedule
        is of a whole trace.

    Raises
    ------
    SpecError : ``every`` or ``minimum`` is not positive.
    """
    if every <= 0 or minimum <= 0:
        raise SpecError(f"snapshots: every and minimum must be > 0, got {every} and {minimum}")
    rule = load_rule(order)
    times, queued = schedule.decisions["time"], schedule.decisions["queued"]
    origin = int(schedule.jobs.submit[0]) if len(schedule) else 0
    if workload is not None:
        origin = clock_begins(rule, workload)
    runs = None
    if schedule.cluster.topology is not None:
        runs = schedule.runs or assign_nodes(schedule)
    late = _overdue(rule, schedule)
    due = None
    for time, waiting in zip(times.tolist(), queued.tolist(), strict=True):
        if (due is None or time >= due) and waiting >= minimum:
            start = times[0] if due is None else due
            due = int(start + ((time - start) // every + 1) * every)
            window = window_at(schedule, time, runs)
            ranked = site_order(rule, window.queue, time, origin)
            if late is not None:
                first = late(window.queue, time)
                ranked = np.concatenate((np.flatnonzero(first), ranked[~first[ranked]]))
            yield _ordered(window, ranked)


def _overdue(rule: PriorityRule, schedule: Schedule) -> Callable[[JobTable, int], BoolArray] | None:
    """Which jobs of a queue by (submission, id) go to its head at an instant, where the rule goes by the backlog."""
    longest = rule.seconds if isinstance(rule, MaxWait) else NEVER
    if (backlogs := backlogs_of(rule)) is None:
        return None
    jobs = schedule.jobs
    due = due_in(backlogs, jobs, schedule.start, schedule.end, schedule.cluster.num_nodes)
    order = np.argsort(jobs.id)

    def late(queue: JobTable, now: int) -> BoolArray:
        at = order[np.searchsorted(jobs.id, queue.id, sorter=order)]
        found: BoolArray = (due[at] < now) | (now - queue.submit > longest)
        return found

    return late


def window_at(schedule: Schedule, now: int, runs: NodeRuns | None = None) -> Window:
    """What waited and ran at ``now``, after the events of that instant and before its decision.

    The queue is in the order of (submission, id); expected ends are start + walltime. On a cluster with a
    topology, ``runs`` are the nodes that jobs held; by default those of the schedule, else the lowest idle ids.
    """
    jobs, start, end = schedule.jobs, schedule.start, schedule.end
    known = int(np.searchsorted(jobs.submit, now, side="right"))
    waiting = np.flatnonzero(start[:known] >= now)
    if jobs.depends_on:
        ended = dict(zip(jobs.id.tolist(), end.tolist(), strict=True))
        ready = [all(ended[p] <= now for p in jobs.depends_on.get(j, ())) for j in jobs.id[waiting].tolist()]
        waiting = waiting[np.array(ready, dtype=bool)]
    running = np.flatnonzero((start[:known] < now) & (end[:known] > now))
    expected = np.maximum(start[running] + jobs.walltime[running], now + 1)
    order = np.lexsort((running, expected))
    running, expected = running[order], expected[order]
    used = np.append(jobs.nodes[running].sum(), jobs.demand[running].sum(axis=0))
    capacity = np.array([schedule.cluster.num_nodes, *schedule.cluster.capacities])
    idle = None
    if schedule.cluster.topology is not None:
        idle = _idle(schedule, runs or schedule.runs or assign_nodes(schedule), running)
    return Window(now, schedule.cluster, jobs.take(waiting), jobs.take(running), expected, capacity - used, idle)


def _idle(schedule: Schedule, runs: NodeRuns, running: IntArray) -> IntArray:
    free = np.ones(schedule.cluster.num_nodes, bool)
    for job in running.tolist():
        for run in range(runs.offsets[job], runs.offsets[job + 1]):
            free[runs.first[run] : runs.last[run] + 1] = False
    return np.flatnonzero(free)


def _ordered(window: Window, order: np.ndarray) -> Window:
    queue = window.queue.take(order)
    return replace(window, queue=queue)
