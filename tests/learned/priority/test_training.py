"""A training gives the same weights again, resumes exactly, and refuses to go on with something else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.simulation.placement.workloads import small_workload
from transom.errors import DocumentError, SpecError
from transom.learned.priority.settings import Training
from transom.learned.priority.training import PriorityTrainer
from transom.learned.training.state import STATE
from transom.traces.tasks import TaskWorkload

SMALL = Training(generations=4, population=6, windows=3, chunks=2)


def work() -> TaskWorkload:
    made = small_workload(7)
    assert len(made.job_ids) == 4
    return small_workload(7, instances=made.instances * 5)


def trained(settings: Training, folder: Path, updates: int) -> PriorityTrainer:
    trainer = PriorityTrainer(settings, work(), folder)
    for _ in range(updates):
        trainer.update()
    trainer.save()
    return trainer


def test_a_training_that_stopped_goes_on_as_if_it_had_not(tmp_path: Path) -> None:
    whole = trained(SMALL, tmp_path / "whole", 4)
    assert whole.done
    trained(SMALL, tmp_path / "parts", 1)
    second = trained(SMALL, tmp_path / "parts", 2)
    assert not second.done
    again = trained(SMALL, tmp_path / "parts", 1)
    assert again.done
    assert np.array_equal(again.weights, whole.weights)
    assert [row.mean for row in again.curve] == [row.mean for row in whole.curve]
    lines = (tmp_path / "parts" / "curve.csv").read_text().splitlines()
    assert lines[0] == "generation,seconds,replays,longest_first,best,mean,step"
    assert len(lines) == 5
    assert not np.array_equal(
        trained(Training(**{**_plain(SMALL), "seed": 1}), tmp_path / "other", 4).weights, whole.weights
    )


def test_more_generations_go_on(tmp_path: Path) -> None:
    trained(SMALL, tmp_path, 4)
    more = PriorityTrainer(Training(**{**_plain(SMALL), "generations": 5}), work(), tmp_path)
    assert (more.done, len(more.curve)) == (False, 4)


def test_other_settings_and_other_jobs_are_refused(tmp_path: Path) -> None:
    trained(SMALL, tmp_path, 1)
    with pytest.raises(DocumentError, match="was begun with population 6, not 8"):
        PriorityTrainer(Training(**{**_plain(SMALL), "population": 8}), work(), tmp_path)
    with pytest.raises(DocumentError, match="was begun on other jobs or machines"):
        PriorityTrainer(SMALL, small_workload(7), tmp_path)
    (tmp_path / STATE).write_bytes(b"nothing")
    with pytest.raises(DocumentError, match="not the state of a training"):
        PriorityTrainer(SMALL, work(), tmp_path)


def test_both_parts_of_the_weights_have_length_one(tmp_path: Path) -> None:
    weights = trained(SMALL, tmp_path, 2).weights
    assert np.isclose([np.linalg.norm(weights[:14]), np.linalg.norm(weights[14:])], 1, atol=1e-6).all()


@pytest.mark.parametrize(("name", "value"), [("population", 3), ("windows", 0), ("seed", -1), ("step", 0.0)])
def test_settings_out_of_range_are_refused(name: str, value: float) -> None:
    with pytest.raises(SpecError, match=f"learned-priority: {name} must be"):
        Training(**{name: value})


def _plain(settings: Training) -> dict[str, int]:
    return {name: getattr(settings, name) for name in Training.__slots__}
