from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transom.models import Cluster, Job
from transom.simulation import Schedule, simulate
from transom.simulation.core.node_runs import NodeRuns
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.simulation.output.verification import check_nodes, check_schedule
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


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


def runs_of(*jobs: list[tuple[int, int]]) -> NodeRuns:
    pieces = [piece for job in jobs for piece in job]
    first, last = np.array(pieces, np.int64).T
    return NodeRuns(np.cumsum([0, *map(len, jobs)]), first, last)


def test_nodes_of_a_replay_stand(workload: Workload, schedule: Schedule) -> None:
    assert check_nodes(schedule, assign_nodes(schedule)) == []
    # Job 1 holds three nodes until 8 s, then jobs 2 and 3 start together.
    assert schedule.start.tolist() == [0, 8, 8]
    assert check_nodes(schedule, runs_of([(0, 0), (2, 3)], [(1, 3)], [(0, 0)])) == []


@pytest.mark.parametrize(
    ("runs", "says"),
    [
        (runs_of([(0, 2)], [(0, 2)], [(2, 2)]), "node 2 is held by jobs 2 and 3 at once, at 8 s"),
        (runs_of([(0, 2)], [(1, 3)], [(4, 4)]), "job 3: holds nodes 4 to 4, the machine has 0 to 3"),
        (runs_of([(0, 2)], [(2, 3)], [(0, 0)]), "job 2: holds 2 nodes, asks for 3 (1 in all)"),
        (runs_of([(0, 1), (1, 1)], [(1, 3)], [(0, 0)]), "node 1 is held twice by job 1, at 0 s"),
        (runs_of([(0, 2)], [(1, 3)]), "nodes are listed for 2 jobs, the schedule has 3"),
    ],
)
def test_wrong_nodes_are_named(schedule: Schedule, runs: NodeRuns, says: str) -> None:
    assert check_nodes(schedule, runs) == [says]
