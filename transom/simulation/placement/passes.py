"""What the rules by name do at an instant, compiled: place instances until none fits.

A rule is either an order of the tasks and a choice of a machine for each instance, or a choice among all pairs of task
and machine. While nothing ends, room only shrinks: a task that did not fit does not fit later in the pass. Long queues
are not walked to their ends for nothing: a machine that lacks what the most modest of all waiting tasks needs is full.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.compiling import compiled, no_refcount
from transom.heuristics.placement.scores import alignment, dominant_share, room
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.simulation.placement.state import State, fits, next_instant, note_pass, place

FIRST, TIGHTEST, FREEST, LAST_MACHINE, ALIGNMENT, FAIREST, UNIFORM = range(7)
"""What a rule chooses: for the next task the first machine, that with least left or that with most free; as
CloudSimPy's first-fit; or a pair of task and machine by alignment, by dominant share, or at random."""

_LONG = 100  # tasks in a queue
_QUOTA = 2_000_000  # places of the queue looked at between two looks at the progress bar


class Rule(NamedTuple):
    """A rule and its scratch arrays, for T tasks of J jobs on M machines with R resources.

    ``rank`` ``(T,)``: the place of each task in the rule's order; ``weight`` ``(M, R)``: what a unit of a resource
    counts in a score; ``job`` ``(T,)`` and ``first_task`` ``(J + 1,)``: which tasks are whose; ``draws``: uniform
    numbers in [0, 1), one an instance; ``score``, ``choice`` ``(M,)``; ``share`` ``(J,)``: dominant shares; ``fitting``
    ``(M, T)``; ``least`` ``(R,)``: what every waiting task needs of each resource, or less.
    """

    choice_of: int
    rank: IntArray
    weight: FloatArray
    job: IntArray
    first_task: IntArray
    draws: FloatArray
    score: FloatArray
    choice: IntArray
    share: FloatArray
    fitting: BoolArray
    least: NDArray[np.int64] | NDArray[np.float64]


@compiled
def run_rule(state: State, rule: Rule) -> bool:
    """Replay under a rule; False when it is over, True when there is more to do or no room left to record it."""
    at, looked = state.at, 0
    while at.batches + at.concurrent <= len(state.batches):
        if looked > _QUOTA:
            return True
        if not next_instant(state):
            return False
        looked += at.queued + 1
        if at.queued:
            _pass(state, rule)
    return True


@no_refcount
def _pass(state: State, rule: Rule) -> None:
    queued = state.at.waiting
    _keep_order(state, rule)
    if rule.choice_of == LAST_MACHINE:
        _machine_by_machine(state, rule)
    elif rule.choice_of == ALIGNMENT:
        _best_aligned(state, rule)
    elif rule.choice_of == FAIREST:
        _fairest(state, rule)
    elif rule.choice_of == UNIFORM:
        _uniform(state, rule)
    else:
        _task_by_task(state, rule)
    if state.at.queued >= _LONG and not _all_full(state, rule):
        _look_again(state, rule)
    note_pass(state, queued)


@no_refcount
def _keep_order(state: State, rule: Rule) -> None:
    """Bring new tasks of the queue to their places in the rule's order."""
    queue, at, rank = state.queue, state.at, rule.rank
    for new in range(at.ordered, at.queued):
        task, place_ = queue[new], new
        for r in range(len(rule.least)):
            rule.least[r] = min(rule.least[r], state.demands[task, r])
        while place_ > 0 and rank[queue[place_ - 1]] > rank[task]:
            queue[place_] = queue[place_ - 1]
            place_ -= 1
        queue[place_] = task
    at.ordered = at.queued


@no_refcount
def _is_full(state: State, rule: Rule, machine: int) -> bool:
    """Whether it is obvious that no waiting task fits on a machine."""
    for r in range(len(rule.least)):  # noqa: SIM110  (the compiler knows no generators)
        if state.free[machine, r] < rule.least[r]:
            return True
    return False


@no_refcount
def _all_full(state: State, rule: Rule) -> bool:
    for machine in range(len(state.free)):  # noqa: SIM110
        if not _is_full(state, rule, machine):
            return False
    return True


@no_refcount
def _look_again(state: State, rule: Rule) -> None:
    """Take what the tasks in the queue need at least: one that needed less may have started."""
    for r in range(len(rule.least)):
        rule.least[r] = state.demands[state.queue[0], r]
        for i in range(1, state.at.queued):
            rule.least[r] = min(rule.least[r], state.demands[state.queue[i], r])


@no_refcount
def _task_by_task(state: State, rule: Rule) -> None:
    if _all_full(state, rule):
        return
    for i in range(state.at.queued):
        task, before = state.queue[i], state.at.started
        while state.waiting[task] > 0:
            machine = _machine_for(state, rule, task)
            if machine < 0:
                break
            place(state, task, machine)
        if state.waiting[task] > 0 and state.at.started > before and _all_full(state, rule):
            return


