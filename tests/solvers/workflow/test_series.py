"""Workflows as series of parts."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from tests.workflow_cases import random_project
from transom import Stop, check, solve
from transom.models import Workflow
from transom.solvers.workflow.series import series_parts

pytestmark = pytest.mark.fast


def by_definition(problem: Workflow) -> list[list[int]]:
    """Cuts between tasks sorted by their ancestors, found with networkx."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(problem)))
    graph.add_edges_from(problem.edges.tolist())
    before = {task: nx.ancestors(graph, task) for task in graph}
    order = sorted(graph, key=lambda task: len(before[task]))
    parts: list[list[int]] = [[]]
    for k, task in enumerate(order):
        if k and all({*order[:k]} <= before[later] for later in order[k:]):
            parts.append([])
        parts[-1].append(task)
    return [sorted(part) for part in parts]


def test_parts_of_random_workflows() -> None:
    rng = np.random.default_rng(9)
    cut = 0
    for _ in range(200):
        problem = random_project(rng, int(rng.integers(1, 9)))
        found = [part.tolist() for part in series_parts(problem)]
        assert found == by_definition(problem)
        cut += len(found) > 1
    assert cut > 20


def test_a_fork_and_join_is_three_parts() -> None:
    edges = [[0, k] for k in range(1, 9)] + [[k, 9] for k in range(1, 9)]
    flow = Workflow("w", [f"t{i}" for i in range(10)], [1.5, 7, 6, 5, 5, 4, 3.25, 3, 2, 1], edges).on(3)
    assert [len(part) for part in series_parts(flow)] == [1, 8, 1]
    result = solve(flow, "cpsat", Stop(seconds=600))
    assert (result.status, result.value) == ("optimal", 1.5 + 12 + 1)
    assert check(flow, result) == []


def test_what_is_taken_keeps_its_edges() -> None:
    flow = Workflow("w", list("abcd"), [1, 2, 3, 4], [[0, 1], [1, 2], [2, 3]], nodes=[1, 2, 1, 2]).on(2)
    part = flow.take([2, 1, 3])
    assert (part.tasks, part.edges.tolist(), part.nodes.tolist()) == (("c", "b", "d"), [[1, 0], [0, 2]], [1, 2, 2])
    assert part.runtimes.tolist() == [3, 2, 4]
