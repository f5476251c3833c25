"""How many starts differ from the textbook's, which is the first wrong one, and which rule it breaks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from transom.conform.passes import (
    AGAIN,
    CAPACITY,
    EARLY,
    HOLE,
    MISSING,
    ORDER,
    OTHER,
    PARENT,
    RESERVATION,
    VARIANTS,
    Instant,
    Jobs,
    Variant,
)
from transom.conform.starts import NEVER, Aligned
from transom.heuristics.priority_rules import MaxWait
from transom.models.arrays import IntArray
from transom.simulation import simulate
from transom.simulation.core.schedule import Schedule
from transom.simulation.core.site_order import clock_begins, load_rule, rule_for, site_order
from transom.simulation.policies.by_name import RulePolicy
from transom.traces.outages import Outages

_TEXTBOOK = Variant("textbook")
_WORK, _INSTANTS = 20_000, 300  # what is looked at to tell apart mistakes that look alike at one instant
_SEVERAL, _ENOUGH = 2, 0.9  # of the wrong decisions that a mistake has to explain


class First(NamedTuple):
    """The first wrong start: the job, when it started and should have [s] (None: never), the rule, and a sentence."""

    job: int
    start: int | None
    expected: int | None
    rule: str
    why: str


class Verdict(NamedTuple):
    """How many of so many jobs start at another second, and the first of them; and the textbook's schedule."""

    jobs: int
    differ: int
    first: First | None
    textbook: Schedule

    def document(self) -> Mapping[str, Any]:
        """What a program reads of it."""
        return {"jobs": self.jobs, "differ": self.differ, "first": self.first and self.first._asdict()}


def judge(theirs: Aligned, policy: Any, spec: str, outages: Outages | None = None, seed: int = 0) -> Verdict:
    """Compare start times with those of a policy under textbook rules.

    The runtimes are those that the program shows. Until the first instant at which a start differs, both schedules are
    one, so that what is judged is what the program made of its own state.

    Parameters
    ----------
    theirs : the start times, beside the jobs.
    policy, spec : the policy, and its specification.
    outages : what goes out of service.
    seed : of policies that draw.

    Raises
    ------
    SpecError, PolicyError : as of :func:`~transom.simulation.simulate`.
    """
    textbook = simulate(theirs.workload, policy, spec=spec, seed=seed, outages=outages)
    wrong = (theirs.start != textbook.start) | (theirs.again >= 0)
    first = _first(theirs, textbook, policy, wrong) if wrong.any() else None
    return Verdict(len(wrong), int(wrong.sum()), first, textbook)


def _first(theirs: Aligned, textbook: Schedule, policy: Any, wrong: IntArray) -> First:
    start, expected, again = theirs.start, textbook.start, theirs.again
    at = _times(theirs, expected)
    now = int(at[wrong].min())
    ids = theirs.workload.jobs.id

    def told(job: int, rule: str, why: str) -> First:
        then = None if start[job] == NEVER else int(start[job])
        return First(int(ids[job]), then, int(expected[job]), rule, f"at {now:,} s {why}")

    here = np.flatnonzero(wrong & (at == now))
    if len(twice := here[again[here] == now]):
        job = int(twice[0])
        return told(job, AGAIN, f"job {ids[job]} starts again; it had started at {start[job]:,} s")
    early = here[(start[here] == now) & (start[here] < theirs.workload.jobs.submit[here])]
    if len(early):
        job = int(early[0])
        return told(job, EARLY, f"job {ids[job]} starts; it is submitted at {theirs.workload.jobs.submit[job]:,} s")
    jobs = Jobs(theirs.workload, start, _order(theirs, policy))
    more = [int(job) for job in here if start[job] == now]
    less = [int(job) for job in here if expected[job] == now]
    for job in more:
        if parents := jobs.unready(job, now):
            why = f"job {ids[job]} starts, but job {ids[parents[0]]}, which it depends on, has not ended"
            return told(job, PARENT, why)
    state = jobs.instant(now)
    place = {job: rank for rank, job in enumerate(state.queue)}
    more, less = (sorted(some, key=lambda job: place.get(job, len(place))) for some in (more, less))
    used = [
        c - f + sum(int(jobs.asks[job][r]) for job in state.started)
        for r, (c, f) in enumerate(zip(jobs.capacity, state.free, strict=True))
    ]
    names = ("nodes", *theirs.workload.cluster.resources)
    for name, amount, capacity in zip(names, used, jobs.capacity, strict=True):
        if amount > capacity and more:
            why = f"job {ids[more[-1]]} starts and {amount:,} of {capacity:,} {name} are used"
            return told(more[-1], CAPACITY, why)
    ruled = isinstance(policy, RulePolicy)
    if ruled and more and less and place[less[0]] < place.get(more[0], 0):
        ahead, job = less[0], more[0]
        why = f"job {ids[job]} starts and job {ids[ahead]}, which stands before it in the queue, does not"
        found = told(job, ORDER, why)
    elif more:
        found = told(more[0], *_ahead(jobs, state, more[0], ids, policy))
    elif start[less[0]] == NEVER:
        return told(less[0], MISSING, f"job {ids[less[0]]} should start; it never does")
    else:
        found = told(less[0], HOLE, _unused(jobs, state, less[0], ids, policy))
    easy = ruled and policy.backfilling == "easy" and textbook.outages is None
    return _as_known(jobs, now, found) if easy else found


