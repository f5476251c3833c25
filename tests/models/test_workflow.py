"""The model of workflows: what it refuses, what it derives, and its judge."""

from __future__ import annotations

import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Workflow

pytestmark = pytest.mark.fast

DIAMOND = Workflow(
    name="diamond",
    tasks=["a", "b", "c", "d"],
    runtimes=[1.5, 4, 2.25, 1],
    edges=[[0, 1], [2, 3], [0, 2], [1, 3], [0, 1]],
    nodes=[1, 2, 2, 3],
    resources=["memory"],
    demands=[[1], [5], [4], [0]],
)


def test_what_it_derives() -> None:
    assert DIAMOND.edges.tolist() == [[0, 1], [0, 2], [1, 3], [2, 3]]
    assert [part.tolist() for part in DIAMOND.parents] == [[0, 0, 1, 2, 4], [0, 0, 1, 2]]
    assert [part.tolist() for part in DIAMOND.children] == [[0, 2, 3, 4, 4], [1, 2, 3, 3]]
    assert (DIAMOND.ticks, DIAMOND.durations.tolist()) == (100, [150, 400, 225, 100])
    assert DIAMOND.order().tolist() == [0, 1, 2, 3]
    assert DIAMOND.earliest().tolist() == [0, 150, 150, 550]
    assert DIAMOND.critical_path() == 6.5
    assert DIAMOND.walltimes.tolist() == [1.5, 4, 2.25, 1]
    assert DIAMOND.programs == ("a", "b", "c", "d")
    assert pickle.loads(pickle.dumps(DIAMOND)) == DIAMOND  # noqa: S301  (our own)
    assert Workflow("w", ["x"], [3]).value([0]) == 3
    assert isinstance(Workflow("w", ["x"], [3]).value([0]), int)


@pytest.mark.parametrize(
    ("runtimes", "ticks"), [([3, 4], 1), ([0.1, 2], 10), ([0.009611, 926.660604], 10**6), ([1 / 3], 10**6), ([], 1)]
)
def test_ticks_are_as_fine_as_the_runtimes(runtimes: list[float], ticks: int) -> None:
    made = Workflow("w", [f"t{i}" for i in range(len(runtimes))], runtimes)
    assert made.ticks == ticks
    assert np.abs(made.durations / ticks - made.runtimes).max(initial=0) <= 0.5e-6


def test_the_judge() -> None:
    on = DIAMOND.on(4, {"memory": 9})
    assert on.violations([0, 150, 150, 550]) == []
    assert on.violations([0, 150, 150, 500])[:1] == ["task 'd' starts at 5 s, its parent 'b' ends at 5.5 s"]
    tight = DIAMOND.on(3, {"memory": 8})
    assert tight.violations([0, 150, 150, 550]) == [
        "at 1.5 s 4 of nodes are in use, the machine has 3", "at 1.5 s 9 of memory are in use, the machine has 8",
    ]  # fmt: skip
    assert tight.violations([0, 150, 550, 775]) == []  # an end frees what a start of the same instant takes
    assert tight.value([0, 150, 550, 775]) == 8.75
    assert on.violations([0, 150, 150]) == ["a solution has a start for each of 4 tasks, got shape (3,)"]
    assert on.violations([0, 150.0, 150, 550]) == ["a solution holds whole numbers of ticks"]
    assert "'a' starts before 0" in on.violations([-1, 150, 150, 550])[0]
    assert DIAMOND.trivial() is not None
    assert tight.trivial() is None


def test_tasks_of_no_runtime_take_nothing() -> None:
    made = Workflow("w", ["a", "b", "c"], [0, 2, 0], [[1, 2]]).on(1)
    assert made.violations([0, 0, 2]) == []
    assert made.value([0, 0, 2]) == 2


