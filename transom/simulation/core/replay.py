"""A replay in progress: its state, the window that a policy sees of it, and how decisions change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from transom.errors import PolicyError
from transom.heuristics.priority_rules import MaxWait, PriorityRule
from transom.models import JobTable, Window
from transom.models.arrays import IntArray
from transom.simulation.core import events
from transom.simulation.core.decision import Decision, Reservation
from transom.simulation.core.event_kinds import JobEvents, Source, take_next
from transom.simulation.core.events import State, advance, advance_to_tick, launch, overtake, place
from transom.simulation.core.formula_scores import hold_started
from transom.simulation.core.queue_order import queue_order, reorder
from transom.simulation.core.schedule import BACKFILLED, READY, Schedule
from transom.simulation.core.site_order import clock_begins, load_rule, rule_for, site_order
from transom.traces.origin import Diagnostic
from transom.traces.workload import Workload

Progress = Callable[[int], None]
"""Called now and then with the number of jobs that have started."""


class NodeTracker(Protocol):
    """Who gives nodes to the jobs of a replay; jobs are numbered by their place in the workload."""

    def idle(self) -> IntArray:
        """Ids of the idle nodes, ascending, read-only."""

    def release(self, jobs: IntArray) -> None:
        """Take back the nodes of jobs that ended."""

    def start(self, now: int, jobs: IntArray, stated: Mapping[int, Sequence[int]]) -> None:
        """Give nodes to jobs that start: those stated by job id, else what is found for them."""


class ServiceKeeper(NodeTracker, Source, Protocol):
    """A keeper of nodes that go out of service and come back, which are events of the replay."""

    columns: int
    """How many limits on what runs beyond an instant stand beside the resources."""

    room: int
    """What is known ahead takes so many numbers behind the counters."""

    def attach(self, state: State) -> None:
        """Go on with the state of a replay before its first event."""

    def allocate_started(self) -> None:
        """Give nodes to the jobs that the last pass has started."""

    def prepare(self) -> None:
        """Before a pass, say what limits the jobs that would run beyond the begin of maintenance, and how far compiled
        loops may go from there."""

    def lasts(self, nodes: Sequence[int], until: int) -> bool:
        """Whether, as far as is known, these nodes stay in service before an instant [s]."""

    def idle_for_ever(self) -> bool:
        """Whether all nodes are in service, and nothing but failures is to come."""


class Replay:
    """A replay in progress: the state, and the window a policy sees of it.

    ``period`` [s]: stop at its multiples alone. With a ``tracker`` of nodes, jobs get them as they start; where nodes
    go out of service it is the ``service``, and the replay is ``stepwise``: the events of every instant at which it has
    something to do are taken in by :meth:`advance`. ``order`` orders the queue anew before each pass, if the rule has a
    kernel for that.
    """

    def __init__(
        self,
        workload: Workload,
        order: str | PriorityRule,
        period: int | None = None,
        tracker: NodeTracker | None = None,
        service: ServiceKeeper | None = None,
    ) -> None:
        jobs = workload.jobs
        self.workload = workload
        self.jobs = jobs
        self.ids = np.ascontiguousarray(jobs.id)
        self.cluster = workload.cluster
        self.runtime = workload.runtime
        self.rule, max_wait = rule_for(load_rule(order), workload)
        self.origin = clock_begins(self.rule, workload)
        self.order = queue_order(self.rule, jobs, self.origin)
        self.state = new_state(workload, *((0, 0) if service is None else (service.columns, service.room)))
        self.state.at[events.MAX_WAIT] = max_wait
        self.period = period
        self.tracker = tracker if service is None else service
        self.service = service
        self._tick = 0
        self._released = 0
        if self.rule.timeless and len(jobs):
            ranked = site_order(self.rule, jobs, self.origin, self.origin)
            self.state.jobs[ranked, events.RANK] = np.arange(len(jobs))
            _sort_children(self.state)
        elif not self.rule.timeless:
            self.state.jobs[:, events.RANK] = 0  # new jobs stay at the end of the queue until it is ordered
        if service is not None:
            service.attach(self.state)
            self._sources = (JobEvents(self.state, service.release), service)

    @property
    def stepwise(self) -> bool:
        """Whether events other than those of jobs happen."""
        return self.service is not None

    def advance(self) -> bool:
        """Go to the next instant at which somebody waits; False at the end of the trace."""
        if self.service is not None:
            if self.order is not None and self.order.program is not None:
                hold_started(self.order.program, self.state.jobs)
            if not self._advance_by_kinds(self.service):
                return False
        elif self.period is not None:
            if not advance_to_tick(self.state, self.period, self._tick):
                return False
            self._tick = int(self.state.at[events.NOW]) + self.period
        elif not advance(*self.state):
            return False
        if self.period is not None:  # no event happens at a tick
            overtake(self.state.jobs, self.state.queue, self.state.at)
        if self.tracker is not None and self.service is None:
            ended = int(self.state.at[events.ENDED])
            self.tracker.release(self.state.ended[self._released : ended])
            self._released = ended
        if not self.rule.timeless:
            self._reorder()
        return True

    def _reorder(self) -> None:
        s = self.state
        if self.order is not None:
            reorder(self.order, s.jobs, s.queue, s.expected, s.ended, s.free, s.at)
            return
        s.at[events.PASSED] = 0
        queue, now = np.sort(s.queue[: s.at[events.QUEUED]]), int(s.at[events.NOW])
        rule = MaxWait(self.rule, int(s.at[events.MAX_WAIT])) if s.at[events.MAX_WAIT] else self.rule
        s.queue[: len(queue)] = queue[site_order(rule, self.jobs.take(queue), now, self.origin)]

    def _advance_by_kinds(self, service: ServiceKeeper) -> bool:
        at, n = self.state.at, len(self.jobs)
        service.allocate_started()
        over = not at[events.ENDING] and at[events.NEXT] == n and at[events.WAKE] == events.NEVER
        if at[events.QUEUED] and over and service.idle_for_ever():
            return False  # nothing that could come helps those whom the last pass left
        tick = int(events.NEVER) if self.period is None else self._tick
        while at[events.QUEUED] or at[events.ENDING] or at[events.NEXT] < n:
            until = tick if at[events.QUEUED] else int(events.NEVER)
            if not take_next(self._sources, at, until):
                if self.period is None:
                    return False
                at[events.NOW] = tick
                break
            if not at[events.QUEUED]:
                continue
            if self.period is None:
                break
            tick = max(tick, -(-int(at[events.NOW]) // self.period) * self.period)
        else:
            return False
        if self.period is not None:
            self._tick = tick + self.period
        service.prepare()
        return True

    def window(self) -> Window:
        """What a policy may see now: copies, and nothing of the future."""
        state, jobs = self.state, self.jobs
        now, _, queued, running = state.at[:4].tolist()
        running_end = np.maximum(state.expected[:running, 0], now + 1)
        available = state.free[: 1 + len(self.cluster.resources)].copy()
        running_end.flags.writeable = available.flags.writeable = False
        return Window._trusted(
            now,
            self.cluster,
            jobs.take(state.queue[:queued]),
            jobs.take(state.expected[:running, 1]),
            running_end,
            available,
            None if self.tracker is None or self.cluster.topology is None else self.tracker.idle(),
        )

    def schedule(self, label: str, decisions: dict[str, NDArray[Any]]) -> Schedule:
        """What a replay has come to, with its decisions by column, under the policy's name."""
        jobs = self.state.jobs
        return Schedule(
            policy=label,
            workload=self.workload.name,
            cluster=self.cluster,
            jobs=self.jobs,
            start=jobs[:, events.START],
            end=jobs[:, events.END],
            mode=jobs[:, events.MODE],
            order=jobs[:, events.ORDER],
            decisions=decisions,
            diagnostics=(*self.workload.diagnostics, *self._odd_scores()),
            logged=self.workload.origin.started,
            epoch=self.workload.origin.epoch,
        )

    def _odd_scores(self) -> list[Diagnostic]:
        odd = np.flatnonzero(getattr(self.rule, "odd", False))
        if not odd.size:
            return []
        short = f"{odd.size:,} {'job' if odd.size == 1 else 'jobs'} without a finite score"
        return [Diagnostic(short, f"{short} by the formula, the first is job {self.ids[odd[0]]}: they come last")]

    def apply(self, decision: Decision, log: IntArray) -> None:
        """Carry out a decision and fill its row of the log.

        Raises
        ------
        PolicyError : a job is not waiting or does not fit, or the nodes stated for it are not idle.
        """
        state = self.state
        if self.service is not None:
            decision = self._without_those_that_run_into_maintenance(decision, self.service)
        chosen = decision.start + decision.backfill
        if decision.nodes:
            self._check_stated(decision)
        reserve = decision.reserve
        log[:3] = state.at[events.NOW], state.at[events.QUEUED], state.free[0]
        log[3:5] = len(chosen), len(decision.backfill)
        log[5:] = (reserve[0].job, reserve[0].start) if reserve else (-1, -1)
        if chosen:
            count = len(chosen)
            modes = np.full(count, READY, np.int64)
            modes[len(decision.start) :] = BACKFILLED
            picks = np.empty(count, np.int64)
            fault = place(state, self.ids, np.array(chosen, np.int64), picks, modes)
            if fault >= 0:
                raise PolicyError(f"at {state.at[events.NOW]} s: job {chosen[fault]} is started but does not wait")
            if fault < -1:
                further = "".join(f", {name}" for name in self.cluster.resources)
                limits = f" (what limits jobs: nodes{further})" if further else ""
                raise PolicyError(
                    f"at {state.at[events.NOW]} s: job {chosen[-2 - fault]} is started but does not fit{limits}"
                )
            if self.tracker is not None:
                self.tracker.start(int(state.at[events.NOW]), state.queue[picks], decision.nodes)
            launch(state.jobs, state.queue, state.ends, state.at, self.runtime, picks, modes, count)
        if reserve:
            state.jobs[self._waiting(reserve), events.HELD] = 1

    def _without_those_that_run_into_maintenance(self, decision: Decision, service: ServiceKeeper) -> Decision:
        """The decision without jobs that by their walltimes would run into announced maintenance: they wait."""
        s, now = self.state, int(self.state.at[events.NOW])
        queue = s.queue[: s.at[events.QUEUED]]
        place_of = dict(zip(self.ids[queue].tolist(), queue.tolist(), strict=True))
        left, held = s.free[len(s.free) - service.columns :].copy(), set()
        for job in dict.fromkeys(decision.start + decision.backfill):
            if job not in place_of:
                continue  # an error that is reported where it is placed
            row = s.jobs[place_of[job]]
            asked = row[len(row) - service.columns :]
            nodes = decision.nodes.get(job, ())
            if (asked > left).any() or (nodes and not service.lasts(nodes, now + int(row[events.WALLTIME]))):
                held.add(job)
            else:
                left -= asked
        if not held:
            return decision
        return replace(
            decision,
            start=tuple(job for job in decision.start if job not in held),
            backfill=tuple(job for job in decision.backfill if job not in held),
            nodes={job: nodes for job, nodes in decision.nodes.items() if job not in held},
        )

    def _check_stated(self, decision: Decision) -> None:
        now = self.state.at[events.NOW]
        if self.cluster.topology is None:
            raise PolicyError(f"at {now} s: nodes are stated for jobs, but the cluster has no topology")
        odd = decision.nodes.keys() - set(decision.start + decision.backfill)
        if odd:
            raise PolicyError(f"at {now} s: nodes are stated for job {min(odd)}, which is not started")

    def _waiting(self, reserve: Sequence[Reservation]) -> list[int]:
        queue = self.state.queue[: self.state.at[events.QUEUED]]
        place_of = dict(zip(self.ids[queue].tolist(), queue.tolist(), strict=True))
        for reservation in reserve:
            if reservation.job not in place_of:
                now = self.state.at[events.NOW]
                raise PolicyError(f"at {now} s: job {reservation.job} is reserved but does not wait")
        return [place_of[reservation.job] for reservation in reserve]


