"""Pools of windows: the stream that they come from, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transom.errors import SpecError
from transom.generate.instances.tjap import StreamModel, solver_policy, stream_steps
from transom.learned.repair.pool import CLUSTERS, ClusterName, WindowPool
from transom.models import AUTHORS, PAPER, Allocation, FatTree
from transom.rng import stream

TREE = FatTree.uniform(100, 5, 20)


def windows_of(pool: WindowPool) -> list[tuple[Any, Any, Any]]:
    """Leaf switches, pods and sizes of each window."""
    w = pool.windows
    cuts = zip(w.first_node, w.first_node[1:], w.first_job, w.first_job[1:], strict=False)
    return [(w.leaf[a:b].tolist(), w.pod[a:b].tolist(), w.sizes[c:d].tolist()) for a, b, c, d in cuts]


@pytest.mark.parametrize("name", ["paper", "authors"])
def test_a_pool_holds_the_windows_of_its_streams(name: ClusterName) -> None:
    model, cost = CLUSTERS[name]
    pool = WindowPool.generate(model, cost, seed=5, epochs=2, periods=12, policy="sequential")
    place, rule = solver_policy("sequential")
    steps = [
        step.problem
        for epoch in range(2)
        for step in stream_steps(model, 12, stream(5, "repair training", epoch), place, rule, True, cost)
    ]
    assert len(pool) == len(steps) > 15
    assert windows_of(pool) == [(p.leaf.tolist(), p.pod.tolist(), p.sizes.tolist()) for p in steps]
    assert pool.largest == 40
    assert pool.tree.regular == ((10, 100) if name == "paper" else (10, 40))
    assert pool.cost == (PAPER if name == "paper" else AUTHORS)
    assert pool.windows.scale.tolist() == [100.0, 10.0 if name == "paper" else 25.0, 40.0]


def test_no_epoch_of_the_generator_is_trained_on() -> None:
    model = StreamModel()
    trained = {model.arrivals(6000, stream(seed, "repair training", e))[1].tobytes() for seed in (0, 1) for e in (0, 1)}
    drawn = {model.arrivals(6000, stream(seed, "tjap", e))[1].tobytes() for seed in (0, 1) for e in (0, 1)}
    assert len(trained) == len(drawn) == 4
    assert not trained & drawn


def test_windows_of_two_jobs_as_the_code_trains_on() -> None:
    model = StreamModel(window="code", most=2, one_node="lost")
    pool = WindowPool.generate(model, AUTHORS, seed=0, epochs=1, periods=15)
    assert max(len(sizes) for _, _, sizes in windows_of(pool)) == 2


def test_the_digest_tells_pools_apart() -> None:
    problems = [Allocation(TREE, np.arange(30), [4, 5]), Allocation(TREE, np.arange(40, 60), [6])]
    digest = WindowPool.of(problems).digest()
    assert digest == WindowPool.of(problems).digest()
    assert digest != WindowPool.of(problems[::-1]).digest()
    assert digest != WindowPool.of(problems, largest=40).digest()
    assert len(digest) == 32


def test_windows_without_a_job_are_left_out() -> None:
    pool = WindowPool.of([Allocation(TREE, np.arange(9), []), Allocation(TREE, np.arange(9), [3])])
    assert len(pool) == 1


@pytest.mark.parametrize(
    ("problems", "largest", "words"),
    [
        ([Allocation(TREE, np.arange(9), [])], None, "no window with a job"),
        ([Allocation(TREE, np.arange(9), [5, 5])], None, "window 0 asks for more nodes than are idle"),
        ([Allocation(TREE, np.arange(9), [5])], 4, "a job of 5 nodes, more than the largest of 4"),
        (
            [Allocation(TREE, np.arange(9), [5]), Allocation(FatTree.uniform(100, 10, 20), np.arange(9), [5])],
            None,
            "window 1 has another tree",
        ),
        (
            [Allocation(TREE, np.arange(9), [5]), Allocation(TREE, np.arange(9), [5], cost=AUTHORS)],
            None,
            "window 1 has another tree or cost model",
        ),
    ],
)
def test_what_no_pool_is_made_of(problems: list[Allocation], largest: int | None, words: str) -> None:
    with pytest.raises(SpecError, match=words):
        WindowPool.of(problems, largest)
