"""The judge of schedules of tasks finds what is wrong, and recordings give back what was written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.amounts import numbers
from tests.simulation.placement.workloads import small_workload
from transom.errors import DocumentError
from transom.simulation.placement.recording import read_task_schedules, read_tasks_card, write_tasks
from transom.simulation.placement.replay import make_task_policy, simulate_tasks
from transom.simulation.placement.runs import replay_tasks
from transom.simulation.placement.verification import check_tasks
from transom.simulation.runs import Run


@numbers(60, 200)
def test_schedules_stand_under_either_rules(numbers: range) -> None:
    for seed in numbers:
        work = small_workload(seed)
        for rules in ("textbook", "cloudsimpy"):
            assert check_tasks(work, simulate_tasks(work, "tetris", rules=rules)) == []


@pytest.mark.parametrize(
    ("column", "change", "says"),
    [
        (0, 99, "a task is stated that is none of"),
        (1, 7, "runs on a machine that is not there"),
        (2, -9, "starts before its submission"),
        (3, 1, "does not run for its duration"),
        (4, 1, "instances run, not"),
    ],
)
def test_what_is_wrong_is_said(column: int, change: int, says: str) -> None:
    work = small_workload(1)
    schedule = simulate_tasks(work, "first-fit")
    rows = schedule.batches.copy()
    rows[0, column] += change
    wrong = check_tasks(work, replace(schedule, batches=rows))
    assert any(says in each for each in wrong)


def test_a_full_machine_is_said_with_the_instant() -> None:
    work = small_workload(
        0, resources=["cpu"], units=[2**61], machines=[[2**61]] * 2, job_ids=[1], submit=[0], job=[0], task_ids=[1],
        instances=[3], demands=[[2**60 + 1]], duration=[5.0],
    )  # fmt: skip
    schedule = simulate_tasks(work, "first-fit")
    rows = schedule.batches.copy()
    rows[rows[:, 2] > 0, 2:4] -= 1
    assert check_tasks(work, schedule) == []
    assert check_tasks(work, replace(schedule, batches=rows)) == ["machine 0: holds more cpu than it has, first at 4 s"]


def test_a_recording_gives_the_schedules_back(tmp_path: Path) -> None:
    chunks = [small_workload(seed) for seed in (2, 4, 6)]
    schedules = [simulate_tasks(each, "drf", label="d") for each in chunks]
    write_tasks(schedules, tmp_path, {"seed": 3})
    assert read_task_schedules(tmp_path, chunks) == schedules
    assert read_tasks_card(tmp_path)["details"] == {"seed": 3}
    with pytest.raises(DocumentError, match="do not fit the digest"):
        read_task_schedules(tmp_path, [chunks[0], chunks[2], chunks[1]])
    with pytest.raises(DocumentError, match="expected rows by chunk"):
        read_task_schedules(tmp_path, chunks[:2])
    (tmp_path / "decisions.parquet").unlink()
    with pytest.raises(DocumentError, match="no such file"):
        read_task_schedules(tmp_path, chunks)


def test_a_finished_run_is_read_and_another_one_is_not(tmp_path: Path) -> None:
    chunks = [small_workload(seed) for seed in (2, 4)]
    run = Run("r", "random", seed=5, policy=make_task_policy("random"))
    first, kept = replay_tasks(chunks, run, tmp_path)
    assert not kept
    again, kept = replay_tasks(chunks, run, tmp_path)
    assert kept
    assert again == first
    for other in (replace(run, seed=6), replace(run, spec="drf"), replace(run, rules="cloudsimpy")):
        assert not replay_tasks(chunks, other, tmp_path)[1]
    assert not replay_tasks(chunks[:1], replace(run, rules="cloudsimpy"), tmp_path)[1]
    assert not replay_tasks(chunks[:1], replace(run, rules="cloudsimpy"), tmp_path, force=True)[1]


def test_chunks_draw_numbers_of_their_own() -> None:
    work = small_workload(7)
    (one, two), _ = replay_tasks([work, work], Run("r", "random", seed=5, policy=make_task_policy("random")))
    assert one == simulate_tasks(work, "random", seed=5, label="r")
    assert two == simulate_tasks(work, "random", seed=6, label="r")
    assert not np.array_equal(one.batches, two.batches)
