from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.allocation_cases import COSTS, nodes_cost, random_allocation
from transom import registry
from transom.errors import ModelError
from transom.models import AUTHORS, PAPER, FatTree, HopCost
from transom.models.hop_cost import block_costs, hop_cost

pytestmark = pytest.mark.fast


def test_equation_1_by_hand() -> None:
    tree = FatTree.k_ary(4)
    nodes = np.array([0, 1, 2, 4])  # pairs: 2 hops once, 4 hops twice, 6 hops three times
    assert nodes_cost(tree.leaf[nodes], tree.pod[nodes], PAPER) == 1000 / 4 * 2 * (2 + 2 * 4 + 3 * 6)
    assert nodes_cost(tree.leaf[nodes], tree.pod[nodes], AUTHORS) == 1000 * (1 + 2 * 3 + 3 * 5) // 4


def test_the_authors_round_down_to_one_at_least() -> None:
    leaf = pod = np.zeros(3, np.int64)
    assert nodes_cost(leaf, pod, HopCost(1, 3, 5, ordered=False, floored=True, unit=1)) == 1
    assert nodes_cost(leaf, pod, HopCost(0, 0, 5, ordered=False, floored=True, unit=1)) == 1
    assert nodes_cost(leaf[:2], pod[:2], HopCost(1, 3, 5, ordered=False, floored=True, unit=3)) == 1
    assert nodes_cost(leaf[:2], pod[:2], HopCost(1, 3, 5, ordered=False, unit=3)) == 1.5


@given(st.integers(0, 2**32 - 1))
def test_sliding_gives_the_cost_of_every_block(seed: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), max_idle=14)
    n = len(problem.idle)
    for size in range(1, n + 2):
        for wrap in (False, True):
            costs = block_costs(problem.leaf, problem.pod, size, problem.cost, wrap)
            for start in range(n):
                if size > n or (not wrap and start + size > n):
                    assert costs[start] == np.inf
                else:
                    block = np.arange(start, start + size) % n
                    assert costs[start] == nodes_cost(problem.leaf[block], problem.pod[block], problem.cost)


@pytest.mark.parametrize("cost", COSTS)
def test_costs_follow_from_pairs(cost: HopCost) -> None:
    tree = FatTree.uniform(12, 2, 6)
    rng = np.random.default_rng(0)
    for _ in range(50):
        nodes = rng.choice(12, int(rng.integers(2, 13)), replace=False)
        hops = [
            (cost.same_leaf, cost.same_pod, cost.other)[tree.level(a, b)] for a, b in itertools.combinations(nodes, 2)
        ]
        exact = cost.unit * sum(hops) * (2 if cost.ordered else 1) / len(nodes)
        expected = max(int(exact), 1) if cost.floored else exact
        assert nodes_cost(tree.leaf[nodes], tree.pod[nodes], cost) == pytest.approx(expected, rel=1e-12)


def test_a_job_of_one_node_costs_nothing() -> None:
    for cost in COSTS:
        assert nodes_cost(np.zeros(1, np.int64), np.zeros(1, np.int64), cost) == 0


def test_cost_models_by_name() -> None:
    assert registry.make(registry.COST_MODELS, "paper") == PAPER
    assert registry.make(registry.COST_MODELS, "authors") == AUTHORS
    custom = registry.make(registry.COST_MODELS, "custom:same_leaf=1,same_pod=2,other=9,ordered=no,unit=10")
    assert custom == HopCost(1, 2, 9, ordered=False, unit=10)


@pytest.mark.parametrize("hops", [(3, 2, 4), (1, 5, 4), (-1, 2, 3), (1, 2, 2000)])
def test_hops_must_ascend(hops: tuple[int, int, int]) -> None:
    with pytest.raises(ModelError, match="same_leaf <= same_pod <= other"):
        HopCost(*hops)


def test_the_unit_must_be_positive() -> None:
    with pytest.raises(ModelError, match="unit must be > 0"):
        HopCost(unit=0)


@pytest.mark.parametrize("floored", [False, True])
def test_costs_of_the_largest_jobs_stay_within_64_bits(floored: bool) -> None:
    cost = HopCost(999, 1000, 1000, floored=floored, unit=10**6)
    for n in (3_000, 200_000, 10**8 - 1):
        exact = Fraction(cost.unit * 2 * 1000 * (n * (n - 1) // 2), n)
        wanted = math.floor(exact) if floored else float(exact)
        assert hop_cost(n, 0, 0, cost.weights) == pytest.approx(wanted, rel=1e-15)
