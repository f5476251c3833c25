"""Graphs of tasks against networkx."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from transom.models.arrays import IntArray
from transom.models.task_graph import adjacency, cycle, longest_paths, topological_order

pytestmark = pytest.mark.fast


def drawn(seed: int, acyclic: bool) -> tuple[int, IntArray]:
    """A number of tasks, and edges (parent, child) sorted by child, then parent."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 12))
    pairs = np.unique(rng.integers(0, count, (int(rng.integers(0, 20)), 2)), axis=0)
    if acyclic:
        rank = rng.permutation(count)
        pairs = pairs[rank[pairs[:, 0]] < rank[pairs[:, 1]]]
    return count, pairs[np.lexsort((pairs[:, 0], pairs[:, 1]))].astype(np.int64)


@pytest.mark.parametrize("seed", range(50))
def test_neighbours_order_and_paths(seed: int) -> None:
    count, edges = drawn(seed, True)
    graph = nx.DiGraph(edges.tolist())
    graph.add_nodes_from(range(count))
    parents, children = adjacency(edges, count)
    for task in range(count):
        assert parents.tasks[parents.first[task] : parents.first[task + 1]].tolist() == sorted(graph.pred[task])
        assert children.tasks[children.first[task] : children.first[task + 1]].tolist() == sorted(graph.succ[task])
    order = topological_order(parents, children)
    assert order.tolist() == [task for level in nx.topological_generations(graph) for task in sorted(level)]
    assert cycle(parents, order) is None
    rng = np.random.default_rng(seed)
    durations, least = rng.integers(0, 9, count), rng.integers(0, 9, count)
    starts = longest_paths(order, *parents, durations, least)
    for task in order.tolist():
        assert starts[task] == max([least[task], *(starts[each] + durations[each] for each in graph.pred[task])])


@pytest.mark.parametrize("seed", range(50))
def test_a_cycle_is_found_where_there_is_one(seed: int) -> None:
    count, edges = drawn(seed, False)
    graph = nx.DiGraph(edges.tolist())
    parents, children = adjacency(edges, count)
    found = cycle(parents, topological_order(parents, children))
    assert (found is None) == nx.is_directed_acyclic_graph(graph)
    if found is not None:
        assert found[0] == found[-1]
        assert len({*found}) == len(found) - 1
        assert all(graph.has_edge(*pair) for pair in pairwise(found))
