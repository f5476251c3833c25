"""Windows out of a workload: valid, binding, seeded; their knapsacks carry the objective's values."""

from __future__ import annotations

import numpy as np
import pytest

from transom.errors import SpecError
from transom.generate import generate_lublin, random_windows, window_knapsacks
from transom.models import Cluster, Job, Knapsack, WaitingNodes
from transom.traces import TracedJob, Workload

pytestmark = pytest.mark.fast


@pytest.fixture(scope="module")
def workload() -> Workload:
    return generate_lublin(400, 128, np.random.default_rng(0))


def test_windows_are_stretches_of_the_workload(workload: Workload) -> None:
    windows = list(random_windows(workload, 200, 20, np.random.default_rng(1)))
    assert len(windows) == 200
    for window in windows:
        assert (np.diff(window.queue.id) == 1).all()
        assert len(window.queue) == 20
        assert window.now >= window.queue.submit.max()
        assert (window.running.id < window.queue.id[0]).all()
        assert window.queue.nodes.min() <= window.free_nodes <= 128
        assert window.queue.nodes.sum() > window.free_nodes
        assert window.free_nodes + window.running.nodes.sum() <= 128
        assert (window.running_end <= window.now + window.running.walltime).all()
    assert any(len(window.running) for window in windows)
    assert len({window.free_nodes for window in windows}) > 50


def test_same_seed_same_windows(workload: Workload) -> None:
    one, two = (list(random_windows(workload, 5, 10, np.random.default_rng(2))) for _ in range(2))
    assert one == two
    assert one != list(random_windows(workload, 5, 10, np.random.default_rng(3)))


def test_without_binding_anything_may_be_free(workload: Workload) -> None:
    windows = list(random_windows(workload, 300, 2, np.random.default_rng(4), binding=False))
    assert any(window.queue.nodes.sum() <= window.free_nodes for window in windows)


@pytest.mark.parametrize("objective", ["nodes", "wait", "dras-capability", "dras-capacity"])
def test_knapsacks_are_those_of_the_windows(workload: Workload, objective: str) -> None:
    from transom import registry

    value = registry.make(registry.OBJECTIVES, objective)
    windows = random_windows(workload, 10, 30, np.random.default_rng(5))
    expected = [Knapsack.from_window(window, value) for window in windows]
    assert list(window_knapsacks(workload, 10, 30, np.random.default_rng(5), objective)) == expected


def test_an_objective_may_be_an_object(workload: Workload) -> None:
    by_name = list(window_knapsacks(workload, 3, 30, np.random.default_rng(6), "wait"))
    assert list(window_knapsacks(workload, 3, 30, np.random.default_rng(6), WaitingNodes())) == by_name


def test_further_resources_are_never_exceeded() -> None:
    jobs = [TracedJob(Job(i, i, 1 + i % 3, 60, (i % 4,)), 30) for i in range(1, 60)]
    workload = Workload.of(jobs, Cluster(12, ("gpu",), (9,)))
    for window in random_windows(workload, 50, 5, np.random.default_rng(7)):
        assert window.available[1] + window.running.demand.sum() == 9  # Window checks the rest


def test_jobs_as_large_as_the_machine() -> None:
    workload = Workload.of([TracedJob(Job(i, 0, 4, 60), 30) for i in (1, 2, 3)], Cluster(4))
    for window in random_windows(workload, 20, 1, np.random.default_rng(8)):
        assert window.free_nodes == 4


def test_out_of_range(workload: Workload) -> None:
    for size in (0, 401):
        with pytest.raises(SpecError, match=f"size must be from 1 to the workload's 400 jobs, got {size}"):
            random_windows(workload, 1, size, np.random.default_rng(0))
    with pytest.raises(SpecError, match="number must be >= 0, got -1"):
        random_windows(workload, -1, 5, np.random.default_rng(0))
    with pytest.raises(SpecError, match="unknown objective 'profit'"):
        window_knapsacks(workload, 1, 5, np.random.default_rng(0), "profit")
