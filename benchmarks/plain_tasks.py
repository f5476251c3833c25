"""Tasks on machines in plain Python, event by event: what the compiled replay is compared with."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable

from transom.traces.tasks import TaskWorkload


def first_fit(work: TaskWorkload) -> int:
    """The makespan [s] of first-fit."""
    return _replay(work, list(range(len(work))), lambda free, fitting: fitting[0])


def longest_first(work: TaskWorkload) -> int:
    """The makespan [s] of the longest task first on the machine with the most free."""
    order = sorted(range(len(work)), key=lambda task: (-work.estimate[task], task))
    share = [1 / float(column.max()) for column in work.machines.T]

    def freest(free: list[list[int]], fitting: list[int]) -> int:
        return max(fitting, key=lambda m: (sum(a * b for a, b in zip(free[m], share, strict=True)), -m))

    return _replay(work, order, freest)


def _replay(work: TaskWorkload, order: list[int], choose: Callable[[list[list[int]], list[int]], int]) -> int:
    free: list[list[int]] = work.machines.tolist()
    demands: list[list[int]] = work.demands.tolist()
    left: list[int] = work.instances.tolist()
    submit = work.submit[work.job].tolist()
    length = [math.ceil(each) for each in work.duration.tolist()]
    events = [(when, -1, -1) for when in sorted(set(submit))]
    waiting, last = order, 0
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, task, machine = heapq.heappop(events)
            if task >= 0:
                last = now
                free[machine] = [a + b for a, b in zip(free[machine], demands[task], strict=True)]
        for task in waiting:
            needed = demands[task]
            while left[task] and submit[task] <= now:
                fitting = [m for m, has in enumerate(free) if all(a >= b for a, b in zip(has, needed, strict=True))]
                if not fitting:
                    break
                machine = choose(free, fitting)
                free[machine] = [a - b for a, b in zip(free[machine], needed, strict=True)]
                left[task] -= 1
                heapq.heappush(events, (now + length[task], task, machine))
        waiting = [task for task in waiting if left[task]]
    return last
