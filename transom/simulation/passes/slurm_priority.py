"""Slurm's multifactor priorities in a replay, compiled: of a job when it comes to wait, and of all once in a period."""

from __future__ import annotations

from typing import NamedTuple

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.core.events import END, NOW, QUEUED, START, STARTED, State
from transom.simulation.core.queue_order import sort_by_score
from transom.simulation.passes.fair_share import Shares, classic, fair_tree


class Weights(NamedTuple):
    """Weights of age and fair share; the age that counts in full [s]; what is left of use after a second; from one
    computation of all priorities to the next [s]; whether age counts from submission; the dampening of the classic fair
    share, 0 for the fair tree."""

    age: float
    fairshare: float
    max_age: int
    decay: float
    period: int
    accrue_always: bool
    dampening: int


class Progress:
    """Up to when use has been taken in [s], how many jobs use the machine; jobs that were in order at the last pass,
    and how many had started before it."""

    tick: int
    active: int
    ordered: int
    started: int


class Priorities(NamedTuple):
    """Priorities of ``n`` jobs, and what they depend on.

    ``submit`` ``(n,)`` [s]; ``fixed`` ``(n,)``: what does not change with time; ``tier`` ``(n,)``: what a lower tier
    adds to the score by which the queue is ordered, lowest first; ``billing`` ``(n,)``: what a second of a job counts;
    ``kind`` ``(n,)``, and ``chain`` ``(kinds, K)``: the associations of a job, from its user upwards, -1 behind the
    last. ``priority`` ``(n,)``: -1 before a job waits; ``since`` ``(n,)``: when its age begins [s]; ``active``
    ``(n,)``: jobs that use the machine, ascending, or have since use was taken in. ``scores``, ``left`` and
    ``left_scores`` ``(n,)`` are as of :class:`~transom.simulation.core.queue_order.QueueOrder`.
    """

    weights: Weights
    submit: IntArray
    fixed: FloatArray
    tier: FloatArray
    billing: FloatArray
    kind: IntArray
    chain: IntArray
    shares: Shares
    priority: IntArray
    since: IntArray
    active: IntArray
    scores: FloatArray
    left: IntArray
    left_scores: FloatArray
    now: Progress


@no_refcount
def order_by_priority(s: State, p: Priorities) -> None:
    """Bring the queue, at the end of which new jobs stand, into the order of priorities that holds now."""
    now, waiting = s.at[NOW], s.at[QUEUED]
    ordered = max(p.now.ordered - (s.at[STARTED] - p.now.started), 0)
    p.now.ordered, p.now.started = waiting, s.at[STARTED]
    last = p.now.tick + (now - p.now.tick) // p.weights.period * p.weights.period
    if ordered == waiting and last == p.now.tick:
        return
    if last > p.now.tick:
        if p.weights.fairshare > 0:
            _use(s, p, last)
            find_shares(p)
        p.now.tick = last
        for i in range(waiting):
            if p.priority[s.queue[i]] >= 0:
                p.priority[s.queue[i]] = priority_at(p, s.queue[i], last)
    for i in range(waiting):
        job = s.queue[i]
        if p.priority[job] < 0:
            p.since[job] = p.submit[job] if p.weights.accrue_always else now
            p.priority[job] = priority_at(p, job, now)
        p.scores[i] = p.tier[job] - p.priority[job]
    sort_by_score(s.queue, p.scores, p.left, p.left_scores, waiting)


@no_refcount
def priority_at(p: Priorities, job: int, now: int) -> int:
    """The priority of a job at an instant."""
    age, fair, of = 1.0, 0.0, p.chain[p.kind[job], 0]
    if p.weights.max_age > 0:
        age = min(max((now - p.since[job]) / p.weights.max_age, 0.0), 1.0)
    if of >= 0:
        fair = p.shares.factor[of]
    return int(max(p.weights.age * age + p.weights.fairshare * fair + p.fixed[job], 1.0))


@no_refcount
def find_shares(p: Priorities) -> None:
    """Find the fair share of each user."""
    if p.weights.dampening > 0:
        classic(p.shares, p.weights.dampening)
    else:
        fair_tree(p.shares)


@no_refcount
def note_starts(s: State, p: Priorities, picks: IntArray, count: int) -> None:
    """Count the jobs that start at ``picks[:count]`` of the queue among those that use the machine."""
    for k in range(count):
        job, i = s.queue[picks[k]], p.now.active
        while i > 0 and p.active[i - 1] > job:
            i -= 1
        if i > 0 and p.active[i - 1] == job:  # it had been interrupted
            continue
        for j in range(p.now.active, i, -1):
            p.active[j] = p.active[j - 1]
        p.active[i] = job
        p.now.active += 1


@no_refcount
def _use(s: State, p: Priorities, last: int) -> None:
    """Take in what was used up to an instant, period by period, and let earlier use decay."""
    tick, period, kept = p.now.tick, p.weights.period, 0
    whole = p.weights.decay ** float(period)
    for k in range(p.now.active):
        if s.jobs[p.active[k], START] >= 0:  # others wait again, after an outage
            p.active[kept] = p.active[k]
            kept += 1
    p.now.active = kept
    while tick < last:
        # Without running jobs the remaining periods are one.
        end, kept = tick + period if p.now.active > 0 else last, 0
        left = whole if end - tick == period else p.weights.decay ** float(end - tick)
        for a in range(len(p.shares.usage)):
            p.shares.usage[a] *= left
        for k in range(p.now.active):
            job = p.active[k]
            until = s.jobs[job, END] if s.jobs[job, END] >= 0 else end
            ran = min(until, end) - max(s.jobs[job, START], tick)
            if ran > 0:
                left = whole if ran == period else p.weights.decay ** float(ran)
                _count_use(p, job, ran * left * p.billing[job])
            if until >= end:
                p.active[kept] = job
                kept += 1
        p.now.active, tick = kept, end


@no_refcount
def _count_use(p: Priorities, job: int, amount: float) -> None:
    for k in range(p.chain.shape[1]):
        a = p.chain[p.kind[job], k]
        if a >= 0:
            p.shares.usage[a] += amount
