"""The search over orders: never worse than longest-first, never below the bound, and non-delay."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulation.placement.workloads import small_workload
from transom.errors import SpecError
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.offline import search_orders
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.verification import check_tasks


def test_it_finds_shorter_schedules_that_stand() -> None:
    shorter = 0
    for seed in range(60):
        work = small_workload(seed)
        first = simulate_tasks(work, "longest-first").makespan
        found = search_orders(work, iterations=40, seed=1)
        assert makespan_bound(work) <= found.makespan <= first
        assert check_tasks(work, found) == []
        assert found == search_orders(work, iterations=40, seed=1)
        shorter += found.makespan < first
    assert shorter > 5


def test_its_schedules_leave_nothing_idle_that_fits() -> None:
    for seed in range(60):
        work = small_workload(seed)
        rows = search_orders(work, iterations=10).batches
        submit, length = work.submit[work.job], np.ceil(work.duration)
        for now in np.unique(np.concatenate((rows[:, 2], rows[:, 3], submit))):
            runs = rows[(rows[:, 2] <= now) & (rows[:, 3] > now)]
            free = work.machines.copy()
            np.subtract.at(free, runs[:, 1], work.demands[runs[:, 0]] * runs[:, 4:5])
            gone = np.bincount(rows[rows[:, 2] <= now, 0], rows[rows[:, 2] <= now, 4], len(work))
            waiting = np.flatnonzero((submit <= now) & (gone < work.instances))
            assert not (work.demands[waiting, None] <= free).all(axis=2).any(), (seed, now, length)


def test_tasks_of_many_instances_are_taken_in_parts_that_are_put_together_again() -> None:
    work = small_workload(2, instances=np.full(len(small_workload(2)), 37))
    found = search_orders(work, iterations=30)
    assert check_tasks(work, found) == []
    assert found.makespan <= simulate_tasks(work, "longest-first").makespan


def test_an_end_has_to_be_stated() -> None:
    with pytest.raises(SpecError, match="state seconds or iterations"):
        search_orders(small_workload(0))
    assert search_orders(small_workload(1), seconds=0.05).makespan > 0