def test_amounts_of_54_bits_are_added_exactly() -> None:
    most = 2**53 - 1
    names = [f"t{i}" for i in range(2000)]
    made = Workflow("w", names, [1] * 2000, resources=["m"], demands=[[most]] * 2000).on(2000, {"m": most})
    assert f"{2000 * most} of m" in made.violations([0] * 2000)[0]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"runtimes": [1, -1]}, "task 'b': runtime must be a number >= 0, got -1"),
        ({"runtimes": [1, np.nan]}, "task 'b': runtime must be a number >= 0, got nan"),
        ({"runtimes": [1]}, r"runtimes: expected shape \(2,\)"),
        ({"tasks": ["a", "a"]}, "task 'a' stands twice"),
        ({"tasks": ["a", ""]}, "texts that are not empty"),
        ({"edges": [[0, 2]]}, r"edge \[0, 2\]: there are 2 tasks"),
        ({"edges": [[0, 0]]}, "tasks wait for each other in a cycle: a -> a"),
        ({"edges": [[0, 1], [1, 0]]}, "cycle: . -> . -> ."),
        ({"nodes": [1, 0]}, "task 'b': nodes must be >= 1, got 0"),
        ({"nodes": [1, 2**53]}, "task 'b': nodes must be < 2"),
        ({"walltimes": [1, 0]}, "task 'b': walltime must be > 0"),
        ({"costs": [1, -2]}, "task 'b': cost must be a number >= 0"),
        ({"resources": ["gpu"], "demands": [[0], [-1]]}, "task 'b': gpu must be >= 0, got -1"),
        ({"resources": ["nodes"], "demands": [[0], [1]]}, "resource 'nodes' stands twice"),
        ({"machine": [0]}, "nodes of the machine must be > 0"),
        ({"nodes": [1, 9], "machine": [8]}, "task 'b' needs 9 of nodes, the machine has 8"),
        ({"programs": ["x"]}, "2 tasks, but 1 programs"),
        ({"runtimes": [2.0**40, 1]}, "2\\*\\*40 s or more"),
    ],
)
def test_what_it_refuses(fields: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        Workflow(**{"name": "w", "tasks": ["a", "b"], "runtimes": [1, 2], **fields})


def test_a_cycle_is_reported_in_its_direction() -> None:
    edges = [[0, 1], [1, 2], [2, 3], [3, 1], [3, 4]]
    with pytest.raises(ModelError) as caught:
        Workflow("w", list("abcde"), [1] * 5, edges)
    told = str(caught.value).rpartition(": ")[2].split(" -> ")
    assert told[0] == told[-1]
    pairs = {("abcde"[parent], "abcde"[child]) for parent, child in edges}
    assert {*pairwise(told)} <= pairs
    ring = [[i, (i + 1) % 100] for i in range(100)]
    with pytest.raises(ModelError, match=r"-> \.\.\. ->"):
        Workflow("w", [f"t{i}" for i in range(100)], [1] * 100, ring)


def test_a_machine_names_what_no_task_states() -> None:
    with pytest.raises(ModelError, match="no task states 'gpu'; further resources: memory"):
        DIAMOND.on(4, {"gpu": 1})
    assert DIAMOND.on(4).machine.tolist() == [4, 10]


def test_the_earliest_starts_are_the_answer_exactly_where_the_machine_has_room_for_them() -> None:
    rng, known = np.random.default_rng(4), set()
    for _ in range(300):
        count = int(rng.integers(1, 7))
        edges = [(a, b) for a in range(count) for b in range(a + 1, count) if rng.random() < 0.3]
        names = [f"t{i}" for i in range(count)]
        flow = Workflow("w", names, rng.integers(0, 4, count), edges, rng.integers(1, 3, count)).on(
            int(rng.integers(2, 6))
        )
        starts = flow.earliest()
        used = [
            sum(int(flow.nodes[t]) for t in range(count) if starts[t] <= now < starts[t] + flow.durations[t])
            for now in range(25)
        ]
        fits = max(used) <= flow.machine[0]
        known.add(fits)
        assert (flow.trivial() is not None) == fits
    assert known == {True, False}


def test_the_digest_is_made_once_and_is_what_it_was() -> None:
    flow = Workflow("w", ["a", "b"], [1.5, 2], [[0, 1]]).on(2)
    assert flow.digest() is flow.digest()
    assert flow.digest() == replace(flow).digest() == "c07fc327a4ce30ce00ca0dbebfe8fd6e"
    assert Workflow("w", ["a", "b"], [1.5, 2]).on(2).digest() != flow.digest()
