"""Replays step by step are those of the rules, and say of each pair what a scheduler may know."""

from __future__ import annotations

import numpy as np

from tests.amounts import numbers
from tests.simulation.placement.workloads import small_workload
from transom.rng import stream
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.state import State, new_state, next_decision
from transom.simulation.placement.stepping import FEATURES, pairs, restart, start
from transom.traces.tasks import TaskWorkload


def stepped(work: TaskWorkload, state: State, seed: int) -> None:
    """An episode in which every pair is equally likely."""
    draws = stream(seed, "tasks").random(int(work.instances.sum()))
    room, resources = len(work) * len(work.machines), len(work.units)
    found, features = np.empty((room, 2), np.int64), np.empty((room, 2 * resources + FEATURES))
    machines, estimate = work.machines.astype(float), work.estimate.copy()
    while next_decision(state):
        more = True
        while more:
            count = pairs(state, machines, estimate, found, features)
            task, machine = found[int(draws[state.at.started] * count)]
            more = start(state, int(task), int(machine))


@numbers(60, 200)
def test_an_episode_of_random_choices_is_the_replay_of_random(numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed)
        state = new_state(arrange(Textbook(), work), work.instances, whole=True)
        for each in (seed, seed + 1):  # an episode after another in the same arrays
            restart(state, work.machines, work.instances)
            stepped(work, state, each)
            schedule = simulate_tasks(work, "random", seed=each)
            assert np.array_equal(state.batches[: state.at.batches], schedule.batches)
            started = schedule.passes[:, 2] > 0
            assert np.array_equal(state.log[: state.at.passes], schedule.passes[started])


def test_features_are_shares_of_the_machine_and_what_is_known_of_the_task() -> None:
    work = small_workload(
        0, resources=["cpu"], units=[2], machines=[[4], [8]], job_ids=[1, 2], submit=[0, 5], job=[0, 1],
        task_ids=[1, 1], instances=[3, 2], demands=[[4], [6]], duration=[7.5, 9], estimate=[10, 11],
    )  # fmt: skip
    state = new_state(arrange(Textbook(), work), work.instances, whole=True)
    found, features = np.empty((4, 2), np.int64), np.empty((4, 6))
    assert next_decision(state)
    assert pairs(state, work.machines.astype(float), work.estimate.copy(), found, features) == 2
    assert found[:2].tolist() == [[0, 0], [0, 1]]
    assert features[:2].tolist() == [[1, 1, 10, 3, 0, 0], [1, 0.5, 10, 3, 0, 0]]
    assert start(state, 0, 0)
    assert pairs(state, work.machines.astype(float), work.estimate.copy(), found, features) == 1
    assert features[0].tolist() == [1, 0.5, 10, 2, 1, 0]
    assert start(state, 0, 1)
    assert not start(state, 0, 1)
    assert next_decision(state)
    assert state.at.now == 8  # what is submitted at second 5 fits nowhere
    pairs(state, work.machines.astype(float), work.estimate.copy(), found, features)
    assert features[0].tolist() == [1, 0.75, 11, 2, 0, 3]
    assert state.log[: state.at.passes].tolist() == [[0, 3, 3]]
