"""Trace-driven replay: a workload, a policy, and out comes a schedule.

Time is whole seconds. All events of an instant are taken in before one pass: job ends, then submissions, then nodes
that come and go (:mod:`~transom.simulation.core.event_kinds`). The pass sees the waiting jobs in the site's order;
equal scores are ordered by submission, then id. A job whose parents have not all ended stays hidden. A policy
by period is asked at the ticks of its clock alone, after all events up to each.
"""

from __future__ import annotations

from itertools import count
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transom.errors import PolicyError, SpecError, shown
from transom.heuristics.priority_rules import PriorityRule
from transom.models.arrays import expected, whole
from transom.rng import stream
from transom.simulation.core import events
from transom.simulation.core.decision import Decision, Policy
from transom.simulation.core.drive import drive, new_log
from transom.simulation.core.promise_log import PromiseLog
from transom.simulation.core.replay import Progress, Replay
from transom.simulation.core.schedule import COLUMNS, PROMISED, Schedule
from transom.simulation.core.site_order import clocks_of
from transom.simulation.event_rules import EventRules, ForeignRules, parse_rules, replay_under
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.nodes.service import Service
from transom.simulation.nodes.tracker import tracker_of
from transom.simulation.passes.rule_replay import run_rule
from transom.simulation.policies.by_name import RulePolicy, deciding, policy_of
from transom.traces.outages import Outages
from transom.traces.workload import Workload

_LONGEST = 10**9  # period of a policy [s]


