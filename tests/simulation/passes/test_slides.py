"""What slides took and freed, and where a job may slide beside it, against arrays of seconds."""

from __future__ import annotations

import numpy as np
import pytest

from transom.simulation.core.events import DEMAND, NEVER, State
from transom.simulation.passes.availability import add, new_profile, trim
from transom.simulation.passes.freed_time import new_freed, slide
from transom.simulation.passes.slides import STEPS, clear_steps, enter_steps, has_room, new_slides, raise_steps

HORIZON = 600


def state(jobs: np.ndarray, free: np.ndarray) -> State:
    empty = np.zeros(0, np.int64)
    return State(jobs, empty, empty.reshape(0, 2), empty.reshape(0, 2), empty, free, empty, empty)


@pytest.mark.parametrize("seed", [1, 2])
def test_steps_are_the_sum_of_what_was_taken(seed: int) -> None:
    rng, made = np.random.default_rng(seed), new_slides(1)
    plain = np.zeros(HORIZON, np.int64)
    for _ in range(2000):
        if not has_room(made):
            assert made.taken.size[0] > STEPS - 2
            clear_steps(made.taken)
            assert made.taken.time[0] == NEVER
            plain[:] = 0
        begin = int(rng.integers(0, HORIZON - 1))
        end, nodes = min(HORIZON, begin + int(rng.integers(1, 30))), int(rng.integers(1, 3))
        raise_steps(made.taken, begin, end, nodes)
        plain[begin:end] += nodes
        size = int(made.taken.size[0])
        changes = np.flatnonzero(np.diff(plain, prepend=0, append=0))
        assert made.taken.time[:size].tolist() == changes.tolist(), "neighbours differ, and none is missing"
        assert made.taken.nodes[: size - 1].tolist() == plain[changes[:-1]].tolist()
        assert made.taken.nodes[size - 1] == 0


@pytest.mark.parametrize(("seed", "resources"), [(1, 0), (2, 0), (3, 1)])
def test_a_job_slides_as_far_as_there_is_room_beside_what_slides_took(seed: int, resources: int) -> None:
    rng = np.random.default_rng(seed)
    free = np.full(1 + resources, 12)
    jobs = np.zeros((2, DEMAND + 1 + resources), np.int64)
    slid = 0
    for _ in range(60):
        profile, made = new_profile(free, 4000), new_slides(1 + resources)
        plain = np.repeat(free[:, None], HORIZON, axis=1)
        trim(profile, 0)
        for _ in range(int(rng.integers(0, 200))):
            begin = int(rng.integers(0, HORIZON - 50))
            end = begin + int(rng.integers(1, 50))
            jobs[0, DEMAND:] = rng.integers(0, 2, 1 + resources)
            if (plain[:, begin:end] >= jobs[0, DEMAND:, None]).all():
                add(profile, jobs, 0, begin, end, -1)
                plain[:, begin:end] -= jobs[0, DEMAND:, None]
        while has_room(made) and rng.random() < 0.8:
            begin = int(rng.integers(0, HORIZON - 50))
            end = begin + int(rng.integers(1, 50))
            if (plain[0, begin:end] > 0).all():
                raise_steps(made.taken, begin, end, 1)
                plain[0, begin:end] -= 1
        for known in (False, True):
            if known:  # the same once the profile knows
                enter_steps(profile, made)
                clear_steps(made.taken)
            freed = new_freed(state(jobs, free))
            for _ in range(50):
                jobs[1, DEMAND:] = rng.integers(1, 6), *rng.integers(0, 3, resources)
                room = (plain >= jobs[1, DEMAND:, None]).all(axis=0)
                old = int(rng.integers(1, HORIZON))
                since = old
                while since > 0 and room[since - 1]:
                    since -= 1
                assert slide(freed, made.taken, profile, jobs, 1, old) == since
                slid += since < old
    assert slid > 100
