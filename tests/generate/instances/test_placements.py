"""Random placements and those of replays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom.errors import SpecError
from transom.generate.instances.placements import alibaba_placement, replayed_windows, uniform_placement
from transom.generate.recipes import recipe
from transom.models import Placement
from transom.traces.tasks import parse_machines, read_tasks

TASKS = """,submit_time,duration,cpu,memory,job_id,task_id,instances_num,disk
0,10,30.5,2.0,0.25,1,1,9,0
1,10,4,1.0,0.125,1,2,3,0
2,12,7,0.5,0.5,2,1,2,0
3,50,5,1.0,0.25,3,1,2,0
"""


def test_uniform_ones_are_what_is_asked_for() -> None:
    for seed in range(20):
        made = uniform_placement(np.random.default_rng(seed), 30, 6, 3, 50, 0.4)
        assert made.demands.shape == (30, 3)
        assert made.free.shape == (6, 3)
        assert made.demands.min() >= 1
        assert made.demands.max() <= 50
        assert (made.free[:3] == made.free[0]).all()
        load = made.free.sum(axis=0) / (made.waiting @ made.demands)
        assert (load > 0.15).all()
        assert (load < 0.8).all()
        assert (made.fitting(made.free) > 0).all()


def test_machines_of_several_sizes() -> None:
    made = uniform_placement(np.random.default_rng(0), 30, 20, 3, 50, 0.4, kinds=5)
    assert len(np.unique(made.free, axis=0)) == 5
    assert all((made.free[i : i + 4] == made.free[i]).all() for i in range(0, 20, 4))


def test_alibaba_ones_are_like_the_trace() -> None:
    made = alibaba_placement(np.random.default_rng(1), 5000, 5, 0.9)
    assert made.capacities.tolist() == [[1280, 2**61]] * 5
    assert {10, 20} < set(made.demands[:, 0].tolist())
    assert np.median(made.demands[:, 1] / 2**61) == pytest.approx(0.0054, rel=0.15)  # of the trace
    assert np.median(made.waiting) == pytest.approx(5, abs=1)
    assert np.median(made.durations) == pytest.approx(14, abs=2)
    used = [
        1 - problem.free[:, 0].sum() / 6400
        for problem in (alibaba_placement(np.random.default_rng(i), 40, 5, 0.5) for i in range(40))
    ]
    assert np.mean(used) == pytest.approx(0.5, abs=0.1)
    assert (alibaba_placement(np.random.default_rng(2), 10, 3, 0.0).free == [1280, 2**61]).all()


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.csv"
    path.write_text(TASKS)
    return path


def test_windows_of_a_replay(tasks: Path) -> None:
    workload = read_tasks(tasks, parse_machines(["count=2,cpu=4,memory=1"]))
    windows = replayed_windows(workload.take(0, 3), "first-fit")
    assert [window.now for window in windows] == [0, 31, 62, 66]
    first = windows[0].placement("count")
    assert first.waiting.tolist() == [9, 3]
    assert [window.now for window in replayed_windows(workload.take(0, 3), "first-fit", 10)] == [0, 31, 62]


def test_a_recipe_of_replays(tasks: Path) -> None:
    given: dict[str, Any] = {"like": str(tasks), "cluster": "cpu=4,memory=1 count=1,cpu=4,memory=1", "jobs": 2}
    made = list(recipe("placement", {**given, "every": 1, "minimum": 1, "maximal": True}).make(0, 100))
    assert all(isinstance(each, Placement) and each.maximal and each.resources == ("cpu", "memory") for each in made)
    assert made[0].waiting.tolist() == [9, 3]
    assert made[-1].waiting.tolist() == [2]  # the chunk of the last job alone


def test_chunks_may_be_left_out(tasks: Path) -> None:
    given: dict[str, Any] = {"like": str(tasks), "cluster": "count=2,cpu=4,memory=1", "jobs": 1, "minimum": 1}
    every = [each.waiting.tolist() for each in recipe("placement", given).make(0, 100)]
    later = [each.waiting.tolist() for each in recipe("placement", {**given, "skip": 2}).make(0, 100)]
    assert later == [[2]] == every[-1:]
    with pytest.raises(SpecError, match="no more than 3 chunks"):
        recipe("placement", {**given, "skip": 3})


@pytest.mark.reference
def test_windows_of_the_trace(shared: Path) -> None:
    like = shared / "traces" / "cloudsimpy_alibaba_jobs.csv.gz"
    made = list(recipe("placement", {"like": str(like), "every": 10}).make(0, 60))
    assert len(made) == 60
    assert all((problem.capacities == [1280, 2**61]).all() for problem in made)
    assert max(len(problem) for problem in made) > 10
