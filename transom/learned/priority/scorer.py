"""The scorer: one linear function for all tasks, another for all machines, of features without units.

At an instant every waiting task that fits somewhere is scored,

.. math:: s_t = v^T x_t + \\epsilon_t,

and tasks are taken by falling score; each instance goes to the machine with the highest :math:`w^T y_{tm}`. The noise
:math:`\\epsilon` is zero but in rollouts. Longest-first is one of these: v picks the logarithm of the duration, w what
is free. Amounts are shares of all machines, times are relative to how long what waits takes at least, so that numbers
of machines, capacities and the unit of time do not matter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import no_refcount
from transom._system.records import record
from transom.learned.checkpoints import Card, must
from transom.learned.checkpoints import Weights as Stored
from transom.models.arrays import FloatArray, IntArray
from transom.simulation.placement.bounds import at_once
from transom.simulation.placement.state import State, fits
from transom.traces.tasks.workload import TaskWorkload

SCHEMA = "priority/1"
"""Name and version of the features."""

TASK = (
    "log duration / backlog",
    "log waves x duration / backlog",
    "log energy / backlog",
    "log largest share of a machine",
    "log share of a machine of what is scarce",
    "log waiting instances",
    "excess of what is scarcest",
    "distance from what is free",
    "duration / backlog",
    "waves x duration / backlog",
    "energy / backlog",
    "share of a machine of what is scarce",
    "duration / horizon",
    "waves x duration / horizon",
)
"""Features of a task. Backlog: seconds that the waiting instances need on all machines at least, and the longest of
them; horizon: the same, or until everything that runs has ended. Waves: how often as many instances as all machines
hold run one after another. Energy: duration x waiting instances x demand, weighted by how much of each resource the
waiting instances need. Distance: between the proportions of the demand and those of what is free."""

MACHINE = ("free", "least left", "spread of what is left", "alignment", "spread of what is free")
"""Features of a machine for an instance: shares of the machine, summed or compared over resources."""

_TINY = 1e-9


class Weights(NamedTuple):
    """v and w of S scorers, shapes ``(S, task features)`` and ``(S, machine features)``, float64."""

    task: FloatArray
    machine: FloatArray


class Facts(NamedTuple):
    """What is known of T tasks with R resources, and of M machines.

    ``length`` ``(T,)``: estimates of durations, rounded up [s]; ``held`` ``(T,)``: instances that all machines hold at
    once; ``share`` ``(T, R)``: what an instance needs, of all machines; ``largest`` ``(T,)``: of the largest machine,
    the largest over resources; ``mix`` ``(T, R)``: ``share`` in proportion; ``inverse`` ``(M, R)``: 1 / capacity;
    ``part`` ``(M, R)``: what a unit is of all machines.
    """

    length: IntArray
    held: IntArray
    share: FloatArray
    largest: FloatArray
    mix: FloatArray
    inverse: FloatArray
    part: FloatArray


class Instant:
    """What all tasks have in common."""

    end: float  # when what runs will have ended, as far as is known [s]
    backlog: float  # how long what waits takes at least [s]
    scorer: int  # which one is in force


class Scratch(NamedTuple):
    """What a scorer computes at an instant: ``need`` ``(R,)``: seconds for which what waits takes all machines;
    ``free`` ``(R,)``: proportions of what is free; ``row``: features of a task; ``noise``, ``score`` ``(T,)``;
    ``order`` ``(T,)``: tasks that fit, by falling score."""

    need: FloatArray
    free: FloatArray
    row: FloatArray
    noise: FloatArray
    score: FloatArray
    order: IntArray
    at: Instant


def check(card: Card, weights: Stored) -> None:
    """Refuse a card of other observations, or whose weights are none of such a scorer.

    Raises
    ------
    DocumentError : the first fact that does not fit, by its name.
    """
    must("schema", card.schema, card.schema == SCHEMA, SCHEMA)
    shapes = {name: array.shape for name, array in weights.items()}
    wanted = {"task": (len(TASK),), "machine": (len(MACHINE),)}
    must("the shape of its weights", shapes, shapes == wanted, str(wanted))


def longest_first() -> FloatArray:
    """The weights of longest-first: of task features, then of machine features."""
    weights = np.zeros(len(TASK) + len(MACHINE))
    weights[[0, len(TASK)]] = 1
    return weights


def scorers(*weights: FloatArray) -> Weights:
    """Weights of several scorers, each as :func:`longest_first` has them, as kernels want them."""
    stacked = np.array(weights, np.float64)
    return Weights(stacked[:, : len(TASK)].copy(), stacked[:, len(TASK) :].copy())


def facts_of(workload: TaskWorkload) -> Facts:
    """What a scheduler knows of the tasks of a workload, each when it is submitted."""
    machines = workload.machines.astype(np.float64)
    demands = workload.demands.astype(np.float64)
    totals = machines.sum(axis=0)
    share = demands / totals
    added = share.sum(axis=1, keepdims=True)
    mix = np.divide(share, added, out=np.full_like(share, 1 / len(totals)), where=added > 0)
    return Facts(
        length=np.ceil(workload.estimate).astype(np.int64),
        held=at_once(workload),
        share=share,
        largest=(demands / machines.max(axis=0)).max(axis=1),
        mix=mix,
        inverse=1 / machines,
        part=np.broadcast_to(1 / totals, machines.shape).copy(),
    )


def new_scratch(tasks: int, resources: int) -> Scratch:
    """The scratch arrays."""
    return Scratch(
        need=np.zeros(resources),
        free=np.zeros(resources),
        row=np.zeros(len(TASK)),
        noise=np.zeros(tasks),
        score=np.zeros(tasks),
        order=np.empty(tasks, np.int64),
        at=record(Instant),
    )


@no_refcount
def look(state: State, facts: Facts, scratch: Scratch) -> None:
    """Take in what all tasks have in common at an instant: what waits, what is free, and how long that takes."""
    resources = len(scratch.need)
    longest, free = 0, 0.0
    for r in range(resources):
        scratch.need[r], scratch.free[r] = 0.0, 0.0
        for machine in range(len(facts.part)):
            scratch.free[r] += state.free[machine, r] * facts.part[machine, r]
        free += scratch.free[r]
    for i in range(state.at.queued):
        task = state.queue[i]
        energy = float(state.waiting[task] * facts.length[task])
        longest = max(longest, facts.length[task])
        for r in range(resources):
            scratch.need[r] += energy * facts.share[task, r]
    backlog = float(longest)
    for r in range(resources):
        backlog = max(backlog, scratch.need[r])
        scratch.free[r] /= free + _TINY
    scratch.at.backlog = backlog


@no_refcount
def describe(state: State, facts: Facts, scratch: Scratch, task: int) -> None:
    """Fill ``scratch.row`` with the features of a waiting task, after :func:`look`."""
    backlog = scratch.at.backlog
    horizon = max(backlog, scratch.at.end - state.at.now)
    total, scarce, distance, most = _TINY, 0.0, 0.0, 0
    for r in range(len(scratch.need)):
        total += scratch.need[r]
        scarce += scratch.need[r] * facts.share[task, r]
        distance += abs(facts.mix[task, r] - scratch.free[r]) / 2
        if scratch.need[r] > scratch.need[most]:
            most = r
    scarce /= total
    waiting, length = float(state.waiting[task]), float(facts.length[task])
    waves = np.ceil(waiting / facts.held[task]) * length
    energy = waiting * length * scarce
    scarce *= len(facts.part)
    row = scratch.row
    row[0] = np.log(length / backlog)
    row[1] = np.log(waves / backlog)
    row[2] = np.log(energy / backlog + _TINY)
    row[3] = np.log(facts.largest[task] + _TINY)
    row[4] = np.log(scarce + _TINY)
    row[5] = np.log(waiting)
    row[6] = facts.mix[task, most] - scratch.need[most] / total
    row[7] = distance
    row[8] = length / backlog
    row[9] = waves / backlog
    row[10] = energy / backlog
    row[11] = scarce
    row[12] = length / horizon
    row[13] = waves / horizon


@no_refcount
def score_tasks(state: State, facts: Facts, scratch: Scratch, weights: Weights) -> int:
    """Fill ``scratch.order`` with the waiting tasks that fit somewhere, by falling score; how many there are."""
    count, score, order = 0, scratch.score, scratch.order
    for i in range(state.at.queued):
        task = state.queue[i]
        for machine in range(len(state.free)):
            if fits(state, task, machine):
                order[count] = task
                count += 1
                break
    if count == 0:
        return 0
    look(state, facts, scratch)
    for i in range(count):
        task = order[i]
        score[task] = scratch.noise[task]
        if count > 1:
            describe(state, facts, scratch, task)
            for k in range(len(scratch.row)):
                score[task] += weights.task[scratch.at.scorer, k] * scratch.row[k]
        place = i
        while place > 0 and score[order[place - 1]] < score[task]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = task
    return count


@no_refcount
def choose_machine(state: State, facts: Facts, weights: Weights, scorer: int, task: int) -> int:
    """The machine with the highest score for an instance, the first of equals; -1 if it fits on none."""
    chosen, highest = -1, -np.inf
    w, resources = weights.machine, state.free.shape[1]
    for machine in range(len(state.free)):
        if not fits(state, task, machine):
            continue
        free, align = 0.0, 0.0
        least, most, low, high = np.inf, -np.inf, np.inf, -np.inf
        for r in range(resources):
            has = state.free[machine, r] * facts.inverse[machine, r]
            needs = state.demands[task, r] * facts.inverse[machine, r]
            free += has
            align += has * needs
            least, most = min(least, has - needs), max(most, has - needs)
            low, high = min(low, has), max(high, has)
        score = w[scorer, 0] * free + w[scorer, 1] * least + w[scorer, 2] * (most - least)
        score += w[scorer, 3] * align + w[scorer, 4] * (high - low)
        if score > highest:
            chosen, highest = machine, score
    return chosen
