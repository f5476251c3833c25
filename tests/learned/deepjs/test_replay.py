"""Replays under a network: the decisions of plain numpy, in valid schedules, and what training sees of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.learned.deepjs.plain import fitting, replayed, two_resources
from tests.learned.deepjs.test_network import random_network
from tests.simulation.placement.workloads import small_workload
from transom import registry
from transom.errors import SpecError
from transom.learned.deepjs.learning import EpisodeBatch
from transom.learned.deepjs.network import scored
from transom.learned.deepjs.policy import NetworkPolicy, deepjs
from transom.learned.deepjs.rollouts import weigh
from transom.models.arrays import SingleArray
from transom.rng import stream
from transom.simulation.event_rules import Textbook
from transom.simulation.placement.event_rules import arrange
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.state import new_state, next_decision
from transom.simulation.placement.stepping import start
from transom.simulation.placement.verification import check_tasks


@pytest.mark.parametrize("greedy", [False, True])
def test_decisions_are_those_of_plain_numpy(greedy: bool) -> None:
    decided = 0
    for seed in range(1, 21):  # at seed 0 scores of two pairs differ in the last bit only
        work, network = two_resources(seed), random_network("code", seed)
        draws = None if greedy else stream(seed, "tasks").random(int(work.instances.sum()))
        schedule = simulate_tasks(work, NetworkPolicy(network, greedy), seed=seed)
        assert np.array_equal(schedule.batches, replayed(work, network, draws)), seed
        assert check_tasks(work, schedule) == []
        decided += int(work.instances.sum())
    assert decided > 800


def test_estimates_are_seen_and_not_durations() -> None:
    work = two_resources(3)
    policy = NetworkPolicy(random_network("paper", 1), True)
    told = replace(work, estimate=work.duration[::-1].copy())
    expected = replayed(told, policy.network, None)
    assert np.array_equal(simulate_tasks(told, policy).batches, expected)
    assert not np.array_equal(simulate_tasks(work, policy).batches, expected)


def test_it_decides_under_the_rules_of_the_program_too() -> None:
    for seed in range(5):
        work = two_resources(seed)
        schedule = simulate_tasks(work, NetworkPolicy(random_network("code", seed), True), rules="cloudsimpy")
        assert check_tasks(work, schedule) == []


def in_order(rows: SingleArray) -> SingleArray:
    return rows[np.lexsort(rows.round(3).T)]


def test_the_log_of_episodes_holds_what_was_decided_among() -> None:
    """All pairs of every decision with their features, and by how much the chance of what was chosen grows."""
    rng, rows = np.random.default_rng(0), 0
    for seed in range(8):
        work, network = two_resources(seed), random_network("paper", seed)
        batch = EpisodeBatch(work, network, 3)
        draws = rng.random((3, batch.decisions))
        ends = batch.play(draws)
        for episode in range(3):
            log = batch.log(episode)
            expected = replayed(work, network, draws[episode])
            assert ends[episode] == expected[:, 3].max()
            advantage = rng.normal(0, 1, batch.decisions)
            begin, end = batch.decisions // 3, batch.decisions
            first, last = int(log.first[begin]), int(log.last[end - 1])
            scores = scored(network, log.inputs[first:last])
            worth = np.empty_like(scores)
            likely, gained = weigh(log, scores, advantage, begin, end, worth), np.zeros(last - first)
            state, decision, total = new_state(arrange(Textbook(), work), work.instances, whole=True), 0, 0.0
            chosen = np.repeat(expected[:, :2], expected[:, 4], axis=0)
            while next_decision(state):
                more = True
                while more:
                    pairs, features = fitting(work, state)
                    assert log.time[decision] == state.at.now
                    if len(pairs) > 1:
                        there = np.flatnonzero((log.since <= decision) & (log.until > decision))
                        there = there[there < log.last[decision]]
                        assert np.allclose(in_order(log.inputs[there]), in_order(features), atol=1e-5)
                        row = int(log.chosen[decision])
                        place = pairs.index(tuple(chosen[decision]))
                        assert np.allclose(log.inputs[row], features[place], atol=1e-5)
                        if begin <= decision < end:
                            chances = np.exp(scores[there - first].astype(np.float64))
                            gained[there - first] -= advantage[decision] * chances / chances.sum()
                            gained[row - first] += advantage[decision]
                            total += np.log(chances[there == row][0] / chances.sum())
                            rows += len(there)
                    else:
                        assert log.chosen[decision] == -1
                    more = start(state, *map(int, chosen[decision]))
                    decision += 1
            assert np.allclose(worth, gained, atol=1e-4)
            assert likely == pytest.approx(total, abs=1e-3)
    assert rows > 1000


def test_a_log_without_room_grows_and_changes_nothing() -> None:
    work, network = two_resources(5), random_network("code", 1)
    draws = np.random.default_rng(0).random((2, int(work.instances.sum())))
    one, other = EpisodeBatch(work, network, 2), EpisodeBatch(work, network, 2, rows=1)
    assert np.array_equal(one.play(draws), other.play(draws))
    for a, b in zip(one.log(1), other.log(1), strict=True):
        if a.ndim == 1 and len(a) == one.decisions:
            assert np.array_equal(a, b)
    used = int(one.log(1).last.max())
    assert np.array_equal(one.log(1).inputs[:used], other.log(1).inputs[:used])


def test_runs_of_other_weights_are_other_runs() -> None:
    one, same, other = (deepjs("untrained", seed=seed) for seed in (1, 1, 2))
    assert registry.weights_of(one) == registry.weights_of(same) != registry.weights_of(other)


def test_resources_other_than_cpu_and_memory_are_refused() -> None:
    work = small_workload(2)
    assert work.resources != ("cpu", "memory")
    with pytest.raises(SpecError, match="deepjs: decides by cpu and memory, and machines have cpu"):
        simulate_tasks(work, "deepjs:model=untrained")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"model": "untrained", "network": "large"}, "network must be one of paper, code"),
        ({"model": "untrained", "seed": -1}, "seed must be >= 0"),
        ({"model": "x.safetensors", "seed": 1}, "seed and network are about model=untrained"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        deepjs(**arguments)
