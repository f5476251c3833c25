"""The scorer: its features in plain numpy, and longest-first as one of its rules."""

from __future__ import annotations

import numpy as np

from tests.simulation.placement.workloads import small_workload
from transom._system.compiling import compiled
from transom.learned.priority.policy import PriorityRule
from transom.learned.priority.scorer import (
    MACHINE,
    TASK,
    Facts,
    Scratch,
    describe,
    facts_of,
    longest_first,
    look,
    new_scratch,
)
from transom.models.arrays import FloatArray
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.state import State, new_state, next_decision
from transom.simulation.placement.stepping import start
from transom.traces.tasks import TaskWorkload


@compiled
def features_of(state: State, facts: Facts, scratch: Scratch, rows: FloatArray) -> None:
    """Fill ``rows`` ``(waiting tasks, features)`` with the features of all tasks in the queue, in its order."""
    look(state, facts, scratch)
    for i in range(state.at.queued):
        describe(state, facts, scratch, state.queue[i])
        rows[i] = scratch.row


def expected(work: TaskWorkload, state: State, end: float) -> FloatArray:
    """The features of all waiting tasks, in queue order."""
    queue = state.queue[: state.at.queued]
    totals = work.machines.sum(axis=0)
    share, waiting = work.demands[queue] / totals, state.waiting[queue].astype(float)
    length = np.ceil(work.estimate[queue])
    need = (waiting * length) @ share
    backlog = max(need.max(), length.max())
    horizon = max(backlog, end - state.at.now)
    held = sum((machine // np.maximum(work.demands[queue], 1)).min(axis=1) for machine in work.machines)
    waves = np.ceil(waiting / held) * length
    scarce = share @ need / need.sum()
    energy = waiting * length * scarce
    mix = share / share.sum(axis=1, keepdims=True)
    free = state.free.sum(axis=0) / totals
    of_machine = scarce * len(work.machines)
    columns = [
        np.log(length / backlog),
        np.log(waves / backlog),
        np.log(energy / backlog),
        np.log((work.demands[queue] / work.machines.max(axis=0)).max(axis=1)),
        np.log(of_machine),
        np.log(waiting),
        mix[:, need.argmax()] - need.max() / need.sum(),
        abs(mix - free / free.sum()).sum(axis=1) / 2,
        length / backlog,
        waves / backlog,
        energy / backlog,
        of_machine,
        length / horizon,
        waves / horizon,
    ]
    return np.column_stack(columns)


def test_features_are_those_of_plain_numpy() -> None:
    compared = 0
    for seed in range(60):
        work = small_workload(seed)
        work = small_workload(seed, demands=np.maximum(work.demands, 1))
        state = new_state(arrange(Textbook(), work), work.instances, whole=True)
        facts, scratch = facts_of(work), new_scratch(len(work), len(work.units))
        end = 0.0
        while next_decision(state):
            rows = np.empty((state.at.queued, len(TASK)))
            scratch.at.end = end
            features_of(state, facts, scratch, rows)
            assert np.allclose(rows, expected(work, state, end), rtol=1e-6, atol=1e-6)
            compared += len(rows)
            more = True
            while more:
                task, machine = next(
                    (task, machine)
                    for task in state.queue[: state.at.queued]
                    for machine in range(len(work.machines))
                    if state.waiting[task] and (work.demands[task] <= state.free[machine]).all()
                )
                end = max(end, state.at.now + float(np.ceil(work.estimate[task])))
                more = start(state, int(task), machine)
    assert compared > 500


def test_longest_first_is_one_of_its_rules() -> None:
    for seed in range(80):
        work = small_workload(seed)
        # The rule compares estimates and shares of the largest machine, the scorer whole seconds and shares of each.
        alike = np.repeat(work.machines[:1], len(work.machines), axis=0)
        duration = np.random.default_rng(seed).permutation(len(work)) + 1.0
        work = small_workload(seed, machines=alike, duration=duration)
        usual = simulate_tasks(work, "longest-first")
        assert np.array_equal(simulate_tasks(work, PriorityRule(longest_first())).batches, usual.batches)


def test_units_of_time_and_amounts_do_not_matter() -> None:
    rng = np.random.default_rng(3)
    for seed in range(40):
        work = small_workload(seed, duration=rng.integers(1, 9, len(small_workload(seed))))
        weights = rng.standard_normal(len(TASK) + len(MACHINE))
        rule = PriorityRule(weights)
        larger = small_workload(
            seed,
            duration=work.duration * 4,
            submit=work.submit * 4,
            demands=work.demands * 8,
            machines=work.machines * 8,
        )
        one, other = simulate_tasks(work, rule).batches.copy(), simulate_tasks(larger, rule).batches
        one[:, 2:4] *= 4
        assert np.array_equal(one, other)
