"""Further resources are held like nodes: by reservations, by the free profile, by the judge of schedules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transom.models import Cluster, Job, JobTable
from transom.simulation import MODES, simulate
from transom.simulation.output.verification import check_schedule
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


def machine(*rows: tuple[int, int, int, int, int]) -> Workload:
    """A workload on 8 nodes and 10 units of a burst buffer from (id, submit, nodes, buffer, walltime)."""
    jobs = [TracedJob(Job(id_, at, nodes, walltime, (bb,)), walltime) for id_, at, nodes, bb, walltime in rows]
    return Workload.of(jobs, Cluster(8, ("bb",), (10,)), "by hand")


# At 1 the head wants 6 of the buffer, of which 2 are free until 10. Nodes there are enough of.
BLOCKED = ((1, 0, 2, 8, 10), (2, 1, 2, 6, 5))


@pytest.mark.parametrize("policy", ["fcfs-easy", "fcfs-conservative", "window:solver=dp,seconds=none"])
@pytest.mark.parametrize(
    ("third", "start"),
    [
        ((3, 2, 2, 2, 90), 2),  # it takes 2, and leaves the head 8 of 10 at 10
        ((3, 2, 2, 0, 90), 2),  # it takes nothing of the buffer
        ((3, 2, 2, 2, 8), 2),  # it ends by then
    ],
)
def test_a_head_that_the_burst_buffer_blocks_gets_its_reservation(
    policy: str, third: tuple[int, int, int, int, int], start: int
) -> None:
    workload = machine(*BLOCKED, third)
    schedule = simulate(workload, policy)
    assert schedule.start.tolist() == [0, 10, start]
    assert [MODES[mode] for mode in schedule.mode] == ["ready", "reserved", "backfilled"]
    assert (2, 10) in zip(
        schedule.decisions["reserved_job"].tolist(), schedule.decisions["reserved_start"].tolist(), strict=True
    )
    assert check_schedule(workload, schedule) == []


@pytest.mark.parametrize("policy", ["fcfs-easy", "fcfs-conservative", "window:solver=dp,seconds=none"])
def test_backfilling_does_not_take_the_buffer_from_the_head(policy: str) -> None:
    # Job 1 leaves 5; the head wants 9 at 10. Job 3 would keep 2 until 92: it fits now and has to wait nevertheless.
    schedule = simulate(machine((1, 0, 2, 5, 10), (2, 1, 2, 9, 5), (3, 2, 2, 2, 90)), policy)
    assert schedule.start.tolist() == [0, 10, 15]


def test_the_plain_order_stops_at_a_job_that_the_buffer_blocks() -> None:
    assert simulate(machine(*BLOCKED, (3, 2, 1, 0, 5)), "fcfs").start.tolist() == [0, 10, 10]


@pytest.mark.parametrize("resource", [0, 1, 2])
def test_too_much_of_any_resource_is_found(resource: int) -> None:
    demand = [1 + 3 * (r == resource) for r in range(3)]
    jobs = [TracedJob(Job(i, i, 1, 10, tuple(demand)), 10) for i in (1, 2)]
    workload = Workload.of(jobs, Cluster(8, ("bb", "gpu", "power"), (7, 7, 7)), "by hand")
    schedule = simulate(workload, "fcfs")
    assert check_schedule(workload, schedule) == []
    both = replace(schedule, start=np.array([1, 2]), end=np.array([11, 12]))
    name = workload.cluster.resources[resource]
    assert check_schedule(workload, both) == [f"{name}: 8 of 7 are used at once, first at 2 s"]


def test_other_demands_than_the_workloads_are_found() -> None:
    workload = machine(*BLOCKED)
    schedule = simulate(workload, "fcfs")
    data = schedule.jobs.data.copy()
    data[1, -1] = 1
    wrong = check_schedule(workload, replace(schedule, jobs=JobTable(data)))
    assert wrong == ["job 2: holds another demand than it asked for (1 in all)"]
    wrong = check_schedule(workload, simulate(machine_of_nodes(workload), "fcfs"))
    assert wrong == ["the jobs of the schedule state 0 further resources, those of the workload 1"]


def machine_of_nodes(workload: Workload) -> Workload:
    """The same jobs without further resources."""
    return replace(workload, cluster=Cluster(8), jobs=JobTable(workload.jobs.data[:, :-1]))
