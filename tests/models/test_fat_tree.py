from __future__ import annotations

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster, FatTree

pytestmark = pytest.mark.fast


def test_a_4_ary_tree_is_the_papers_figure_1() -> None:
    tree = FatTree.k_ary(4)
    assert (tree.num_nodes, tree.num_leaves, tree.num_pods) == (16, 8, 4)
    assert tree.leaf.tolist() == [node // 2 for node in range(16)]
    assert tree.pod.tolist() == [node // 4 for node in range(16)]


def test_the_papers_cluster() -> None:
    tree = FatTree.k_ary(20, 1000)
    assert (tree.num_nodes, tree.num_leaves, tree.num_pods) == (1000, 100, 10)
    assert tree.regular == (10, 100)
    assert tree == FatTree.uniform(1000, 10, 100)
    assert FatTree.uniform(1000, 10, 40).num_pods == 25


def test_pruning_may_leave_the_last_pod_and_leaf_uneven() -> None:
    tree = FatTree.k_ary(4, 7)
    assert tree.num_pods == 2
    assert np.bincount(tree.leaf).tolist() == [2, 2, 2, 1]
    assert np.bincount(tree.pod).tolist() == [4, 3]
    assert tree.regular == (2, 4)


@pytest.mark.parametrize(("nodes", "leaf", "pod"), [(1, 1, 1), (5, 2, 4), (3, 4, 8), (7, 3, 6), (12, 5, 10), (9, 9, 9)])
def test_regular_trees_say_how_they_were_made(nodes: int, leaf: int, pod: int) -> None:
    tree = FatTree.uniform(nodes, leaf, pod)
    assert tree.regular is not None
    assert FatTree.uniform(nodes, *tree.regular) == tree
    assert tree.contiguous


def test_levels_are_an_ultrametric() -> None:
    tree = FatTree.uniform(12, 2, 6)
    for a in range(12):
        for b in range(12):
            for c in range(12):
                if len({a, b, c}) == 3:
                    assert tree.level(a, c) <= max(tree.level(a, b), tree.level(b, c))


def test_any_shape_is_given_by_switch_and_pod_of_each_node() -> None:
    tree = FatTree([7, 3, 7, 9], [1, 0, 1, 1])
    assert tree.leaf.tolist() == [0, 1, 0, 2]
    assert tree.pod.tolist() == [0, 1, 0, 0]
    assert tree == FatTree([0, 1, 0, 2], [5, 4, 5, 5])
    assert not tree.contiguous
    assert tree.regular is None
    assert [tree.level(0, 2), tree.level(0, 3), tree.level(0, 1)] == [0, 1, 2]
    assert tree.spread([0, 2, 3]) == (2, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FatTree.k_ary(5), "k must be even and > 0, got 5"),
        (lambda: FatTree.k_ary(0), "k must be even"),
        (lambda: FatTree.k_ary(4, 17), "has up to 16 nodes, got nodes=17"),
        (lambda: FatTree.k_ary(4, 0), "got nodes=0"),
        (lambda: FatTree.uniform(10, 4, 6), "must be a multiple of leaf_nodes, got 6 and 4"),
        (lambda: FatTree.uniform(10, 0, 6), "must be > 0"),
        (lambda: FatTree.uniform(10**12, 1, 1), "must be > 0"),
        (lambda: FatTree([], []), "at least one node"),
        (lambda: FatTree([0, 1], [0]), "expected shape"),
        (lambda: FatTree([0, 1, 0], [0, 0, 1]), "nodes 0 and 2 share a leaf switch but not the pod"),
        (lambda: Cluster(9, topology=FatTree.uniform(8, 2, 4)), "9 nodes, but a topology of 8"),
    ],
)
def test_what_is_no_tree_is_refused(make: object, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        make()


def test_clusters_with_different_trees_differ() -> None:
    a, b = (Cluster(16, topology=FatTree.uniform(16, 2, pod)) for pod in (4, 8))
    assert a != b
    assert a.digest() != b.digest()
    assert a == Cluster(16, topology=FatTree.k_ary(4))
    assert hash(a) == hash(Cluster(16, topology=FatTree.k_ary(4)))
