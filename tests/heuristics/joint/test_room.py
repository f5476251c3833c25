"""Idle nodes by switch: best fit by hand, and costs as the model counts them."""

from __future__ import annotations

import numpy as np
import pytest

from tests.solvers.joint.test_joint import random_joint
from transom.heuristics.joint.room import best_fit, cost_of, fill, jobs_of, move, owners, room_of
from transom.models import PAPER, FatTree, Joint

pytestmark = pytest.mark.fast

TREE = FatTree.uniform(16, 4, 8)  # two pods of two leaf switches of four nodes


def room_for(idle: list[int], size: int, limit: int = 16) -> tuple[bool, list[int]]:
    """Whether a job finds room, and what it takes of each leaf switch that has idle nodes."""
    room, _ = room_of(Joint(TREE, np.array(idle), [size], [1]))
    counts = np.zeros(room.above.shape[1], np.int64)
    return bool(best_fit(room, size, limit, counts)), counts.tolist()


def test_the_fullest_switch_of_the_lowest_level_with_room() -> None:
    assert room_for([0, 1, 2, 4, 5, 8, 9, 10, 11], 2) == (True, [0, 2, 0])
    assert room_for([0, 1, 2, 4, 5, 8, 9, 10, 11], 4) == (True, [0, 0, 4])
    # No leaf switch has five: the pod with five, not the other one with room for more.
    assert room_for([0, 1, 2, 4, 5, 8, 9, 10, 12, 13, 14], 5) == (True, [3, 2, 0, 0])


def test_whole_switches_first_and_the_rest_where_it_fits_best() -> None:
    # Three leaf switches under the core: the largest whole, then the smallest that holds what is left.
    room, _ = room_of(Joint(TREE, np.array([0, 1, 4, 8, 9, 10, 11]), [5], [1]))
    counts = np.zeros(3, np.int64)
    assert fill(room, len(room.above) - 1, 0, 5, True, counts) == 2
    assert counts.tolist() == [0, 1, 4]


def test_limits_on_leaf_switches_are_kept() -> None:
    idle = [0, 1, 4, 5, 8, 12]
    assert room_for(idle, 4, 2) == (True, [2, 2, 0, 0])
    assert not room_for(idle, 5, 2)[0]
    assert not room_for(idle, 7)[0]


def test_nodes_that_are_taken_come_back() -> None:
    room, _ = room_of(Joint(TREE, np.array([0, 1, 4, 8]), [3], [1]))
    before, counts = room.free.copy(), np.array([2, 1, 0])
    move(room, counts, -1)
    assert room.free[0].tolist() == [0, 0, 1]
    assert room.free[-1, 0] == 1
    move(room, counts, 1)
    assert np.array_equal(room.free, before)


@pytest.mark.parametrize("seed", range(30))
def test_costs_are_those_of_the_model(seed: int) -> None:
    problem = random_joint(np.random.default_rng(seed))
    room, leaf = room_of(problem)
    pairs = np.zeros(room.above.shape[1], np.int64)
    for job, size in enumerate(problem.sizes.tolist()):
        counts = np.zeros((len(problem), room.above.shape[1]), np.int64)
        if size <= len(problem.idle) and best_fit(room, size, size, counts[job]):
            owner = owners(problem, leaf, counts)
            assert np.array_equal(np.bincount(leaf[owner == job], minlength=counts.shape[1]), counts[job])
            paid = problem.cost_weight * cost_of(room, size, counts[job], pairs)
            assert problem.weights[job] - paid == pytest.approx(problem.value(owner), rel=1e-9, abs=1e-9)
            assert not pairs.any()


def test_mandatory_jobs_outweigh_all_others() -> None:
    problem = Joint(TREE, np.arange(8), [2, 3, 4], [5, 7, 11], 1.0, [0], PAPER)
    jobs = jobs_of(problem)
    assert jobs.weights[1:].tolist() == [7, 11]
    assert jobs.weights[0] > 5 + 7 + 11
