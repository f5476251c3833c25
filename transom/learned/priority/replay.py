"""A replay under priorities, compiled, with rollouts at submissions where they are asked for.

A rollout replays what has been submitted to its end, with durations as estimated, in some order: that of the scorer,
that of longest-first, or that of the best rollout so far with the scores of a few tasks changed at random. The order
whose rollout ends first is kept until the next submission; the one in force stays unless another is better. Nothing is
known of jobs to come, and what fits is never kept waiting.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom.learned.priority.scorer import (
    Facts,
    Scratch,
    Weights,
    choose_machine,
    facts_of,
    longest_first,
    new_scratch,
    score_tasks,
    scorers,
)
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.placement.state import (
    COUNT,
    END,
    MACHINE,
    NEVER,
    START,
    TASK,
    Arranged,
    State,
    enter,
    new_state,
    next_instant,
    note_pass,
    place,
)
from transom.simulation.placement.stepping import restart
from transom.traces.tasks.workload import TaskWorkload

CHANGES = 4
"""Tasks whose scores a rollout changes, at most."""

_QUOTA = 500_000  # places of the queue looked at between two looks at the progress bar


class Ahead(NamedTuple):
    """What rollouts need, K of them at each of up to J submissions, of T tasks.

    ``state``, ``scratch``: copies that rollouts go on with; ``best`` ``(T,)``: what the best rollout adds to scores;
    ``places``, ``amounts`` ``(J, K, CHANGES)``: which places of the queue are changed, uniform in [0, 1), and by how
    much; ``number`` ``(J, K)``: how many; ``chosen`` ``(1,)``: how often an order was chosen.
    """

    state: State
    scratch: Scratch
    best: FloatArray
    places: FloatArray
    amounts: FloatArray
    number: IntArray
    chosen: IntArray


class Agent(NamedTuple):
    """A scorer at work, beside longest-first (``weights``), what is known, its scratch, and its rollouts."""

    weights: Weights
    facts: Facts
    scratch: Scratch
    ahead: Ahead


@compiled
def run_priorities(state: State, agent: Agent) -> bool:
    """Replay by priorities; False when it is over, True when there is more to do or no room left to record it."""
    at, looked, ahead = state.at, 0, agent.ahead
    rollouts = ahead.number.shape[1]
    if at.arrived == 0:
        agent.scratch.at.end, agent.scratch.at.scorer = 0.0, 0
        agent.scratch.noise[:] = 0.0
        ahead.chosen[0] = 0
    while at.batches + at.concurrent <= len(state.batches):
        if looked > _QUOTA:
            return True
        arrived = at.arrived
        if not next_instant(state):
            return False
        looked += at.queued + 1
        if rollouts and at.arrived > arrived:
            _choose_order(state, agent)
            looked += at.queued * rollouts
        if at.queued:
            _pass(state, agent, agent.scratch)
    return True


@compiled
def makespan(state: State, agent: Agent, machines: IntArray, instances: IntArray) -> int:
    """Replay from the beginning, in a state with room for all instances; when the last one ends [s]."""
    restart(state, machines, instances)
    while run_priorities(state, agent):
        pass
    last = 0
    for row in range(state.at.batches):
        last = max(last, state.batches[row, END])
    return last


@no_refcount
def _pass(state: State, agent: Agent, scratch: Scratch) -> None:
    """Place instances of the waiting tasks, by falling score, until none fits."""
    queued, at, facts, weights = state.at.waiting, state.at, agent.facts, agent.weights
    for i in range(score_tasks(state, facts, scratch, weights)):
        task = scratch.order[i]
        machine = choose_machine(state, facts, weights, scratch.at.scorer, task)
        if machine >= 0:
            scratch.at.end = max(scratch.at.end, float(at.now + facts.length[task]))
        while machine >= 0:
            place(state, task, machine)
            machine = choose_machine(state, facts, weights, scratch.at.scorer, task) if state.waiting[task] else -1
    note_pass(state, queued)


@no_refcount
def _choose_order(state: State, agent: Agent) -> None:
    """Keep the order in force, or take another one whose rollout ends earlier."""
    ahead, tried, best, kept = agent.ahead, agent.ahead.scratch.noise, agent.ahead.best, agent.scratch.noise
    plan, scorer, soonest = ahead.chosen[0], agent.scratch.at.scorer, NEVER
    ahead.chosen[0] += 1
    for k in range(-3, ahead.number.shape[1]):
        # First the order in force, then the scorer's and that of longest-first, then the best one with changes.
        ahead.scratch.at.scorer = scorer if k == -3 or k >= 0 else k + 2
        for i in range(state.at.queued):
            task = state.queue[i]
            tried[task] = kept[task] if k == -3 else best[task] if k >= 0 else 0.0
        for change in range(ahead.number[plan, k] if k >= 0 else 0):
            tried[state.queue[int(ahead.places[plan, k, change] * state.at.queued)]] += ahead.amounts[plan, k, change]
        end = _rollout(state, agent, soonest)
        if end < soonest:
            soonest, scorer = end, ahead.scratch.at.scorer
            for i in range(state.at.queued):
                best[state.queue[i]] = tried[state.queue[i]]
    agent.scratch.at.scorer = scorer
    for i in range(state.at.queued):
        kept[state.queue[i]] = best[state.queue[i]]


@no_refcount
def _rollout(state: State, agent: Agent, limit: int) -> int:
    """When all that is known of ends in an order; ``limit`` as soon as it is clear that it ends no earlier."""
    known, scratch = agent.ahead.state, agent.ahead.scratch
    _copy(state, agent.facts, known)
    scratch.at.end = agent.scratch.at.end
    end = 0
    for i in range(known.at.ending):
        end = max(end, known.batches[i, END])
    while end < limit and known.at.waiting:
        first = known.at.batches
        _pass(known, agent, scratch)
        for row in range(first, known.at.batches):
            end = max(end, known.batches[row, END])
        if known.at.waiting:
            next_instant(known)
    return min(end, limit)


@no_refcount
def _copy(state: State, facts: Facts, known: State) -> None:
    """The present of a replay, as far as it is known: what runs ends as estimated, but not before the next second."""
    at, now = known.at, state.at.now
    for machine in range(state.free.shape[0]):
        for r in range(state.free.shape[1]):
            known.free[machine, r] = state.free[machine, r]
    for i in range(state.at.queued):
        task = state.queue[i]
        known.queue[i] = task
        known.waiting[task] = state.waiting[task]
    at.now, at.queued, at.waiting = now, state.at.queued, state.at.waiting
    at.arrived = len(known.visible)  # nothing more is submitted
    at.ending, at.batches, at.fresh, at.started, at.passes = 0, 0, 0, 0, 0
    for i in range(state.at.ending):
        row = state.heap[i]
        task = state.batches[row, TASK]
        known.batches[i, TASK], known.batches[i, MACHINE] = task, state.batches[row, MACHINE]
        known.batches[i, START], known.batches[i, COUNT] = state.batches[row, START], state.batches[row, COUNT]
        end = max(now + 1, state.batches[row, START] + facts.length[task])
        known.batches[i, END], known.ends[i] = end, float(end)
        enter(known, i)
    at.batches = state.at.ending
    at.fresh = at.batches


def new_agent(
    weights: FloatArray,
    workload: TaskWorkload,
    arranged: Arranged,
    rollouts: int = 0,
    noise: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Agent:
    """A scorer with the scratch arrays for a workload; ``rng`` for rollouts."""
    tasks, resources, jobs = len(workload), len(workload.units), len(workload.job_ids) if rollouts else 0
    # A stream for each array: what is drawn for a submission does not depend on how many there are.
    streams = (rng or np.random.default_rng(0)).spawn(3)
    estimated = arranged._replace(duration=np.ceil(workload.estimate))
    ahead = Ahead(
        state=new_state(estimated, workload.instances, whole=rollouts > 0),
        scratch=new_scratch(tasks, resources),
        best=np.zeros(tasks),
        places=streams[0].random((jobs, rollouts, CHANGES)),
        amounts=streams[1].normal(0, noise, (jobs, rollouts, CHANGES)),
        number=np.minimum(streams[2].geometric(0.4, (jobs, rollouts)), CHANGES),
        chosen=np.zeros(1, np.int64),
    )
    return Agent(scorers(weights, longest_first()), facts_of(workload), new_scratch(tasks, resources), ahead)
