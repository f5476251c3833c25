"""Replays that go on from an instant: the running jobs run on, as long as each future says, and the waiting jobs wait.

Nothing else of the past matters to a priority rule, with one exception: under conservative backfilling the waiting
jobs hold reservations, which are taken over.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.errors import SpecError
from transom.heuristics.priority_rules import PriorityRule
from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.decision import Backfilling
from transom.simulation.core.events import START, State, reset
from transom.simulation.core.queue_order import QueueOrder, begin_future, queue_order
from transom.simulation.core.replay import new_state
from transom.simulation.core.schedule import COLUMNS
from transom.simulation.core.site_order import load_rule, name_of_rule, rule_for, site_order
from transom.simulation.passes.conservative_plan import Plan, new_plan, restore_plan
from transom.simulation.passes.rule_replay import Tables, run_conservative, run_plain_or_easy
from transom.traces.workload import Workload

_PASSES = 8  # between two looks at whether all that was asked for has started


class Continued:
    """A replay of a priority rule that stands between two passes.

    Parameters
    ----------
    workload : the running and the waiting jobs and those that are still to be submitted; runtimes are not read.
    rule, backfilling : of the policy.
    now : the instant [s]; jobs submitted at it are still to come.
    started : when each job started, -1 for those that have not, shape ``(jobs,)`` [s].
    promised : the reservation of each waiting job, -1 for none, shape ``(jobs,)`` [s]; for conservative backfilling.
    origin : when the clock of the rule began [s].
    undecided : whether a pass is due now, with or without an event.

    Raises
    ------
    SpecError : the rule can be asked in Python alone.
    """

    def __init__(
        self,
        workload: Workload,
        rule: str | PriorityRule,
        backfilling: Backfilling,
        now: int,
        started: IntArray,
        promised: IntArray | None = None,
        origin: int = 0,
        undecided: bool = False,
    ) -> None:
        jobs, n = workload.jobs, len(workload)
        self._backfilling = backfilling
        self._promised = np.full(n, -1) if promised is None else promised
        loaded, max_wait = rule_for(load_rule(rule), workload)
        self._order: QueueOrder | None = queue_order(loaded, jobs, origin)
        if not loaded.timeless and self._order is None:
            raise SpecError(f"priority rule {rule!r} has no kernel, which a replay from the middle needs")
        if past := {"user_use", "predicted"}.intersection(getattr(getattr(loaded, "formula", None), "names", ())):
            raise SpecError(f"{name_of_rule(rule)}: {min(past)} is not known in a replay from the middle")
        self._origin = new_state(workload)
        s = self._origin
        if loaded.timeless:
            s.jobs[site_order(loaded, jobs, origin, origin), events.RANK] = np.arange(n)
        else:
            s.jobs[:, events.RANK] = 0  # new jobs stay at the end of the queue until it is ordered
        running = np.flatnonzero(started >= 0)
        ends = started[running] + jobs.walltime[running]
        running, ends = running[order := np.lexsort((running, ends))], ends[order]
        s.jobs[running, events.START] = started[running]
        s.expected[: len(running)] = np.column_stack((ends, running))
        s.free[:] -= s.jobs[running, events.DEMAND :].sum(axis=0)
        submitted = int(np.searchsorted(jobs.submit, now))
        waits = (started[:submitted] < 0) & (s.jobs[:submitted, events.PARENTS] == 0)
        queue = np.flatnonzero(waits)
        queue = queue[np.argsort(s.jobs[queue, events.RANK], kind="stable")]
        s.queue[: len(queue)] = queue
        at = s.at
        at[events.NOW], at[events.NEXT] = now, submitted
        at[events.QUEUED], at[events.RUNNING], at[events.STARTED] = len(queue), len(running), len(running)
        at[events.SMALLEST] = jobs.nodes[queue].min(initial=workload.cluster.num_nodes)
        at[events.MAX_WAIT] = max_wait
        if undecided:
            at[events.WAKE] = now
        self._state = State(*(each.copy() for each in s))
        log = np.empty((len(COLUMNS), _PASSES), np.int64)
        picks, modes, extra = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(len(s.free), np.int64)
        self._tables = Tables(np.empty(n, np.int64), np.ascontiguousarray(jobs.id), log, picks, modes, extra)

    def know_due(self, due: IntArray) -> None:
        """Say when jobs are due, for rules that go by it: shape ``(jobs,)`` [s], ``UNSEEN`` of those not seen yet."""
        if self._order is not None and len(self._order.due.known):
            self._order.due.known[:] = due

    def starts(self, runtimes: IntArray, targets: IntArray, depth: int | None = None) -> IntArray:
        """When jobs start in each future.

        Parameters
        ----------
        runtimes : how long each job runs in each future, shape ``(futures, jobs)`` [s].
        targets : the jobs that are asked for; a future is left where all have started.
        depth : how many jobs may hold a reservation under conservative backfilling, by default all.

        Returns
        -------
        Their starts, shape ``(futures, targets)`` [s].
        """
        found = np.empty((len(runtimes), len(targets)), np.int64)
        easy, s, t = self._backfilling == "easy", self._state, self._tables
        if self._backfilling != "conservative":
            run_futures(s, self._origin, easy, self._order, t, runtimes, targets, found)
            return found
        for k in range(len(runtimes)):
            reset(s, self._origin, runtimes[k])
            plan = new_plan(s, depth=depth)
            restore_plan(s, plan, self._promised)
            run_planned(s, plan, self._order, t, runtimes[k], targets, found[k])
        return found


@compiled
def run_futures(
    s: State,
    origin: State,
    easy: bool,
    order: QueueOrder | None,
    t: Tables,
    runtimes: IntArray,
    targets: IntArray,
    found: IntArray,
) -> None:
    """Replay futures without or with EASY backfilling until the targets have started; fills ``found``."""
    for k in range(len(runtimes)):
        for job in range(len(s.jobs)):
            t.runtime[job] = runtimes[k, job]
        reset(s, origin, t.runtime)
        if order is not None:
            begin_future(order, s)
        i, more = 0, True
        while more and i < len(targets):
            _, more = run_plain_or_easy(s, easy, None, order, t, 0, _PASSES, False)
            while i < len(targets) and s.jobs[targets[i], START] >= 0:
                i += 1
        for i in range(len(targets)):
            found[k, i] = s.jobs[targets[i], START]


@compiled
def run_planned(
    s: State, p: Plan, order: QueueOrder | None, t: Tables, runtime: IntArray, targets: IntArray, found: IntArray
) -> None:
    """Replay one future with conservative backfilling until the targets have started; fills ``found``."""
    for job in range(len(s.jobs)):
        t.runtime[job] = runtime[job]
    if order is not None:
        begin_future(order, s)
    i, more = 0, True
    while more and i < len(targets):
        _, more = run_conservative(s, p, order, t, 0, _PASSES, False)
        while i < len(targets) and s.jobs[targets[i], START] >= 0:
            i += 1
    for i in range(len(targets)):
        found[i] = s.jobs[targets[i], START]
