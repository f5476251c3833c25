"""A replay that goes on from an instant, given the real runtimes, ends as the replay from the beginning does."""

from __future__ import annotations

import numpy as np
import pytest

from transom.models import JobTable
from transom.simulation import make_policy, simulate
from transom.simulation.core.promise_log import PromiseLog, promises_in_force
from transom.simulation.passes.continued import Continued
from transom.simulation.policies.by_name import RulePolicy
from transom.traces import Workload, cut, read_swf


@pytest.fixture(scope="module")
def workload() -> Workload:
    return cut(read_swf("instances/workloads/lublin_5000.swf.gz"), 0, 900)


def with_parents(workload: Workload) -> Workload:
    """Every seventh job waits for the end of the one before it."""
    ids = workload.jobs.id.tolist()
    parents = {ids[k]: (ids[k - 1],) for k in range(7, len(ids), 7)}
    return Workload("chained", workload.cluster, JobTable(workload.jobs.data, parents), workload.runtime)


@pytest.mark.parametrize(
    "policy",
    ["fcfs", "fcfs-easy", "sjf-easy", "wfp3-easy", "fcfs-conservative", "sjf-conservative", "unicep-conservative"],
)
@pytest.mark.parametrize("chained", [False, True])
def test_a_continued_replay_is_the_whole_one(workload: Workload, policy: str, chained: bool) -> None:
    if chained:
        workload = with_parents(workload)
    rule, log = make_policy(policy), PromiseLog()
    assert isinstance(rule, RulePolicy)
    schedule = simulate(workload, policy, promises=log)
    times, compared = schedule.decisions["time"], 0
    for row in range(50, len(times), len(times) // 12):
        now = int(times[row])
        promised = promises_in_force(log.pieces(), row - 1)
        left = np.flatnonzero(schedule.end >= now)
        part = workload.take(left)
        started = np.where(schedule.start[left] < now, schedule.start[left], -1)
        begins = np.array([promised.get(job, -1) for job in part.jobs.id.tolist()])
        origin = int(workload.jobs.submit[0])
        going = Continued(part, rule.rule, rule.backfilling, now, started, begins, origin)
        futures = np.tile(part.runtime, (2, 1))
        starts = going.starts(futures, np.arange(len(part)))
        assert (starts[0] == schedule.start[left]).all()
        assert (starts[1] == starts[0]).all()
        compared += int((starts[0] > now).sum())
    assert compared > 1000
