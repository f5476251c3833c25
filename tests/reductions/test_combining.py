"""Combining compatible tasks and splitting workflows: no cycles, nothing lost, little time lost."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from transom.errors import ModelError
from transom.generate.instances.workflows import WORKFLOW_FAMILIES, random_workflow
from transom.models import Workflow
from transom.models.arrays import BoolArray
from transom.reductions.combining import combine, combined_into, compatible, levels
from transom.reductions.splitting import split

GRAPHS = 2000


def random_graph(rng: np.random.Generator) -> Workflow:
    """A few tasks of few kinds, so that many are alike, with any edges from lower to higher in a random order."""
    count, kinds = int(rng.integers(1, 13)), int(rng.integers(1, 3))
    order = rng.permutation(count)
    after = np.triu(rng.random((count, count)) < rng.uniform(0, 0.4), 1)
    return Workflow(
        "random",
        tuple(f"t{task}" for task in range(count)),
        rng.integers(4, 4 + 4 * kinds, count),
        order[np.argwhere(after)],
        nodes=rng.integers(1, 1 + kinds, count),
        programs=tuple(rng.choice(["a", "b"][:kinds], count).tolist()),
        costs=rng.integers(0, kinds, count),
    )


def reachable(workflow: Workflow) -> BoolArray:
    """Whether there is a path from one task to another, shape ``(tasks, tasks)``."""
    paths = np.zeros((len(workflow), len(workflow)), bool)
    first, parents = workflow.parents
    for task in workflow.order().tolist():
        for parent in parents[first[task] : first[task + 1]].tolist():
            paths[:, task] |= paths[:, parent]
            paths[parent, task] = True
    return paths


def test_combining_thousands_of_random_graphs_never_creates_a_cycle() -> None:
    rng = np.random.default_rng(17)
    fewer = 0
    for _ in range(GRAPHS):
        flow = random_graph(rng)
        capacity = int(rng.integers(flow.nodes.max(), 9))
        kinds, paths = compatible(flow), reachable(flow)
        alike = kinds[:, None] == kinds[None, :]
        assert not (alike & paths).any()
        combined = combine(flow, capacity, loss=None)
        made, of = combined  # which is a Workflow: it has no cycle
        fewer += len(made) < len(flow)
        assert (made.nodes <= capacity).all()
        assert made.nodes.sum() == flow.nodes.sum()
        assert math.isclose(made.costs.sum(), flow.costs.sum())
        for task in range(len(made)):
            inside = np.flatnonzero(of == task)
            assert len({*kinds[inside].tolist()}) == 1
            assert made.runtimes[task] == flow.runtimes[inside].max()
        assert {(of[a], of[b]) for a, b in flow.edges.tolist()} == {*map(tuple, made.edges.tolist())}
        # A schedule of the combined tasks is one of the tasks.
        assert flow.violations(combined.starts(flow, made.earliest())) == []
    assert fewer > GRAPHS / 4


def test_splitting_thousands_of_random_graphs_never_creates_a_cycle() -> None:
    rng = np.random.default_rng(18)
    for _ in range(GRAPHS):
        flow = random_graph(rng)
        largest = int(rng.integers(1, 7))
        parts = split(flow, largest)
        assert sorted(np.concatenate([part.tasks for part in parts]).tolist()) == list(range(len(flow)))
        assert len(parts) == min(len(flow), 2 ** max(0, math.ceil(math.log2(len(flow) / largest))))
        number = np.empty(len(flow), np.int64)
        kept = 0
        for position, part in enumerate(parts):
            assert len(part.workflow) <= largest
            number[part.tasks] = position
            kept += len(part.workflow.edges) + len(part.waits)
            assert [flow.tasks[task] for task in part.tasks] == list(part.workflow.tasks)
            assert {*map(tuple, part.tasks[part.workflow.edges].tolist())} <= {*map(tuple, flow.edges.tolist())}
        assert kept == len(flow.edges)
        parent, child = number[flow.edges].T
        assert (parent <= child).all()


def test_a_fork_is_combined_in_waves_and_a_chain_is_not() -> None:
    fork = Workflow(
        "fork", ("s", "a", "b", "c", "d", "e"), (1, 5, 6, 7, 6, 5), [(0, t) for t in range(1, 6)],
        programs=("s", *"xxxxx"), costs=(0, 1, 1, 1, 1, 1),
    )  # fmt: skip
    made, of = combine(fork, 2, loss=None)
    assert (made.nodes.tolist(), sorted(made.runtimes.tolist())) == ([1, 2, 2, 1], [1, 5, 6, 7])
    assert of[3] == of[[2, 4]].max() or of[3] == of[[2, 4]].min()  # the longest beside one of the next
    assert made.costs.sum() == 5
    chain = Workflow("chain", ("a", "b"), (5, 5), ((0, 1),), programs=("x", "x"))
    assert len(combine(chain, 4, loss=None).workflow) == 2
    assert levels(fork).tolist() == [0, 1, 1, 1, 1, 1]


def test_tasks_of_other_kinds_or_neighbourhoods_are_not_combined() -> None:
    alike = Workflow("two", ("a", "b"), (5, 6), programs=("x", "x"))
    assert len({*compatible(alike).tolist()}) == 1
    for change in (
        {"programs": ("x", "y")}, {"nodes": (1, 2)}, {"walltimes": (5, 90)}, {"costs": (1, 4)},
        {"resources": ("memory",), "demands": ((1,), (9,))},
    ):  # fmt: skip
        assert len({*compatible(replace(alike, **change)).tolist()}) == 2
    # Alike by themselves; but one has a child of another kind.
    forked = Workflow("v", ("a", "b", "c", "d"), (5, 5, 5, 5), ((0, 2), (1, 3)), programs=("x", "x", "y", "z"))
    assert len({*compatible(forked).tolist()}) == 4
    assert len({*compatible(forked, rounds=0).tolist()}) == 3


@pytest.mark.parametrize("family", WORKFLOW_FAMILIES)
def test_no_more_is_lost_than_allowed(family: str) -> None:
    for seed in range(6):
        flow = random_workflow(np.random.default_rng(seed), family, 40, 8)
        made = combine(flow, 1000, loss=0.05).workflow
        assert made.critical_path() <= 1.05 * flow.critical_path() + 1e-9
        exact = combine(flow, 1000, loss=0).workflow
        assert math.isclose(exact.critical_path(), flow.critical_path())


def test_memory_of_the_machine_limits_what_runs_together() -> None:
    flow = Workflow(
        "m", ("a", "b", "c"), (5, 5, 5), programs=("x",) * 3, resources=("memory",), demands=((4,), (4,), (4,))
    )
    assert combine(flow, 3, loss=None).workflow.nodes.tolist() == [3]
    assert combine(flow.on(3, {"memory": 8}), 3, loss=None).workflow.nodes.tolist() == [2, 1]


def test_what_a_reader_guessed_is_still_known_of_combined_tasks() -> None:
    flow = Workflow("w", ["a", "b", "c"], [1, 2, 2], [[0, 1], [0, 2]], programs=[*"xyy"], repairs={"links": 2})
    made = combine(flow, 4).workflow
    assert (len(made), dict(made.repairs)) == (2, {"links": 2})


def test_what_cannot_be_done() -> None:
    flow = Workflow("w", ("a", "b"), (5, 5), ((0, 1),), nodes=(3, 1))
    with pytest.raises(ModelError, match="'a' needs 3 of 2"):
        combine(flow, 2)
    with pytest.raises(ModelError, match="at least one task"):
        split(flow, 0)
    long = Workflow("w", ("a", "b", "c"), (5, 5, 5), ((0, 1), (1, 2)))
    with pytest.raises(ModelError, match="cycle"):
        combined_into(long, [[0, 2], [1]])
