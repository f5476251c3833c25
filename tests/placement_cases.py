"""Random placements, and their optima by going through everything."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from transom.models import Placement


def random_placement(rng: np.random.Generator, largest: int = 12) -> Placement:
    """Up to four tasks, three machines (often identical) and three resources; values of every kind."""
    tasks, machines, resources = rng.integers(1, 5), rng.integers(1, 4), rng.integers(1, 4)
    free = rng.integers(0, largest + 1, (machines, resources))
    if machines > 1 and rng.random() < 0.5:
        free[1:] = free[0]
    demands = rng.integers(0, largest // 2 + 1, (tasks, resources))
    if tasks > 1 and rng.random() < 0.2:
        demands[1] = demands[0]
    waiting, durations = rng.integers(0, 4, tasks), rng.integers(0, 20, tasks)
    problem = Placement(free, demands, waiting, durations=durations, maximal=bool(rng.random() < 0.3))
    kind = rng.integers(0, 4)
    if kind < 3:
        return problem.with_objective(("count", "area", "area-duration")[kind])
    values = rng.integers(0, 30, tasks) * int(rng.choice([1, 7]))
    return Placement(free, demands, waiting, values, durations, problem.maximal)


def optimum(problem: Placement) -> int:
    """The largest value; what leaves nothing out that fits is worth no less, so that ``maximal`` does not matter."""
    demands = [tuple(row) for row in problem.demands.tolist()]
    waiting, values = problem.waiting.tolist(), problem.values.tolist()

    @cache
    def best(task: int, rooms: tuple[tuple[int, ...], ...]) -> int:
        if task == len(demands):
            return 0
        limits = []
        for room in rooms:
            counts = [have // need for have, need in zip(room, demands[task], strict=True) if need]
            limits.append(range(min([waiting[task], *counts]) + 1))
        found = 0
        for counts in product(*limits):
            if sum(counts) <= waiting[task]:
                left = tuple(
                    tuple(have - count * need for have, need in zip(room, demands[task], strict=True))
                    for room, count in zip(rooms, counts, strict=True)
                )
                # Machines that are left alike are so in any order.
                found = max(found, sum(counts) * values[task] + best(task + 1, tuple(sorted(left))))
        return found

    return best(0, tuple(sorted(map(tuple, problem.free.tolist()))))
