"""A policy in RAPS, against stand-ins with the interfaces of its scheduler, resources and engine."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from transom.adapters.raps import MODULE
from transom.cli import run
from transom.generate import generate_lublin
from transom.simulation import simulate
from transom.traces import Workload

# What the module stands above: places jobs, and takes recorded placements as they are.
DEFAULT = """
class Scheduler:
    def __init__(self, config, policy, bfpolicy=None, jobs=None, resource_manager=None):
        self.config, self.policy, self.resource_manager = config, policy, resource_manager

    def schedule(self, queue, running, current_time, accounts=None, sorted=False):
        for job in queue[:]:
            self.place_job_and_manage_queues(job, queue, running, current_time)

    def place_job_and_manage_queues(self, job, queue, running, current_time):
        self.resource_manager.assign_nodes_to_job(job, current_time, self.policy)
        running.append(job)
        queue.remove(job)
"""
Make = Callable[..., Any]


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """The class that the command writes into a package with RAPS's names."""

    def make(policy: str) -> Any:
        folder = tmp_path / "raps" / "schedulers"
        folder.mkdir(parents=True)
        for package in (folder.parent, folder):
            (package / "__init__.py").write_text("")
        (folder / "default.py").write_text(DEFAULT)
        assert run(["adapters", "raps", "--policy", policy, "--out", str(folder / "transom.py"), "-q"]) == 0
        monkeypatch.syspath_prepend(str(tmp_path))
        for name in [name for name in sys.modules if name.partition(".")[0] == "raps"]:
            monkeypatch.delitem(sys.modules, name)
        made = importlib.import_module("raps.schedulers.transom")
        for name in [name for name in sys.modules if name.partition(".")[0] == "raps"]:
            monkeypatch.delitem(sys.modules, name)
        return made.Scheduler

    return make


class Nodes:
    """The resource manager: the first free nodes."""

    def __init__(self, total: int, down: tuple[int, ...] = ()) -> None:
        self.total_nodes, self.down_nodes = total, set(down)
        self.available_nodes = [node for node in range(total) if node not in self.down_nodes]

    def assign_nodes_to_job(self, job: Any, now: int, policy: object) -> None:
        assert job.nodes_required <= len(self.available_nodes)
        job.scheduled_nodes = self.available_nodes[: job.nodes_required]
        self.available_nodes = self.available_nodes[job.nodes_required :]
        job.start_time = now


def jobs_of(workload: Workload) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(
            id=job.id, submit_time=job.submit, nodes_required=job.nodes, time_limit=job.walltime,
            expected_run_time=runtime, start_time=None, scheduled_nodes=[0],
        )
        for job, runtime in zip(workload.jobs, workload.runtime.tolist(), strict=True)
    ]  # fmt: skip


def engine(scheduler: Any, nodes: Nodes, jobs: list[SimpleNamespace]) -> dict[int, int]:
    """RAPS's engine: what ended, then what is submitted, then one call if there was any of it."""
    queue: list[Any] = []
    running: list[Any] = []
    coming = list(jobs)
    while coming or running:
        ends = [job.start_time + job.expected_run_time for job in running]
        now = min([*ends, *(job.submit_time for job in coming[:1])])
        for job in [job for job, end in zip(running, ends, strict=True) if end == now]:
            running.remove(job)
            nodes.available_nodes = sorted(nodes.available_nodes + job.scheduled_nodes)
        while coming and coming[0].submit_time == now:
            queue.append(coming.pop(0))
        scheduler.schedule(queue, running, now, accounts=None, sorted=False)
    assert queue == []
    return {job.id: job.start_time for job in jobs}


@pytest.mark.parametrize(("policy", "count"), [("fcfs-easy", 2000), ("saf-easy", 300), ("fcfs-conservative", 300)])
def test_starts_equal_those_of_a_replay(scheduler: Make, policy: str, count: int) -> None:
    workload = generate_lublin(count, 64, np.random.default_rng(8), load=0.9)
    nodes = Nodes(64)
    made = scheduler(policy)(config={}, policy=SimpleNamespace(value="fcfs"), jobs=[], resource_manager=nodes)
    schedule = simulate(workload, policy)
    wanted = dict(zip(schedule.jobs.id.tolist(), schedule.start.tolist(), strict=True))
    assert engine(made, nodes, jobs_of(workload)) == wanted


def test_what_ran_before_is_placed_by_raps_and_down_nodes_get_nothing(scheduler: Make) -> None:
    nodes = Nodes(4, down=(1,))
    made = scheduler("fcfs-easy")(config={}, policy=SimpleNamespace(value="replay"), jobs=[], resource_manager=nodes)
    first, second, third = (
        SimpleNamespace(
            id=name, submit_time=0.0, nodes_required=size, time_limit=limit, start_time=None, scheduled_nodes=[]
        )
        for name, size, limit in (("a", 2, 50), ("b", 2, None), ("c", 1, 40.5))
    )
    running: list[Any] = []
    made.schedule([first], running, -5, sorted=True)
    assert running == [first]
    made.policy = SimpleNamespace(value="fcfs")
    queue = [second, third]
    made.schedule(queue, running, 3.0)
    assert queue == [second]
    assert third.scheduled_nodes == [3]


def test_the_command_prints_the_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["adapters", "raps", "--policy", "saf-easy", "--seed", "3"]) == 0
    assert capsys.readouterr().out == MODULE.format(policy="saf-easy", seed=3)
    assert run(["adapters", "raps", "--policy", "saf-eazy"]) == 2
    assert "saf-easy" in capsys.readouterr().err
