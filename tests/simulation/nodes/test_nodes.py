from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.simulation.workloads import workloads
from transom.models import Cluster, Job
from transom.simulation import simulate
from transom.simulation.nodes.lowest_idle import assign_nodes
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


@settings(max_examples=100)
@given(workloads(max_jobs=25))
def test_each_job_gets_the_lowest_idle_ids(workload: Workload) -> None:
    schedule = simulate(workload, "fcfs-easy")
    runs = assign_nodes(schedule)
    held: dict[int, set[int]] = {}
    for job in np.argsort(schedule.order).tolist():
        low, high = runs.offsets[job], runs.offsets[job + 1]
        pieces = [set(range(runs.first[i], runs.last[i] + 1)) for i in range(low, high)]
        got = set().union(*pieces)
        busy = set().union(*(held[o] for o in held if schedule.end[o] > schedule.start[job]))
        idle = sorted(set(range(workload.cluster.num_nodes)) - busy)
        assert got == set(idle[: schedule.jobs.nodes[job]])
        assert (runs.first[low + 1 : high] > runs.last[low : high - 1] + 1).all(), "runs ascend with gaps between"
        held[job] = got


def test_runs_by_hand() -> None:
    rows = [(1, 0, 2, 4), (2, 0, 1, 9), (3, 0, 2, 4), (4, 4, 4, 1)]
    jobs = [TracedJob(Job(i, submit, nodes, length), length) for i, submit, nodes, length in rows]
    runs = assign_nodes(simulate(Workload.of(jobs, Cluster(6)), "fcfs"))
    assert runs.offsets.tolist() == [0, 1, 2, 3, 5]
    assert runs.first.tolist() == [0, 2, 3, 0, 3]
    assert runs.last.tolist() == [1, 2, 4, 1, 4]
