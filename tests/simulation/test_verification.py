from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transom.models import Cluster, Job
from transom.simulation import Schedule, simulate
from transom.simulation.verification import check_schedule
from transom.traces import TracedJob, Workload


@pytest.fixture
def workload() -> Workload:
    jobs = [
        TracedJob(Job(1, 0, 3, 10, (2,)), 8),
        TracedJob(Job(2, 1, 3, 5, (1,)), 5),
        TracedJob(Job(3, 2, 1, 4, (2,), depends_on=(1,)), 4),
    ]
    return Workload.of(jobs, Cluster(4, ("gpu",), (3,)))


@pytest.fixture
def schedule(workload: Workload) -> Schedule:
    return simulate(workload, "fcfs-easy")


def moved(schedule: Schedule, job: int, by: int) -> Schedule:
    change = np.where(schedule.jobs.id == job, by, 0)
    return replace(schedule, start=schedule.start + change, end=schedule.end + change)


def test_a_sound_schedule_passes(workload: Workload, schedule: Schedule) -> None:
    assert check_schedule(workload, schedule) == []


@pytest.mark.parametrize(
    ("job", "by", "says"),
    [
        (1, -1, "job 1: starts before its submission"),
        (2, -7, "nodes: 6 of 4 are used at once, first at 1 s"),
        (3, -5, "job 3: starts before a job it depends on has ended"),
        (3, -5, "gpu: 4 of 3 are used at once"),
    ],
)
def test_what_is_wrong_is_named(workload: Workload, schedule: Schedule, job: int, by: int, says: str) -> None:
    assert any(line.startswith(says) for line in check_schedule(workload, moved(schedule, job, by)))


def test_runtimes_sizes_and_jobs_must_be_the_workloads(workload: Workload, schedule: Schedule) -> None:
    longer = replace(schedule, end=schedule.end + 1)
    assert check_schedule(workload, longer)[0] == "job 1: does not run for its runtime (3 in all)"
    assert check_schedule(workload.take([0, 1]), schedule) == ["the schedule and the workload differ in job 3"]