@no_refcount
def _machine_for(state: State, rule: Rule, task: int) -> int:
    """The machine that the rule chooses for an instance, -1 if it fits on none; the first of equal ones."""
    chosen, least = -1, np.inf
    for machine in range(len(state.free)):
        if fits(state, task, machine):
            if rule.choice_of == FIRST:
                return machine
            left = room(state.free, machine, rule.weight)
            if rule.choice_of == FREEST:
                left = -left
            if left < least:
                chosen, least = machine, left
    return chosen


@no_refcount
def _machine_by_machine(state: State, rule: Rule) -> None:
    """CloudSimPy's first-fit: the last machine that fits anything takes the first task that fits it."""
    for back in range(len(state.free)):
        machine = len(state.free) - 1 - back
        if _is_full(state, rule, machine):
            continue
        for i in range(state.at.queued):
            task, before = state.queue[i], state.at.started
            while state.waiting[task] > 0 and fits(state, task, machine):
                place(state, task, machine)
            if state.at.started > before and _is_full(state, rule, machine):
                break


@no_refcount
def _best_aligned(state: State, rule: Rule) -> None:
    """Tetris: the pair with the largest sum over resources of free x demand; of equal ones the first, by machines."""
    choice, score = rule.choice, rule.score
    for machine in range(len(state.free)):
        _align(state, rule, machine)
    while True:
        best = -1
        for machine in range(len(choice)):
            if choice[machine] >= 0 and state.waiting[choice[machine]] == 0:
                _align(state, rule, machine)
            if choice[machine] >= 0 and (best < 0 or score[machine] > score[best]):
                best = machine
        if best < 0:
            return
        place(state, choice[best], best)
        _align(state, rule, best)


@no_refcount
def _align(state: State, rule: Rule, machine: int) -> None:
    """The best task for a machine, -1 if none fits."""
    rule.choice[machine] = -1
    if _is_full(state, rule, machine):
        return
    for i in range(state.at.queued):
        task = state.queue[i]
        if state.waiting[task] > 0 and fits(state, task, machine):
            aligned = alignment(state.free, machine, state.demands, task, rule.weight)
            if rule.choice[machine] < 0 or aligned > rule.score[machine]:
                rule.choice[machine], rule.score[machine] = task, aligned


@no_refcount
def _fairest(state: State, rule: Rule) -> None:
    """Dominant-resource fairness: the job with the least dominant share gets an instance of its first task that fits.

    ``weight`` states the share of the cluster that a unit of a resource is. A job without a task that fits is out.
    """
    share, queue = rule.share, state.queue
    if _all_full(state, rule):
        return
    for i in range(state.at.queued):
        share[rule.job[queue[i]]] = _dominant_share(state, rule, rule.job[queue[i]])
    while True:
        poorest = -1
        for i in range(state.at.queued):
            job = rule.job[queue[i]]
            if state.waiting[queue[i]] > 0 and (poorest < 0 or share[job] < share[poorest]):
                poorest = job
        if poorest < 0 or share[poorest] == np.inf:
            return
        share[poorest] = _serve(state, rule, poorest)
        if _all_full(state, rule):
            return


@no_refcount
def _serve(state: State, rule: Rule, job: int) -> float:
    """Place one instance of a job; its new dominant share, infinite if none fits."""
    for i in range(state.at.queued):
        task = state.queue[i]
        if rule.job[task] == job and state.waiting[task] > 0:
            for machine in range(len(state.free)):
                if fits(state, task, machine):
                    place(state, task, machine)
                    return _dominant_share(state, rule, job)
    return np.inf


@no_refcount
def _dominant_share(state: State, rule: Rule, job: int) -> float:
    first, last = rule.first_task[job], rule.first_task[job + 1]
    return dominant_share(state.running, state.demands, first, last, rule.weight[0])


@no_refcount
def _uniform(state: State, rule: Rule) -> None:
    """Every pair of a waiting task and a machine that it fits on is equally likely."""
    fitting, counts = rule.fitting, rule.choice
    for machine in range(len(counts)):
        _note_fitting(state, rule, machine)
    while True:
        total = 0
        for machine in range(len(counts)):
            total += counts[machine]
        if total == 0:
            return
        drawn = int(rule.draws[state.at.started] * total)
        machine = 0
        while drawn >= counts[machine]:
            drawn -= counts[machine]
            machine += 1
        i = 0
        while drawn > 0 or not fitting[machine, i]:
            if fitting[machine, i]:
                drawn -= 1
            i += 1
        task = state.queue[i]
        place(state, task, machine)
        if state.waiting[task] == 0:
            for other in range(len(counts)):
                if counts[other] > 0 and fitting[other, i]:
                    fitting[other, i] = False
                    counts[other] -= 1
        _note_fitting(state, rule, machine)


@no_refcount
def _note_fitting(state: State, rule: Rule, machine: int) -> None:
    count = 0
    for i in range(0 if _is_full(state, rule, machine) else state.at.queued):
        good = state.waiting[state.queue[i]] > 0 and fits(state, state.queue[i], machine)
        rule.fitting[machine, i] = good
        if good:
            count += 1
    rule.choice[machine] = count
