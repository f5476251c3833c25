"""CloudSimPy's rules on its own file: the makespans of its program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks


@pytest.fixture(scope="module")
def chunks(shared: Path) -> list[TaskWorkload]:
    machines = parse_machines(["count=5,cpu=64,memory=1"])
    return list(read_tasks(shared / "traces" / "cloudsimpy_alibaba_jobs.csv.gz", machines).chunks(10))


@pytest.mark.reference
@pytest.mark.parametrize(
    ("policy", "first", "mean"), [("first-fit", [680, 413, 1124], 1033.0), ("tetris", [689, 410, 1099], 1045.3)]
)
def test_makespans_are_those_of_the_program(
    chunks: list[TaskWorkload], policy: str, first: list[int], mean: float
) -> None:
    makespans = [simulate_tasks(each, policy, rules="cloudsimpy").makespan for each in chunks]
    assert len(makespans) == 522
    assert makespans[:3] == first
    assert round(float(np.mean(makespans)), 1) == mean


@pytest.mark.reference
def test_the_file_is_read_as_a_whole(chunks: list[TaskWorkload]) -> None:
    assert sum(len(each.job_ids) for each in chunks) == 5216
    assert sum(map(len, chunks)) == 31_756
    assert sum(int(each.instances.sum()) for each in chunks) == 2_551_075
    assert chunks[0].units == (20, 2**61)
