"""The change that an answer names does gain what it says."""

from __future__ import annotations

import numpy as np
import pytest

from transom.forecast.conformal import scores
from transom.forecast.past import Past
from transom.forecast.questions import Answer, answers
from transom.models import Cluster, JobTable
from transom.models.job import NODES, WALLTIME
from transom.simulation import simulate
from transom.traces import Workload


def asked(workload: Workload, policy: str, place: int) -> Answer:
    """An answer without calibration."""
    past = Past(workload.take(np.arange(place + 1)), policy, np.full(place + 1, -1))
    (at,) = past.instants([(int(workload.jobs.submit[place]), place + 1)])
    (answer,) = answers(past.known, at, np.array([place]), scores(np.empty((0, 3)), np.empty(0)), 0)
    return answer


@pytest.mark.parametrize("policy", ["fcfs", "fcfs-easy", "fcfs-conservative"])
def test_a_smaller_request_starts_an_hour_sooner_by_the_plan(workload: Workload, policy: str) -> None:
    start = simulate(workload, policy).start
    places = np.flatnonzero(start - workload.jobs.submit > 4 * 3600)[::20][:8]
    kinds = set()
    for place in places.tolist():
        told = asked(workload, policy, place)
        if told.plan == told.now:
            continue
        assert (told.because["asked"] <= told.because["free"]) == ("held for jobs ahead" in told.because["text"])
        assert told.because["resource"] == "nodes"
        change = told.because["sooner"]
        if change is None:
            continue
        job, data = workload.jobs[place], workload.jobs.data.copy()
        assert told.now <= change["start"] <= told.plan - 3600
        kinds.add(change["nodes"] == job.nodes)
        assert (change["nodes"] < job.nodes) != (change["walltime"] < job.walltime)
        data[place, [NODES, WALLTIME]] = change["nodes"], change["walltime"]
        runtime = np.minimum(workload.runtime, data[:, WALLTIME])
        runtime[place] = data[place, WALLTIME]
        changed = Workload("changed", workload.cluster, JobTable(data), runtime)
        assert asked(changed, policy, place).plan <= change["start"]
    assert kinds or policy == "fcfs"


def test_a_job_is_held_by_what_it_asks_for(workload: Workload) -> None:
    nodes, whole = workload.jobs.nodes, workload.cluster.num_nodes
    batch, gpus = np.where(nodes < whole, nodes, 0), np.where(workload.jobs.id % 5 == 0, 1, 0)
    names = ("partition_debug", "partition_batch", "gpu")
    demand = np.column_stack((np.zeros(len(nodes), np.int64), batch, gpus))
    parted = Workload(
        "parted",
        Cluster(whole, names, (2, whole - 1, 2)),
        JobTable(np.column_stack((workload.jobs.data, demand))),
        workload.runtime,
    )
    start, told = simulate(parted, "fcfs-easy").start, []
    for place in np.flatnonzero(start - parted.jobs.submit > 2 * 3600)[::10][:12].tolist():
        because = asked(parted, "fcfs-easy", place).because
        if "resource" not in because:
            continue
        told.append(because)
        assert because["asked"] == (nodes[place], *demand[place])[("nodes", *names).index(because["resource"])] > 0
    assert {each["resource"] for each in told} >= {"partition_batch", "gpu"}
    for each in told:
        said = {"gpu": "GPU", "partition_batch": "of partition batch"}.get(each["resource"], "node")
        assert said in each["text"].partition(",")[0]
    assert any(each["sooner"] and each["resource"] == "partition_batch" for each in told)
