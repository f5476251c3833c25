"""Small allocations for tests, and their optima by trying everything."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from transom import Stop, check, solve
from transom.models import AUTHORS, PAPER, Allocation, FatTree, HopCost
from transom.models.arrays import IntArray
from transom.models.hop_cost import hop_cost

COSTS = (PAPER, AUTHORS, HopCost(1, 1, 4, ordered=False), HopCost(0, 2, 3, ordered=False, unit=7))


def figure_2() -> Allocation:
    """The paper's figure 2: nodes 1 to 10 (here 0 to 9) of a 4-ary tree are idle, two jobs ask for 4."""
    return Allocation(FatTree.k_ary(4), np.arange(10), [4, 4])


def nodes_cost(leaf: IntArray, pod: IntArray, cost: HopCost) -> float:
    """Cost of one job on nodes with these leaf switches and pods, shape ``(nodes,)`` each."""
    leaf_counts, pod_counts = (np.unique(of, return_counts=True)[1].astype(np.int64) for of in (leaf, pod))
    leaf_pairs, pod_pairs = (int((counts * (counts - 1) // 2).sum()) for counts in (leaf_counts, pod_counts))
    return hop_cost(len(leaf), leaf_pairs, pod_pairs, cost.weights)


def random_allocation(
    rng: np.random.Generator,
    rule: str = "static",
    max_idle: int = 10,
    max_jobs: int = 3,
    wrap: bool | None = None,
    cost: HopCost | None = None,
    load: float | None = None,
) -> Allocation:
    """A random feasible allocation on a small uneven tree.

    ``load``: the share of the idle nodes that jobs ask for, about; drawn if None.
    """
    leaf_nodes, leaves = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    n = int(rng.integers(2, max_idle + 1))
    nodes = n + int(rng.integers(0, n + 1))
    tree = FatTree.uniform(nodes, leaf_nodes, leaf_nodes * leaves)
    idle = np.sort(rng.choice(nodes, n, replace=False))
    left = max(2, math.ceil(n * (rng.random() if load is None else load)))
    sizes = []
    while left >= 2 and len(sizes) < max_jobs:
        sizes.append(int(rng.integers(2, left + 1)))
        left -= sizes[-1]
    drawn = bool(rng.integers(2)) if wrap is None else wrap
    return Allocation(tree, idle, sizes, rule, drawn, cost or COSTS[rng.integers(len(COSTS))])


def allocations(rule: str, max_idle: int = 10, max_jobs: int = 3) -> st.SearchStrategy[Allocation]:
    """Random allocations as a strategy of hypothesis."""
    return st.integers(0, 2**32 - 1).map(
        lambda seed: random_allocation(np.random.default_rng(seed), rule, max_idle, max_jobs)
    )


def arcs_of(owner: ArrayLike) -> IntArray:
    """The path of a solution of a static allocation without wrap-around: owner of each entry, -1 for none."""
    held = np.asarray(owner)
    jobs = [np.flatnonzero(held == job) for job in np.unique(held[held >= 0])]
    return np.array(sorted((int(each[0]), len(each)) for each in jobs), np.int64).reshape(-1, 2)


def every_solution(problem: Allocation) -> set[tuple[int, ...]]:
    """All solutions, as tuples of owners, from the words of the rule alone: no criterion, no cost."""
    n = len(problem.idle)
    if problem.rule == "free":
        return _free(problem, 0, (-1,) * n)
    found: set[tuple[int, ...]] = set()
    orders = [range(len(problem))] if problem.rule == "static" else itertools.permutations(range(len(problem)))
    for order in orders:
        _place(problem, list(order), (-1,) * n, found)
    return found


def _place(problem: Allocation, order: list[int], owner: tuple[int, ...], found: set[tuple[int, ...]]) -> None:
    if not order:
        found.add(owner)
        return
    n, job, size = len(owner), order[0], int(problem.sizes[order[0]])
    q = range(n) if problem.rule == "static" else [i for i in range(n) if owner[i] < 0]
    for start in range(len(q)):
        if start + size > len(q) and not problem.wrap:
            break
        if size > len(q):
            break
        block = [q[(start + k) % len(q)] for k in range(size)]
        if all(owner[i] < 0 for i in block):
            _place(problem, order[1:], tuple(job if i in block else who for i, who in enumerate(owner)), found)


def _free(problem: Allocation, job: int, owner: tuple[int, ...]) -> set[tuple[int, ...]]:
    if job == len(problem):
        return {owner}
    idle = [i for i, who in enumerate(owner) if who < 0]
    found: set[tuple[int, ...]] = set()
    for block in itertools.combinations(idle, int(problem.sizes[job])):
        found |= _free(problem, job + 1, tuple(job if i in block else who for i, who in enumerate(owner)))
    return found


def plain_value(problem: Allocation, owner: tuple[int, ...]) -> float:
    """The cost by looping over pairs of nodes, as eq. (1) is printed."""
    return _plain_values(problem)(owner)


def _plain_values(problem: Allocation) -> Callable[[tuple[int, ...]], float]:
    """:func:`plain_value` of many solutions, which have most jobs on nodes that other solutions have them on, too."""
    cost = problem.cost
    further = cost.other - cost.same_pod  # each level above pods
    known = (cost.same_leaf, cost.same_pod)

    @cache
    def of_job(held: tuple[int, ...]) -> float:
        nodes = [int(problem.idle[i]) for i in held]
        levels = [problem.tree.level(a, b) for a, b in itertools.combinations(nodes, 2)]
        hops = sum(known[level] if level < 2 else cost.other + (level - 2) * further for level in levels)
        exact = cost.unit * hops * (2 if cost.ordered else 1) / len(nodes)
        return max(math.floor(exact), 1) if cost.floored else exact

    def value(owner: tuple[int, ...]) -> float:
        jobs = range(len(problem))
        return sum((of_job(tuple(i for i, who in enumerate(owner) if who == job)) for job in jobs), 0.0)

    return value


def optimum(problem: Allocation) -> float | None:
    """The least cost of all solutions by enumeration; None if there is none."""
    return min(map(_plain_values(problem), every_solution(problem)), default=None)


def assert_proved(problem: Allocation, solvers: Iterable[str], solutions: Iterable[tuple[int, ...]]) -> bool:
    """Solvers prove the least cost of all these solutions, or that there is none; whether there is one."""
    least = min(map(_plain_values(problem), solutions), default=None)
    for spec in solvers:
        result = solve(problem, spec, Stop(iterations=10**6))
        assert result.error is None, (spec, result.error)
        assert check(problem, result) == []
        assert result.status == ("infeasible" if least is None else "optimal"), spec
        assert result.value == (None if least is None else pytest.approx(least, rel=1e-9)), spec
    return least is not None
