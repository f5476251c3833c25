"""Lower bounds of the makespan: none above the best schedule, which enumeration finds on the smallest workloads."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from tests.amounts import numbers
from tests.simulation.placement.plain_tasks import RULES
from tests.simulation.placement.workloads import small_workload
from transom.simulation.placement.bounds import at_once, makespan_bound
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload


def optimum(work: TaskWorkload) -> int:
    """The least makespan: every order of the instances and every machine for each, as early as each may start."""
    tasks = np.repeat(np.arange(len(work)), work.instances).tolist()
    best = 10**9
    for order in {*permutations(tasks)}:
        for machines in product(range(len(work.machines)), repeat=len(order)):
            best = min(best, _serial(work, order, machines))
    return best - int(work.submit[0])


def _serial(work: TaskWorkload, order: tuple[int, ...], machines: tuple[int, ...]) -> int:
    used = np.zeros((len(work.machines), 60, len(work.units)), np.int64)
    last = 0
    for task, machine in zip(order, machines, strict=True):
        length, start = int(np.ceil(work.duration[task])), int(work.submit[work.job[task]])
        if (work.demands[task] > work.machines[machine]).any():
            return 10**9
        while (used[machine, start : start + length] + work.demands[task] > work.machines[machine]).any():
            start += 1
        used[machine, start : start + length] += work.demands[task]
        last = max(last, start + length)
    return last


@numbers(100, 400)
def test_no_schedule_undercuts_the_bound(numbers: range) -> None:
    met = 0
    for seed in numbers:
        work = small_workload(seed)
        work = small_workload(seed, instances=np.ones(len(work)))
        if len(work) > 5 or len(work.machines) > 2:
            continue
        best = optimum(work)
        assert makespan_bound(work) <= best, work
        met += makespan_bound(work) == best
    assert met > (40 if numbers.start else 10)


@numbers(100, 400)
def test_no_rule_undercuts_the_bound(numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed)
        bound = makespan_bound(work)
        assert all(simulate_tasks(work, policy).makespan >= bound for policy in RULES)


def test_each_part_of_the_bound_counts() -> None:
    def bound(**fields: object) -> int:
        one = {"resources": ["cpu"], "units": [1], "machines": [[4]], "job_ids": [1, 2], "submit": [3, 5]}
        return makespan_bound(small_workload(0, **one, job=[0, 1], task_ids=[1, 1], **fields))

    assert bound(instances=[1, 1], demands=[[1], [1]], duration=[2, 9.5]) == 12  # the longest instance
    assert bound(instances=[3, 1], demands=[[3], [1]], duration=[4, 1]) == 12  # one after another: 3 do not fit twice
    assert bound(instances=[2, 6], demands=[[2], [1]], duration=[3, 2]) == 6  # all that is needed after second 5
    # All must run in the middle at once if the makespan is to be below 8, which they cannot.
    assert bound(instances=[1, 1], demands=[[3], [2]], duration=[5, 4]) == 9


def test_how_many_instances_fit_at_once() -> None:
    work = small_workload(
        0, resources=["cpu", "gpu"], units=[1, 1], machines=[[4, 1], [4, 1], [9, 0 + 1]], job_ids=[1], submit=[0],
        job=[0, 0, 0], task_ids=[1, 2, 3], instances=[1, 1, 1], demands=[[2, 0], [3, 1], [0, 0]], duration=[1, 1, 1],
    )  # fmt: skip
    assert at_once(work).tolist() == [8, 3, 3 * 2**31]
