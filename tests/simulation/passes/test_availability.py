"""The profile in blocks against one that is an array of seconds."""

from __future__ import annotations

import numpy as np
import pytest

from transom.simulation.core.events import DEMAND, NEVER, WALLTIME
from transom.simulation.passes.availability import BLOCKS, SINCE, STEPS, WIDTH, add, compact, earliest, new_profile

HORIZON = 4000


@pytest.mark.parametrize(("seed", "resources"), [(1, 0), (2, 0), (3, 2)])
def test_random_changes_and_searches_equal_an_array_of_seconds(seed: int, resources: int) -> None:
    rng = np.random.default_rng(seed)
    free = rng.integers(5, 20, 1 + resources)
    plain = np.repeat(free[:, None], HORIZON, axis=1)
    profile, now = new_profile(free, 4000), 0
    profile.at[SINCE] = 0
    jobs, held = np.zeros((1, DEMAND + 1 + resources), np.int64), []
    most = 0
    for _ in range(4000):
        if held and rng.random() < 0.45:
            begin, end, amount = held.pop(int(rng.integers(len(held))))
            sign = 1
        else:
            begin = int(rng.integers(now, HORIZON - 50))
            end, amount, sign = begin + int(rng.integers(1, 50)), rng.integers(0, 3, 1 + resources), -1
            held.append((begin, end, amount))
        jobs[0, DEMAND:] = amount
        add(profile, jobs, 0, begin, end, sign)
        plain[:, begin:end] += sign * amount[:, None]
        most = max(most, int(profile.at[BLOCKS]))
        if rng.random() < 0.02:
            now += int(rng.integers(0, 20))
            profile.at[SINCE] = now
            held = [each for each in held if each[0] >= now]
        jobs[0, WALLTIME], jobs[0, DEMAND:] = rng.integers(1, 60), rng.integers(0, 12, 1 + resources)
        after = int(rng.integers(now, HORIZON - 100))
        limit = int(rng.integers(after + 1, HORIZON))
        room = np.all(plain >= jobs[0, DEMAND:, None], axis=0)
        assert earliest(profile, jobs, 0, after, limit, NEVER) == _first(room, after, limit, int(jobs[0, WALLTIME]))
    assert most > 2, f"more than one block of {WIDTH} steps"
    compact(profile)
    steps = int(profile.at[STEPS])
    changes = np.any(np.diff(plain[:, now:], axis=1) != 0, axis=0).sum()
    assert steps == 1 + changes, "neighbours differ, and none is missing"


def _first(room: np.ndarray, after: int, limit: int, length: int) -> int:
    run = 0
    for time in range(after, HORIZON):
        run = run + 1 if room[time] else 0
        if time - run + 1 >= limit:
            return limit
        if run == length:
            return time - length + 1
    return time - run + 1 if run else limit
