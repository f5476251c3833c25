"""Small problems of many kinds, including edge cases, to test every solver and every type of problem."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from transom.generate.instances.knapsacks import generate_knapsack
from transom.generate.instances.paths import random_path
from transom.generate.instances.selections import FAMILIES, Marked, family_selection
from transom.generate.instances.workflows import WORKFLOW_FAMILIES, random_workflow
from transom.models import ConstrainedPath, FatTree, HopCost, Joint, Knapsack, Placement, Selection, Workflow


def knapsacks() -> list[Knapsack]:
    """Up to a dozen items: hard classes, and empty, full, weightless, worthless or identical ones."""
    classes = ("uncorrelated", "strongly-correlated", "circle", "subset-sum", "profit-ceiling")
    return [
        *(generate_knapsack(name, 12, 100, np.random.default_rng(i)) for i, name in enumerate(classes)),
        _knapsack([], [], 10),
        _knapsack([5], [4], 3),
        _knapsack([5, 6, -1], [3, 0, 0], 0),
        _knapsack([5, 6, 7], [3, 1, 2], 6),
        _knapsack([-5, -6], [1, 0], 5),
        _knapsack([7, -6, 9, 4, 0], [3, 1, 4, 2, 2], 6),
        _knapsack([5] * 9, [4] * 9, 17),
    ]


def selections() -> list[Selection]:
    """Up to eight jobs and three resources of every family, some with jobs that are forced, excluded or required."""
    drawn = [
        family_selection(family, np.random.default_rng(i), 8, 1 + i % 3, 20, 0.4) for i, family in enumerate(FAMILIES)
    ]
    return [
        *drawn,
        family_selection("uniform", np.random.default_rng(9), 8, 2, 20, marked=Marked(0.1, 0.1, 0.2)),
        _selection(np.empty((0, 2)), [4, 5]),
        _selection([[5, 1], [1, 6], [7, 7]], [4, 5]),
        _selection([[2], [3]], [4], forced=[1, 1]),
    ]


def placements() -> list[Placement]:
    """Up to four tasks on three machines: empty, identical, too large, without demand or worthless ones."""
    rng = np.random.default_rng(3)
    drawn = []
    for i in range(4):
        free, demands = rng.integers(4, 12, (1 + i % 3, 2)), rng.integers(1, 6, (2 + i % 3, 2))
        waiting, durations = rng.integers(1, 5, len(demands)), rng.integers(1, 9, len(demands))
        given = Placement(free, demands, waiting, durations=durations, maximal=i % 2 == 1)
        drawn.append(given.with_objective(("area", "count", "area-duration")[i % 3]))
    return [
        *drawn,
        Placement([[9, 9]] * 3, [[4, 2], [3, 5]], [4, 4], [5, 7], resources=("cpu", "memory")),
        Placement([[5], [7]], [], []),
        Placement([[5], [7]], [[8]], [3]),
        Placement([[5, 0]], [[2, 0], [0, 0], [1, 1]], [3, 4, 1], [3, 2, 9]),
        Placement([[5], [6]], [[2], [3]], [4, 1], [0, 2], maximal=True),
        Placement([[2**61, 64]] * 2, [[2**60 + 1, 1], [2**59 - 1, 2]], [3, 4], [9, 5]),
    ]


def workflows() -> list[Workflow]:
    """Up to nine tasks of every family: empty, without edges or runtimes, parallel, or short of memory."""
    rng = np.random.default_rng(4)
    drawn = [random_workflow(rng, family, 9, 4, largest=2).on(3) for family in WORKFLOW_FAMILIES]
    flat = random_workflow(rng, "layered", 6, 3, memory=True)
    return [
        *drawn,
        flat.on(4, {"memory": int(flat.demands.max())}),
        Workflow("empty", [], []).on(1),
        Workflow("alone", ["a"], [2.5]).on(1),
        Workflow("apart", ["a", "b", "c", "d"], [3, 3, 2, 2]).on(2),
        Workflow("released", ["a", "b", "c"], [3, 3, 2.5], [[0, 1]], releases=[0, 0, 2]).on(1),
        Workflow("instant", ["a", "b", "c"], [0, 1, 0], [[0, 1], [1, 2]]).on(1),
    ]


def joints() -> list[Joint]:
    """Up to seven jobs on two trees: empty, mandatory, limited, worthless, without cost, or impossible to place."""
    rng = np.random.default_rng(5)
    deep = FatTree([0, 1, 0, 2, 1, 3, 2, 3], [0, 0, 0, 1, 0, 2, 1, 2], np.array([[0, 0, 0, 0, 0, 1, 0, 1]]))
    flat, floored = FatTree.uniform(12, 3, 6), HopCost(1, 3, 5, ordered=False, floored=True)
    drawn = [
        Joint(tree, range(tree.num_nodes), rng.integers(1, 5, 6), rng.integers(0, 9, 6), factor, np.array([0]), cost)
        for tree in (deep, flat)
        for factor, cost in ((1e-4, HopCost()), (1.0, floored), (0.0, HopCost()))
    ]
    return [
        *drawn,
        Joint(deep, [], [2], [5]),
        Joint(deep, range(8), [], []),
        Joint(deep, [0, 3, 5, 6], [2, 2], [5, 4], 5e-4, leaf_limits=np.array([1, 1])),
        Joint(deep, [0, 3, 5], [2], [5], 5e-4, np.array([0]), leaf_limits=np.array([1])),
        Joint(flat, range(12), [9, 4], [5, -4], 1e-4, np.array([0, 1])),
    ]


def paths() -> list[ConstrainedPath]:
    """Up to 14 entries, with one or two sizes."""
    return [
        random_path(np.random.default_rng(i), length=8 + 2 * i, sizes=1 + i % 2, arcs=2 + i % 2, longest=3)
        for i in range(4)
    ]


def _knapsack(values: list[int], weights: list[int], capacity: int) -> Knapsack:
    return Knapsack(np.array(values, np.int64), np.array(weights, np.int64), capacity)


def _selection(demands: ArrayLike, capacity: list[int], forced: list[int] | None = None) -> Selection:
    amounts = np.asarray(demands, np.int64)
    marks = np.zeros(len(amounts), bool) if forced is None else np.array(forced, bool)
    return Selection(amounts, np.array(capacity, np.int64), forced=marks)
