"""Windows of a replay are those of the generator of streams, which shares nothing with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from transom.generate.instances.tjap import StreamModel, solver_policy, stream_steps
from transom.models import AUTHORS, Cluster, JobTable
from transom.simulation import simulate
from transom.simulation.nodes.allocator import Allocator
from transom.simulation.snapshots import window_at
from transom.stop import Stop
from transom.traces import Workload

PERIODS = 60


@pytest.mark.parametrize(
    ("model", "spec"),
    [
        (StreamModel(), "sequential"),
        (StreamModel(), "scas-dp"),
        (StreamModel(pod_nodes=40, window="code", most=5, sizes=(1, 60)), "scas-dp"),
        (StreamModel(period=25, most=3, gaps=(1, 12)), "scas-dp"),
        (StreamModel(sizes=(1, 90)), "dcas-exact"),
    ],
)
def test_windows_of_a_replay_are_those_of_the_stream(model: StreamModel, spec: str) -> None:
    until = PERIODS * model.period
    submit, nodes, runtime = model.arrivals(until, np.random.default_rng(5))
    unknown = np.full(len(submit), -1)
    jobs = JobTable(np.column_stack((np.arange(1, len(submit) + 1), submit, nodes, runtime, unknown, unknown)))
    workload = Workload("stream", Cluster(model.nodes, topology=model.tree()), jobs, runtime)
    policy = f"nwp:period={model.period},window={model.window}" + (f",limit={model.most}" if model.most else "")
    placer, rule = solver_policy(spec, stop=Stop(seconds=60))
    schedule = simulate(workload, policy, allocator=Allocator(spec, rule, AUTHORS, seconds=60))
    runs, spread = schedule.runs, schedule.spread
    assert runs is not None
    assert spread is not None
    steps = list(stream_steps(model, PERIODS, np.random.default_rng(5), placer, rule, True, AUTHORS))
    assert len(steps) > PERIODS / 2
    for step in steps:
        now = int(step.window.period or 0) * model.period
        cut = window_at(schedule, now)
        assert np.array_equal(cut.idle, step.window.idle), f"at {now} s"
        ids = step.window.ids.tolist()
        for job, id_ in enumerate(ids):
            position = id_ - 1
            held = [
                node
                for run in range(runs.offsets[position], runs.offsets[position + 1])
                for node in range(runs.first[run], runs.last[run] + 1)
            ]
            assert held == step.window.idle[step.owner == job].tolist(), f"job {id_} at {now} s"
            assert spread.hop_cost[position] == step.problem.job_costs(step.owner)[job]
        row = int(np.searchsorted(schedule.decisions["time"], now))
        assert schedule.decisions["allocation_cost"][row] == step.problem.value(step.owner)
    assert replace(schedule, runs=None) == schedule