def _times(theirs: Aligned, expected: IntArray) -> IntArray:
    """When each job first starts in one of two schedules where they differ [s]."""
    never = np.int64(2**62)
    start = np.where(theirs.start == NEVER, never, theirs.start)
    first: IntArray = np.minimum(
        np.where(start == expected, never, np.minimum(start, expected)),
        np.where(theirs.again >= 0, theirs.again, never),
    )
    return first


def _order(theirs: Aligned, policy: Any) -> Any:
    table = theirs.workload.jobs
    rule, max_wait = rule_for(load_rule(getattr(policy, "order", "fcfs")), theirs.workload)
    origin = clock_begins(rule, theirs.workload)
    rule = MaxWait(rule, max_wait) if max_wait else rule
    return lambda waiting, now: site_order(rule, table.take(waiting), now, origin) if len(waiting) else []


def _ahead(jobs: Jobs, state: Instant, job: int, ids: IntArray, policy: Any) -> tuple[str, str]:
    """Why a job should not have started though all before it in the queue do what they should."""
    _, head, when, extra = jobs.easy(state, _TEXTBOOK)
    if not isinstance(policy, RulePolicy) or head is None:
        return OTHER, f"job {ids[job]} starts, which the policy does not start"
    if policy.backfilling == "none":
        return ORDER, f"job {ids[job]} starts ahead of job {ids[head]}, which waits before it in the queue"
    if policy.backfilling == "conservative":
        return RESERVATION, f"the reservation of a job before it in the queue is delayed by job {ids[job]}"
    end, asked = state.now + int(jobs.walltime[job]), int(jobs.asks[job][0])
    room = f"{asked:,} nodes, with {max(0, extra[0]):,} extra ones" if asked > extra[0] else "more than is extra"
    delayed = f"the reservation of job {ids[head]} at {when:,} s is delayed by job {ids[job]}"
    return RESERVATION, f"{delayed}, which may run until {end:,} s on {room}"


def _unused(jobs: Jobs, state: Instant, job: int, ids: IntArray, policy: Any) -> str:
    why = f"job {ids[job]} should start on {jobs.asks[job][0]:,} of {state.free[0]:,} idle nodes"
    started, head, when, _ = jobs.easy(state, _TEXTBOOK)
    easy = isinstance(policy, RulePolicy) and policy.backfilling == "easy"
    if not easy or head is None or job not in started or state.queue.index(job) < state.queue.index(head):
        return why
    end = state.now + int(jobs.walltime[job])
    reason = f"ends by {end:,} s" if end <= when else "fits beside it"
    return f"{why}: it {reason}, and job {ids[head]} is reserved for {when:,} s"


def _as_known(jobs: Jobs, now: int, found: First) -> First:
    """The same, or the rule of a known mistake, if one explains what was done from then on."""
    right, against, wrong = np.zeros(len(VARIANTS)), np.zeros(len(VARIANTS)), 0
    for at in jobs.instants(now, _WORK, _INSTANTS):
        same = np.array([set(jobs.easy(at, way)[0]) == at.started for way in VARIANTS])
        if set(jobs.easy(at, _TEXTBOOK)[0]) == at.started:
            against += ~same
            continue
        right += same
        right[~same & (wrong == 0)] = -np.inf  # what does not explain the first one explains nothing
        wrong += 1
    best = int((right - against).argmax())
    if right[best] - against[best] < _ENOUGH * max(1, wrong):
        return found
    way = VARIANTS[best]
    share = f"{right[best]:.0f} of the first {wrong} wrong decisions are " if wrong > 1 else ""
    why = f"{found.why}; {share}as if {way.says}"
    # One wrong order looks like many a mistake; several in a row do not.
    return found._replace(rule=found.rule if found.rule == ORDER and wrong < _SEVERAL else way.rule, why=why)
