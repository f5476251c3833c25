"""Splits of jobs among pods, and the exact packing of each pod."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.free import alike
from tests.allocation_cases import COSTS, optimum, random_allocation
from tests.solvers.allocation.free.test_free_exact import plain_optimum
from transom.models import AUTHORS, PAPER, Allocation, FatTree, HopCost
from transom.models.arrays import IntArray
from transom.solvers.allocation.free.exact import FreeExact, _Search
from transom.solvers.allocation.free.packing import Packing
from transom.solvers.allocation.free.states import Layers
from transom.solvers.allocation.free_bound import Prices
from transom.solvers.allocation.shape import shape
from transom.solving import check, solve
from transom.stop import Budget, Stop

ALL = 10**8  # steps: no limit here


def never() -> bool:
    return False


def layers_of(problem: Allocation, steps: int) -> Layers:
    prices = Prices(shape(problem))
    prices.set_target(prices.primal_heuristic()[0])
    prices.step(steps)
    return Layers(prices, 2**24)


def proved_by_splits(problem: Allocation, steps: int) -> Budget:
    """The splits alone, from the worst start: jobs take the idle nodes in ascending order."""
    budget = Stop().start(problem)
    owner = np.full(len(problem.idle), -1)
    owner[: problem.sizes.sum()] = np.repeat(np.arange(len(problem)), problem.sizes)
    budget.found(owner)
    layers = layers_of(problem, steps)
    splits = layers.splits()
    assert splits.possible
    _Search(problem, budget).split(splits, layers.most, ALL)
    return budget


def random_pods(rng: np.random.Generator, most: int = 4) -> Allocation:
    """Few uneven pods, jobs of which some are alike, nearly all idle nodes asked for."""
    leaf, pod = [], []
    for p in range(int(rng.integers(2, most))):
        for s, cap in enumerate(rng.integers(1, 4, int(rng.integers(1, 4))).tolist()):
            leaf += [5 * p + s] * cap
            pod += [p] * cap
    idle = len(leaf)
    size = int(rng.integers(2, 6))
    sizes = [size] * (idle // size)
    if sizes and rng.random() < 0.5:
        sizes[0] += idle - sum(sizes)
    return Allocation(FatTree(leaf, pod), np.arange(idle), sizes[:3], "free", True, COSTS[rng.integers(len(COSTS))])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=120)
def test_enumeration_finds_nothing_better(seed: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), "free", 10, 3, load=0.9)
    if problem.trivial() is None and len(np.unique(problem.pod)) > 1:
        budget = proved_by_splits(problem, seed % 9)
        assert budget.optimal
        assert budget.value == pytest.approx(optimum(problem), rel=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_a_plain_recursion_finds_nothing_better(seed: int) -> None:
    problem = random_pods(np.random.default_rng(seed))
    if problem.trivial() is None:
        budget = proved_by_splits(problem, 1 + seed % 30)
        assert budget.optimal
        assert budget.value == pytest.approx(plain_optimum(problem), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 20), st.integers(0, 3))
@settings(max_examples=40)
def test_rounded_costs_of_about_1(seed: int, unit: int, core: int) -> None:
    # Rounding decides which of many packings is best.
    rng = np.random.default_rng(seed)
    problem = random_pods(rng)
    cost = HopCost(1, 2, 2 + core, ordered=False, floored=True, unit=unit)
    problem = Allocation(problem.tree, problem.idle, problem.sizes, "free", True, cost)
    if problem.trivial() is None:
        budget = proved_by_splits(problem, 1 + seed % 30)
        assert budget.optimal
        assert budget.value == plain_optimum(problem)


@pytest.mark.parametrize("cost", [AUTHORS, PAPER])
def test_every_split_is_found_and_bounded(cost: HopCost) -> None:
    # Pods of 5 and 4 nodes, jobs of 4 and 3: all splits, each bounded from above by what it saves exactly.
    tree = FatTree([0, 0, 0, 1, 1, 2, 2, 3, 3], [0] * 5 + [1] * 4)
    problem = Allocation(tree, np.arange(9), [4, 3], "free", True, cost)
    splits = layers_of(problem, 5).splits()
    found = splits.search(-math.inf, ALL, never)
    assert found is not None
    assert found.complete
    expected = {
        ((a, 4 - a), (b, 3 - b)) for a, b in itertools.product(range(5), range(4)) if a + b <= 5 and 7 - a - b <= 4
    }
    assert {tuple(map(tuple, split.tolist())) for split in found.splits} == expected
    packing = Packing(splits, never)
    for split, worth in zip(found.splits, found.worths, strict=True):
        savings = packing.savings(split, -math.inf)
        value, counts = packing.best(split, 0.0)
        assert savings <= worth + 1e-6
        assert value >= splits.shape.base - savings - splits.shape.loss - 1e-6
        assert problem.value(splits.shape.owners(counts)) == pytest.approx(value)


@pytest.mark.parametrize("number", [2, 12, 16, 20, 22, 24])
def test_jobs_of_which_a_pod_holds_one_and_a_half(number: int) -> None:
    problem = list(alike(24, AUTHORS))[number - 1]
    result = solve(problem, FreeExact(), Stop(iterations=2000))
    assert result.status == "optimal"
    assert check(problem, result) == []


def test_it_gives_up_where_there_is_too_much() -> None:
    problem = next(alike(1, AUTHORS))
    layers = layers_of(problem, 100)
    assert layers.splits().search(-math.inf, ALL, never) is None  # more splits of one job than are listed
    least = layers.most - 20_000
    assert layers.splits().search(least, 1000, never) is None
    assert layers.splits().search(least, ALL, lambda: True) is None
    tree = FatTree.uniform(4000, 10, 40)
    many = Allocation(tree, np.arange(0, 4000, 2), [30, 20], "free", True, AUTHORS)
    assert not layers_of(many, 1).splits().possible


def test_splits_that_save_too_little_are_not_gone_through_beyond_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    tree = FatTree([0, 0, 0, 1, 1, 2, 2, 3, 3], [0] * 5 + [1] * 4)
    problem = Allocation(tree, np.arange(9), [4, 3], "free", True, AUTHORS)
    splits = layers_of(problem, 5).splits()
    found = splits.search(-math.inf, ALL, never)
    assert found is not None
    assert len(found.splits) > 3
    now, asked = [0.0], []
    budget = Stop(seconds=1).start(problem, clock=lambda: now[0])
    budget.found(np.repeat([0, 1, -1], [4, 3, 2]))
    whole = Packing.savings

    def savings(self: Packing, split: IntArray, least: float) -> float:
        asked.append(split)
        now[0] = 2.0
        return whole(self, split, least)

    monkeypatch.setattr(Packing, "savings", savings)
    assert not _Search(problem, budget)._pack(splits, found, math.inf, math.inf)
    assert len(asked) == 1
