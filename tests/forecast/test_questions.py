"""Answers follow from the past alone, and the walltime plan is what the engine makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from transom.forecast.questions import ask
from transom.models import JobTable
from transom.models.job import NODES, WALLTIME
from transom.simulation import simulate
from transom.traces import Workload, cut, read_swf


@pytest.fixture(scope="module")
def workload() -> Workload:
    """Jobs that use between a tenth of their walltimes and all of them."""
    made = cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 500)
    used = np.random.default_rng(1).integers(1, 11, len(made))
    return Workload("made", made.cluster, made.jobs, np.maximum(made.jobs.walltime * used // 10, 1))


@pytest.mark.parametrize("policy", ["fcfs-easy", "sjf-easy", "fcfs-conservative"])
def test_later_lines_and_runtimes_change_nothing(workload: Workload, policy: str) -> None:
    start = simulate(workload, policy).start
    place = int(np.flatnonzero(start[300:] - workload.jobs.submit[300:] > 600)[0]) + 300
    now, job = workload.jobs.submit[place], int(workload.jobs.id[place])
    told = ask(workload, policy, [job])
    data, runtime = workload.jobs.data.copy(), workload.runtime.copy()
    data[place + 1 :, NODES], data[place + 1 :, WALLTIME] = 1, 77
    runtime[place + 1 :] = 5
    going = start + workload.runtime > now
    runtime[: place + 1][going[: place + 1]] = workload.jobs.walltime[: place + 1][going[: place + 1]]
    altered = Workload("made", workload.cluster, JobTable(data), runtime)
    assert ask(altered, policy, [job]) == told
    assert told[0].p10 <= told[0].p50 <= told[0].p90
    # In the altered trace jobs run to their limits: without what is submitted later its replay is the plan.
    assert simulate(altered.take(np.arange(place + 1)), policy).start[place] == told[0].plan