def new_state(workload: Workload, limits: int = 0, room: int = 0) -> State:
    """The state before the first event; jobs rank as they stand."""
    table, n = workload.jobs, len(workload)
    free = np.array([workload.cluster.num_nodes, *workload.cluster.capacities, *[0] * limits], np.int64)
    jobs = np.zeros((n, events.DEMAND + len(free)), np.int64)
    jobs[:, events.SUBMIT] = table.submit
    jobs[:, events.WALLTIME] = table.walltime
    jobs[:, events.RANK] = np.arange(n)
    jobs[:, [events.START, events.END, events.ORDER]] = -1
    jobs[:, events.DEMAND] = table.nodes
    jobs[:, events.DEMAND + 1 : events.DEMAND + len(free) - limits] = table.demand
    state = State(
        jobs=jobs,
        queue=np.empty(n, np.int64),
        ends=np.empty((n, 2), np.int64),
        expected=np.empty((n, 2), np.int64),
        ended=np.empty(n, np.int64),
        free=free,
        children=_list_children(table, jobs),
        at=np.zeros(events.COUNTERS + room, np.int64),
    )
    state.at[events.WAKE] = events.NEVER
    return state


def _list_children(table: JobTable, jobs: IntArray) -> IntArray:
    """Count everybody's parents in ``jobs`` and list the children of each job in one row after another."""
    if not table.depends_on:
        return np.empty(0, np.int64)
    place_of = {job: i for i, job in enumerate(table.id.tolist())}
    edges = sorted((place_of[p], place_of[job]) for job, of in table.depends_on.items() for p in set(of))
    parent, child = np.array(edges, np.int64).reshape(-1, 2).T
    jobs[:, events.PARENTS] = np.bincount(child, minlength=len(jobs))
    jobs[:, events.CHILDREN] = np.searchsorted(parent, np.arange(len(jobs)))
    jobs[:, events.CHILDREN_END] = np.searchsorted(parent, np.arange(len(jobs)), side="right")
    return child.copy()


def _sort_children(state: State) -> None:
    """List the children of each job by rank: those that a job sets free join the queue behind one another."""
    spans = state.jobs[:, events.CHILDREN_END] - state.jobs[:, events.CHILDREN]
    parent = np.repeat(np.arange(len(state.jobs)), spans)
    state.children[:] = state.children[np.lexsort((state.jobs[state.children, events.RANK], parent))]
