"""Numbers that a worker shares with its keeper, and facts of the machine."""

from __future__ import annotations

from pathlib import Path
from time import monotonic

import msgspec
import pytest

from transom.bench.plan.machine import load, machine
from transom.bench.run.heartbeat import IDLE, RUNNING, WorkerStatus


def test_what_one_writes_the_other_reads(tmp_path: Path) -> None:
    keeper = WorkerStatus(tmp_path / "status", new=True)
    worker = WorkerStatus(tmp_path / "status")
    assert (keeper.stage, keeper.deadline) == (IDLE, 0)
    before = monotonic()
    worker.begin(RUNNING, 2.5)
    assert keeper.stage == RUNNING
    assert before <= keeper.since <= monotonic()
    assert keeper.deadline == pytest.approx(keeper.since + 2.5, abs=1e-6)
    assert keeper.processor == 0
    worker.begin(IDLE, processor=600.0)
    assert (keeper.stage, keeper.deadline, keeper.processor) == (IDLE, 0, 600)
    with pytest.raises(AttributeError):
        _ = keeper.nothing
    worker.close()
    assert keeper.processor == 600  # whatever becomes of the worker


def test_facts_of_the_machine_are_plain_and_plausible() -> None:
    facts = machine()
    assert msgspec.json.decode(msgspec.json.encode(facts)) == facts
    assert facts["usable"] >= 1
    assert facts["memory"] > 100
    assert all(facts[name] for name in ("host", "processor", "system", "cores"))
    assert (load() or 0.0) >= 0
