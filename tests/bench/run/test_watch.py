"""Limits of a worker: those of a run are by the clock, those of what stands around it by CPU time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.bench.faulty import task
from transom.bench.run import watch
from transom.bench.run.heartbeat import JUDGING, RUNNING, WARMING, WorkerStatus
from transom.bench.run.watch import PATIENCE, Watch


class Process:
    """A process that has used so much CPU time, as psutil tells of one."""

    pid = os.getpid()

    def __init__(self) -> None:
        self.used = 0.0

    def cpu_times(self) -> tuple[float, ...]:
        return (0.5 * self.used, 0.25 * self.used, 0.25 * self.used, 0.0, 99.0)  # the last is no time of work

    def children(self, recursive: bool) -> list[Any]:
        return []

    def memory_info(self) -> Any:
        return type("Memory", (), {"rss": 0})


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr(watch, "monotonic", lambda: now[0])
    monkeypatch.setattr("transom.bench.run.heartbeat.monotonic", lambda: now[0])
    return now


def watched(folder: Path) -> tuple[Watch, WorkerStatus, Process]:
    status, process = WorkerStatus(folder / "status", new=True), Process()
    return Watch(task("greedy"), status, process, folder / "output"), status, process


def test_a_warm_up_is_ended_by_its_cpu_time_and_not_by_the_clock(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    children: list[Process] = []
    monkeypatch.setattr(watch, "_children", lambda process, seen: children)
    looking, status, process = watched(tmp_path)
    process.used = 5000.0  # of earlier runs
    status.begin(WARMING, processor=600.0)
    assert looking.well()
    process.used += 100.0
    clock[0] += 5000.0  # a machine that gives it a fiftieth of a processor
    assert looking.well()
    children.append(Process())
    children[0].used = 499.0
    assert looking.well()
    children[0].used = 501.0
    assert not looking.well()
    assert looking.verdict == ("timeout", "warm-up was ended after 601.0 s of CPU time", None)


def test_a_warm_up_that_waits_for_ever_is_ended_in_the_end(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_children", lambda process, seen: [])
    looking, status, _ = watched(tmp_path)
    status.begin(WARMING, processor=600.0)
    clock[0] += 600.0 * PATIENCE
    assert looking.well()
    clock[0] += 1.0
    assert not looking.well()
    assert looking.verdict is not None
    assert looking.verdict[1].startswith("warm-up was ended after 6001.0 s, in which it did nothing for 600")


def test_a_warm_up_that_waits_for_a_processor_is_not_ended(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_children", lambda process, seen: [])
    demand = [3.0]
    monkeypatch.setattr(watch, "_demand", lambda process: demand[0])
    looking, status, _ = watched(tmp_path)
    status.begin(WARMING, processor=600.0)
    assert looking.well()
    clock[0] += 20_000.0
    demand[0] += 15_000.0
    assert looking.well()
    clock[0] += 1_001.0
    assert not looking.well()


def test_a_run_is_ended_by_the_clock(tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_children", lambda process, seen: [])
    looking, status, process = watched(tmp_path)
    status.begin(WARMING, processor=600.0)
    assert looking.well()
    status.begin(RUNNING, 2.0)
    process.used = 10_000.0  # many threads
    clock[0] += 1.9
    assert looking.well()
    clock[0] += 0.2
    assert not looking.well()
    assert looking.verdict == ("timeout", "the run was ended after 2.1 s", pytest.approx(2.1))


def test_a_deadline_that_is_taken_back_between_two_looks_is_not_missed(
    tmp_path: Path, clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    looking, status, _ = watched(tmp_path)
    status.begin(RUNNING, longest=60.0)
    read = WorkerStatus.__getattr__

    def then_done(self: WorkerStatus, name: str) -> float:
        value = read(self, name)
        if name == "deadline":
            self.begin(JUDGING)
        return value

    monkeypatch.setattr(WorkerStatus, "__getattr__", then_done)
    assert looking.well()