def simulate(
    workload: Workload,
    policy: str | Policy | PriorityRule,
    *,
    spec: str | None = None,
    seed: int = 0,
    label: str | None = None,
    progress: Progress | None = None,
    allocator: Allocator | None = None,
    rules: str | EventRules = "textbook",
    promises: PromiseLog | None = None,
    outages: Outages | None = None,
) -> Schedule:
    """Replay a workload under a policy.

    On a cluster with a topology, jobs get the nodes that the policy states (:class:`Decision`), otherwise those
    that the allocator chooses for the jobs that start at one instant. Nodes never affect when jobs run.

    Parameters
    ----------
    workload : jobs with their real runtimes, and the machine.
    policy : a name or specification (``"fcfs-easy"``, ``"window:solver=dp,size=20"``), a policy, or a priority rule,
        whose jobs start in its order without backfilling.
    spec : the specification that ``policy`` was made of, if it is an object: it draws as under that name.
    seed : >= 0, for policies that draw random numbers.
    label : name of the policy in the schedule, by default its name or specification.
    progress : called with the number of started jobs.
    allocator : assigns nodes on a cluster with a topology, by default the lowest idle ids.
    rules : the event rules, by a specification (:func:`~transom.simulation.event_rules.parse_rules`) or as an object.
        Rules other than the textbook's are for cross-checks: they support priority rules without or with EASY
        backfilling (``rlscheduler`` any policy), and jobs without further resources or dependencies.
    promises : records every reservation that a pass makes, moves or withdraws.
    outages : nodes that fail, are drained or go out for maintenance. A job whose walltime would run into announced
        maintenance does not start, even if a Python policy starts it.

    Returns
    -------
    The schedule, one row per job. With an allocator that has a solver, its decisions have three further columns:
    ``allocated`` (started jobs of several nodes that it placed), ``allocation_cost`` (their cost) and
    ``allocation_proved`` (whether that cost is proved optimal).

    Raises
    ------
    SpecError : the policy's name or a parameter is unknown, the seed is negative, an allocator has no topology or
        does not support it, the event rules are unknown or do not support this replay, or outages name nodes that
        the machine does not have.
    PolicyError : the policy starts a job that is not waiting or does not fit, states nodes that are not idle, or
        leaves jobs waiting on an empty machine at the end of the trace; or its period is invalid.
    UnsupportedError : the allocator's solver does not support the jobs that start at one instant.
    """
    expected(workload, Workload, "simulate: workload", "a Workload such as read_swf gives")
    if whole(seed, "simulate: seed") < 0:
        raise SpecError(f"seed must be >= 0, got {seed}")
    if not isinstance(rules, str) and not isinstance(getattr(rules, "replayed", None), str):
        raise SpecError(f"simulate: expected the name of event rules or event rules, got {shown(rules)}")
    chosen = policy_of(policy)
    stated = policy if isinstance(policy, str) else spec
    title = label or stated or str(getattr(chosen, "name", type(chosen).__name__))
    report = progress or (lambda started: None)
    ruled = parse_rules(rules) if isinstance(rules, str) else rules
    if (reset := getattr(chosen, "reset", None)) is not None:
        # Not by its label: what a policy is called must not change what it draws.
        reset(stream(seed, stated or type(policy).__name__))
    costs = workload.origin.cost
    by_id = {} if costs is None else dict(zip(workload.jobs.id.tolist(), costs.tolist(), strict=True))
    for part in deciding(chosen):
        if (see_costs := getattr(part, "see_costs", None)) is not None:
            see_costs(by_id)
        if (see_clocks := getattr(part, "see_clocks", None)) is not None:
            see_clocks(*clocks_of(workload))
    if isinstance(ruled, ForeignRules):
        if allocator is not None:
            raise SpecError(f"{ruled.name} rules know no nodes for an allocator to choose")
        if outages is not None:
            raise SpecError(f"{ruled.name} rules know no outages of nodes")
        schedule = replay_under(ruled, workload, chosen, title, report)
        if promises is not None:
            promises.finish(schedule.decisions)
        return schedule
    service = None
    if outages is not None:
        plans = isinstance(chosen, RulePolicy) and chosen.backfilling == "conservative"
        service = Service(workload, outages, seed, allocator, not plans)
    tracker = tracker_of(workload, allocator, seed) if service is None else None
    if isinstance(chosen, RulePolicy):
        replay = Replay(workload, chosen.order, service=service)
        # Where placing is the work, it is what the progress counts.
        started = report if tracker is None else lambda started: None
        decisions = run_rule(replay, chosen.backfilling, started, promises, chosen.depth)
    else:
        period = _period(chosen)
        run = getattr(chosen, "run", None) if period is None else None
        replay = Replay(workload, getattr(chosen, "order", "fcfs"), period, tracker if run is None else None, service)
        if run is None:
            decisions = _run_policy(replay, chosen, report, promises)
        else:
            decisions = run(replay, report if tracker is None else lambda started: None)
    if promises is not None:
        promises.finish(decisions)
    waiting = np.flatnonzero(replay.state.jobs[:, events.START] < 0)
    if waiting.size:
        raise PolicyError(f"policy {title!r} never starts job {workload.jobs.id[waiting[0]]}")
    schedule = replay.schedule(title, decisions)
    if tracker is not None:
        if replay.tracker is None:
            tracker.place_all(schedule, report)
        schedule = tracker.completed(schedule)
    if service is not None:
        schedule = service.completed(schedule)
    report(len(workload))
    return schedule


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
    log, notes, passes = new_log(), [], count()

    def step(row: int, until: int, arrived: bool) -> tuple[int, bool]:
        decision = policy.decide(replay.window())
        if not isinstance(decision, Decision):
            raise PolicyError(f"a policy returns a Decision, got {type(decision).__name__}")
        replay.apply(decision, log[:, row])
        if promises is not None:
            promises.add_pass(next(passes), decision.reserve)
        if decision.notes:
            notes.append(decision.notes)
        return until, True

    decisions = drive(replay, step, dict(zip(COLUMNS, log, strict=True)), report)
    if notes:
        if len(notes) != len(decisions["time"]):
            raise PolicyError("a policy writes notes on every decision or on none")
        taken = (*COLUMNS, *PROMISED)
        if any(note.keys() != notes[0].keys() for note in notes) or notes[0].keys() & set(taken):
            raise PolicyError(f"a policy writes the same notes on every decision, and none of {', '.join(taken)}")
        for key in notes[0]:
            decisions[key] = np.array([note[key] for note in notes])
    return decisions
