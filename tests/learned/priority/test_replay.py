"""Replays by learned priorities: schedules stand, nothing waits that fits, and nothing of the future is used."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from tests.simulation.placement.workloads import small_workload
from transom.errors import SpecError
from transom.learned.priority.policy import PriorityRule
from transom.learned.priority.scorer import MACHINE, TASK
from transom.models.arrays import IntArray
from transom.simulation.placement.replay import simulate_tasks
from transom.simulation.placement.schedule import TaskSchedule
from transom.simulation.placement.verification import check_tasks
from transom.traces.tasks import TaskWorkload

PER_TASK = ("job", "task_ids", "instances", "demands", "duration", "estimate")


def rules(seed: int) -> Iterator[PriorityRule]:
    """The same random weights without rollouts and with some."""
    weights = np.random.default_rng(seed).standard_normal(len(TASK) + len(MACHINE))
    yield PriorityRule(weights)
    yield PriorityRule(weights, rollouts=6, noise=1.0)


def starts(schedule: TaskSchedule, before: int, jobs: int) -> IntArray:
    """What the first jobs start before an instant."""
    rows, work = schedule.batches, schedule.workload
    found: IntArray = rows[(rows[:, 2] < before) & (work.job[rows[:, 0]] < jobs)][:, [0, 1, 2, 4]]
    return found


def test_schedules_stand_and_leave_nothing_idle_that_fits() -> None:
    for seed in range(60):
        work = small_workload(seed)
        submit = work.submit[work.job]
        for rule in rules(seed):
            schedule = simulate_tasks(work, rule)
            assert check_tasks(work, schedule) == []
            rows = schedule.batches
            for now in np.unique(np.concatenate((rows[:, 2], rows[:, 3], submit))):
                runs = rows[(rows[:, 2] <= now) & (rows[:, 3] > now)]
                free = work.machines.copy()
                np.subtract.at(free, runs[:, 1], work.demands[runs[:, 0]] * runs[:, 4:5])
                gone = np.bincount(rows[rows[:, 2] <= now, 0], rows[rows[:, 2] <= now, 4], len(work))
                waiting = np.flatnonzero((submit <= now) & (gone < work.instances))
                assert not (work.demands[waiting, None] <= free).all(axis=2).any(), (seed, now)


def test_the_same_seed_gives_the_same_schedule() -> None:
    other = 0
    for seed in range(20):
        work = small_workload(seed, instances=np.full(len(small_workload(seed)), 9))
        for rule in rules(seed):
            first = simulate_tasks(work, rule, seed=1)
            assert simulate_tasks(work, rule, seed=1) == first
            other += simulate_tasks(work, rule, seed=2) != first
    assert other > 0  # rollouts draw from it


def altered(work: TaskWorkload, jobs: int, rng: np.random.Generator) -> TaskWorkload:
    """The first jobs with quite other ones after them, or with none."""
    later = work.job >= jobs
    if rng.random() < 0.3:
        named = {name: getattr(work, name)[~later] for name in PER_TASK}
        return replace(work, job_ids=work.job_ids[:jobs], submit=work.submit[:jobs], **named)
    return replace(
        work,
        submit=np.where(np.arange(len(work.submit)) >= jobs, work.submit + rng.integers(0, 3), work.submit),
        instances=np.where(later, rng.integers(1, 30, len(work)), work.instances),
        demands=np.where(later[:, None], np.minimum(work.demands + 1, work.machines.min(axis=0)), work.demands),
        duration=np.where(later, rng.integers(1, 90, len(work)), work.duration),
        estimate=np.where(later, rng.integers(1, 90, len(work)), work.estimate),
    )


def test_later_jobs_change_no_earlier_start() -> None:
    rng, compared = np.random.default_rng(0), 0
    for seed in range(150):
        work = small_workload(seed)
        jobs = int(np.searchsorted(work.submit, work.submit[-1]))  # those before the last submission
        if jobs == 0:
            continue
        other = altered(work, jobs, rng)
        for rule in rules(seed):
            before = starts(simulate_tasks(work, rule), int(work.submit[jobs]), jobs)
            assert np.array_equal(before, starts(simulate_tasks(other, rule), int(work.submit[jobs]), jobs)), seed
            compared += len(before)
    assert compared > 200


def test_true_durations_are_not_seen_before_the_end() -> None:
    rng, differ = np.random.default_rng(1), 0
    for seed in range(100):
        work = small_workload(seed, estimate=rng.integers(1, 20, len(small_workload(seed))))
        longer = small_workload(seed, estimate=work.estimate, duration=work.duration + rng.integers(1, 9, len(work)))
        for rule in rules(seed):
            one, other = simulate_tasks(work, rule), simulate_tasks(longer, rule)
            first = int(one.batches[:, 3].min())  # the first end in either
            jobs = len(work.job_ids)
            assert np.array_equal(starts(one, first, jobs), starts(other, first, jobs))
            differ += one.makespan != other.makespan
    assert differ > 50


def test_rollouts_shorten_schedules_of_jobs_that_are_all_there() -> None:
    shorter = 0
    for seed in range(100):
        work = small_workload(seed, submit=np.zeros(len(small_workload(seed).job_ids)))
        alone, ahead = (simulate_tasks(work, rule).makespan for rule in rules(seed))
        assert ahead <= min(alone, simulate_tasks(work, "longest-first").makespan + 1)
        shorter += ahead < alone
    assert shorter > 10


@pytest.mark.parametrize(("name", "value"), [("rollouts", -1), ("rollouts", 10**9), ("noise", -0.1), ("noise", np.nan)])
def test_numbers_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(SpecError, match=f"learned-priority: {name} must be"):
        PriorityRule(np.zeros(len(TASK) + len(MACHINE)), **{name: value})
