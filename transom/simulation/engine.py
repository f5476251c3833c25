"""Trace-driven replay: a workload, a policy, and out comes a schedule.

Time is whole seconds. All events of an instant are taken in before one pass: job ends, then
submissions. The pass sees the waiting jobs in the site's order; equal scores are ordered by
submission, then id. A job whose parents have not all ended stays hidden. A policy by period is asked at the
ticks of its clock alone, after all events up to each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import index
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.errors import PolicyError, SpecError, shown
from transom.models import JobTable, Window
from transom.models.arrays import IntArray, expected, whole
from transom.rng import stream
from transom.simulation import events
from transom.simulation.allocator import Allocator
from transom.simulation.clocks import clock_begins
from transom.simulation.decision import Decision, Policy, Reservation
from transom.simulation.event_rules import EventRules, Textbook, parse_rules, replay_under
from transom.simulation.events import State, advance, advance_to_tick, launch, place
from transom.simulation.node_keeper import NodeKeeper, keeper_of
from transom.simulation.policies import RulePolicy, load_rule, make_policy, site_order
from transom.simulation.promise_log import PromiseLog
from transom.simulation.rule_replay import run_rule
from transom.simulation.schedule import BACKFILLED, COLUMNS, PROMISED, READY, Schedule
from transom.traces.workload import Workload

Progress = Callable[[int], None]
"""Called now and then with the number of jobs that have started."""

_REPORTS = 0.2  # seconds between two looks at the progress bar, where decisions are made one by one
_LONGEST = 10**9  # period of a policy [s]


def simulate(
    workload: Workload,
    policy: str | Policy,
    *,
    seed: int = 0,
    label: str | None = None,
    progress: Progress | None = None,
    allocator: Allocator | None = None,
    rules: str | EventRules = "textbook",
    promises: PromiseLog | None = None,
) -> Schedule:
    """Replay a workload under a policy.

    On a cluster with a topology jobs get nodes: those that the policy states (:class:`Decision`), else those
    that the allocator finds for the jobs that start at one instant. They never change when jobs run.

    Parameters
    ----------
    workload : jobs with their real runtimes, and the machine.
    policy : a name or specification (``"fcfs-easy"``, ``"window:solver=dp,size=20"``) or an object.
    seed : >= 0, for policies that draw random numbers.
    label : what to call the policy in the schedule, by default its name or specification.
    progress : called with the number of started jobs.
    allocator : how jobs get their nodes on a cluster with a topology, by default the lowest idle ids.
    rules : the event rules, by a specification (:func:`~transom.simulation.event_rules.parse_rules`) or as an object.
        Others than the textbook's are for cross-checks: they take priority rules without or with EASY backfilling, and
        workloads of jobs that ask for nodes alone and wait for no other job.
    promises : takes down every reservation that a pass makes, moves or withdraws.

    Returns
    -------
    The schedule, one row per job. With an allocator that has a solver, its decisions have three more columns
    about the jobs that started: ``allocated`` (how many have more than one node and were placed by it),
    ``allocation_cost`` (of those), ``allocation_proved`` (whether no choice costs less).

    Raises
    ------
    SpecError : the policy's name or a parameter is unknown, the seed is negative, or there is an allocator but
        no topology, or one that does not fit it; or the event rules are unknown or do not take this replay.
    PolicyError : the policy starts a job that is not waiting or does not fit, states nodes that are not idle, or
        leaves jobs waiting on an empty machine at the end of the trace; or its period is not a time.
    UnsupportedError : the allocator's solver cannot take the jobs that start at one instant.
    """
    expected(workload, Workload, "simulate: workload", "a Workload such as read_swf gives")
    if whole(seed, "simulate: seed") < 0:
        raise SpecError(f"seed must be >= 0, got {seed}")
    if not isinstance(policy, (str, RulePolicy)) and not callable(getattr(policy, "decide", None)):
        raise SpecError(f"simulate: expected the name of a policy or a policy, got {shown(policy)}")
    if not isinstance(rules, str) and not isinstance(getattr(rules, "replayed", None), str):
        raise SpecError(f"simulate: expected the name of event rules or event rules, got {shown(rules)}")
    chosen = make_policy(policy) if isinstance(policy, str) else policy
    title = label or (policy if isinstance(policy, str) else str(getattr(policy, "name", type(policy).__name__)))
    report = progress or (lambda started: None)
    ruled = parse_rules(rules) if isinstance(rules, str) else rules
    if not isinstance(ruled, Textbook):
        if allocator is not None:
            raise SpecError(f"{ruled.name} rules know no nodes for an allocator to choose")
        schedule = replay_under(ruled, workload, chosen, title, report)
        if promises is not None:
            promises.finish(schedule.decisions)
        return schedule
    keeper = keeper_of(workload, allocator, seed)
    if isinstance(chosen, RulePolicy):
        replay = Replay(workload, chosen.order)
        # Where placing is the work, it is what the progress counts.
        decisions = run_rule(replay, chosen, report if keeper is None else lambda started: None, promises)
    else:
        period = _period(chosen)
        run = getattr(chosen, "run", None) if period is None else None
        replay = Replay(workload, getattr(chosen, "order", "fcfs"), period, keeper if run is None else None)
        reset = getattr(chosen, "reset", None)
        if reset is not None:
            # Not by its label: what a policy is called must not change what it draws.
            reset(stream(seed, policy if isinstance(policy, str) else type(policy).__name__))
        if run is None:
            decisions = _run_policy(replay, chosen, report, promises)
        else:
            decisions = run(replay, report if keeper is None else lambda started: None)
    if promises is not None:
        promises.finish(decisions)
    waiting = np.flatnonzero(replay.state.jobs[:, events.START] < 0)
    if waiting.size:
        raise PolicyError(f"policy {title!r} never starts job {workload.jobs.id[waiting[0]]}")
    schedule = replay.schedule(title, decisions)
    if keeper is not None:
        if replay.keeper is None:
            keeper.place_all(schedule, report)
        schedule = keeper.completed(schedule)
    report(len(workload))
    return schedule


class Replay:
    """A replay in progress: the state, and the window a policy sees of it.

    ``period`` [s]: stop at its multiples alone. With a ``keeper`` of nodes, jobs get them as they start.
    """

    def __init__(
        self, workload: Workload, order: str, period: int | None = None, keeper: NodeKeeper | None = None
    ) -> None:
        jobs = workload.jobs
        self.workload = workload
        self.jobs = jobs
        self.ids = np.ascontiguousarray(jobs.id)
        self.cluster = workload.cluster
        self.runtime = workload.runtime
        self.rule = load_rule(order)
        self.origin = clock_begins(self.rule, workload)
        self.state = _new_state(workload)
        self.period = period
        self.keeper = keeper
        self._tick = 0
        self._released = 0
        if self.rule.timeless and len(jobs):
            ranked = site_order(self.rule, jobs, self.origin, self.origin)
            self.state.jobs[ranked, events.RANK] = np.arange(len(jobs))

    def advance(self) -> bool:
        """Go to the next instant at which somebody waits; False at the end of the trace."""
        if self.period is not None:
            if not advance_to_tick(*self.state, self.period, self._tick):
                return False
            self._tick = int(self.state.at[events.NOW]) + self.period
        elif not advance(*self.state):
            return False
        if self.keeper is not None:
            ended = int(self.state.at[events.ENDED])
            self.keeper.release(self.state.ended[self._released : ended])
            self._released = ended
        if not self.rule.timeless:
            now, queued = self.state.at[events.NOW], self.state.at[events.QUEUED]
            self.state.at[events.PASSED] = 0
            queue = np.sort(self.state.queue[:queued])
            self.state.queue[:queued] = queue[site_order(self.rule, self.jobs.take(queue), int(now), self.origin)]
        return True

    def window(self) -> Window:
        """What a policy may see now: copies, and nothing of the future."""
        state, jobs = self.state, self.jobs
        now, _, queued, running = state.at[:4].tolist()
        running_end = np.maximum(state.expected[:running, 0], now + 1)
        available = state.free.copy()
        running_end.flags.writeable = available.flags.writeable = False
        return Window._trusted(
            now,
            self.cluster,
            jobs.take(state.queue[:queued]),
            jobs.take(state.expected[:running, 1]),
            running_end,
            available,
            None if self.keeper is None else self.keeper.idle(),
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
            remarks=self.workload.remarks,
        )

    def apply(self, decision: Decision, log: IntArray) -> None:
        """Carry out a decision and fill its row of the log.

        Raises
        ------
        PolicyError : a job is not waiting or does not fit, or the nodes stated for it are not idle.
        """
        state = self.state
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
            fault = place(
                state.jobs,
                state.queue,
                state.expected,
                state.free,
                state.at,
                self.ids,
                np.array(chosen, np.int64),
                picks,
                modes,
            )
            if fault >= 0:
                raise PolicyError(f"at {state.at[events.NOW]} s: job {chosen[fault]} is started but does not wait")
            if fault < -1:
                raise PolicyError(f"at {state.at[events.NOW]} s: job {chosen[-2 - fault]} is started but does not fit")
            if self.keeper is not None:
                self.keeper.start(int(state.at[events.NOW]), state.queue[picks], decision.nodes)
            launch(state.jobs, state.queue, state.ends, state.at, self.runtime, picks, modes, count)
        if reserve:
            state.jobs[self._waiting(reserve), events.HELD] = 1

    def _check_stated(self, decision: Decision) -> None:
        now = self.state.at[events.NOW]
        if self.keeper is None:
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


def _period(policy: Policy) -> int | None:
    stated = getattr(policy, "period", None)
    if stated is None:
        return None
    try:
        period = index(stated)
    except TypeError:
        period = 0
    if not 0 < period <= _LONGEST:
        raise PolicyError(f"a policy's period must be whole seconds, 1 to {_LONGEST}, got {stated!r}")
    return period


def _run_policy(
    replay: Replay, policy: Policy, report: Progress, promises: PromiseLog | None
) -> dict[str, NDArray[Any]]:
    rows: list[IntArray] = []
    notes: list[Any] = []
    due = 0.0
    while replay.advance():
        decision = policy.decide(replay.window())
        if not isinstance(decision, Decision):
            raise PolicyError(f"a policy returns a Decision, got {type(decision).__name__}")
        row = np.empty(len(COLUMNS), np.int64)
        replay.apply(decision, row)
        if promises is not None:
            promises.add_pass(len(rows), decision.reserve)
        rows.append(row)
        if decision.notes:
            notes.append(decision.notes)
        if perf_counter() >= due:  # by time: a decision may take seconds
            report(int(replay.state.at[events.STARTED]))
            due = perf_counter() + _REPORTS
    log = np.array(rows, np.int64).reshape(len(rows), len(COLUMNS))
    decisions: dict[str, NDArray[Any]] = dict(zip(COLUMNS, log.T, strict=True))
    if notes:
        if len(notes) != len(rows):
            raise PolicyError("a policy writes notes on every decision or on none")
        taken = (*COLUMNS, *PROMISED)
        if any(note.keys() != notes[0].keys() for note in notes) or notes[0].keys() & set(taken):
            raise PolicyError(f"a policy writes the same notes on every decision, and none of {', '.join(taken)}")
        for key in notes[0]:
            decisions[key] = np.array([note[key] for note in notes])
    return decisions


def _new_state(workload: Workload) -> State:
    table, n = workload.jobs, len(workload)
    free = np.array([workload.cluster.num_nodes, *workload.cluster.capacities], np.int64)
    jobs = np.zeros((n, events.DEMAND + len(free)), np.int64)
    jobs[:, events.SUBMIT] = table.submit
    jobs[:, events.WALLTIME] = table.walltime
    jobs[:, events.RANK] = np.arange(n)
    jobs[:, [events.START, events.END, events.ORDER]] = -1
    jobs[:, events.DEMAND] = table.nodes
    jobs[:, events.DEMAND + 1 :] = table.demand
    state = State(
        jobs=jobs,
        queue=np.empty(n, np.int64),
        ends=np.empty((n, 2), np.int64),
        expected=np.empty((n, 2), np.int64),
        ended=np.empty(n, np.int64),
        free=free,
        children=_list_children(table, jobs),
        at=np.zeros(events.COUNTERS, np.int64),
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
