"""The bound from prices on leaf switches."""

from __future__ import annotations

import math
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import COSTS, allocations, optimum
from tests.timing import TRIES
from transom.models import AUTHORS, PAPER, Allocation, FatTree
from transom.solvers.allocation.free_bound import Prices, free_bound, safe_bound, warm_up
from transom.solvers.allocation.shape import shape


@given(allocations("free", max_idle=9))
@settings(max_examples=60)
def test_never_above_the_optimum_and_the_same_for_every_rule(problem: Allocation) -> None:
    best = optimum(problem)
    assert best is not None
    bound = free_bound(problem)
    assert 0 <= bound <= best + 1e-9
    assert free_bound(problem, upper=best) <= best + 1e-9
    assert free_bound(problem.with_rule("static")) == free_bound(problem.with_rule("dynamic")) == bound
    if problem.cost.floored:
        assert bound == int(bound)


@given(allocations("free", max_idle=14, max_jobs=1))
@settings(max_examples=40)
def test_exact_for_one_job(problem: Allocation) -> None:
    best = optimum(problem) if math.comb(len(problem.idle), int(problem.sizes[0])) < 2000 else None
    if best is not None:
        assert free_bound(problem, iterations=1) == pytest.approx(best, rel=1e-8, abs=shape(problem).loss + 1e-6)


def test_the_bound_keeps_to_the_clock_that_it_is_given() -> None:
    rng = np.random.default_rng(3)
    problem = Allocation(FatTree.uniform(2000, 20, 200), np.sort(rng.permutation(2000)[:700]), [60] * 11, "free")
    moments = iter(range(1000))
    asked = free_bound(problem, seconds=2.5, clock=lambda: float(next(moments)))
    assert next(moments) == 4, "asked at the beginning and three times on the way"
    assert asked <= free_bound(problem)
    stopped = free_bound(problem, iterations=40, seconds=1e-9, clock=lambda: 0.0)
    assert stopped == free_bound(problem, iterations=40)


@pytest.mark.parametrize("cost", COSTS)
def test_counts_and_owners_are_inverse(cost: object) -> None:
    rng = np.random.default_rng(3)
    tree = FatTree(rng.permutation(np.arange(60) // 5), np.zeros(60, int))
    idle = np.sort(rng.choice(60, 40, replace=False))
    problem = Allocation(tree, idle, [9, 12, 9, 3], "free", True, cost)
    owner = np.full(40, -1)
    owner[rng.permutation(40)[:33]] = np.repeat(np.arange(4), problem.sizes)
    counts = shape(problem).counts(owner)
    again = shape(problem).owners(counts)
    assert (shape(problem).counts(again) == counts).all()
    assert problem.value(again) == problem.value(owner)
    held = shape(problem)
    assert held.caps.sum() == 40
    assert held.first[-1] == len(held.caps) == held.members.sum()


def test_infeasible_and_empty() -> None:
    tree = FatTree.uniform(10, 2, 4)
    assert free_bound(Allocation(tree, np.arange(4), [3, 2], "free")) == math.inf
    assert free_bound(Allocation(tree, np.arange(4), [], "free")) == 0
    assert free_bound(Allocation(tree, np.arange(4), [3], "free"), iterations=0) == 0


def test_rounded_prices_are_a_solution() -> None:
    rng = np.random.default_rng(5)
    idle = np.sort(rng.choice(200, 120, replace=False))
    problem = Allocation(FatTree.uniform(200, 10, 40), idle, [40, 30, 20, 20, 10], "free", True, PAPER)
    prices = Prices(shape(problem))
    savings, held = prices.primal_heuristic()
    prices.set_target(savings)
    while prices.step(100 - prices.iterations):
        pass
    owner = prices.shape.owners(prices.primal_heuristic()[1])
    assert problem.violations(owner) == []
    assert prices.bound <= problem.value(owner)
    assert prices.shape.base - savings == pytest.approx(problem.value(prices.shape.owners(held)))


def test_safe_bound_rounds_whole_costs_up() -> None:
    problem = Allocation(FatTree.uniform(20, 5, 10), np.arange(20), [7, 3], "free", True, AUTHORS)
    of = shape(problem)
    assert of.loss == pytest.approx(6 / 7 + 2 / 3)
    assert safe_bound(of, of.base - 100.6 - of.loss) == 101
    assert safe_bound(of, of.base - 100 - of.loss) == 100
    assert safe_bound(of, of.base + 5) == 2


def test_large_systems_keep_the_time() -> None:
    warm_up()
    rng = np.random.default_rng(1)
    idle = np.sort(rng.choice(20_000, 5_000, replace=False))
    problem = Allocation(FatTree.uniform(20_000, 20, 400), idle, rng.integers(20, 150, 50), "free", True, AUTHORS)

    def took() -> float:
        begin = process_time()  # others may hold the processor
        assert free_bound(problem, seconds=1, clock=process_time) > 0
        return process_time() - begin

    assert any(took() < 5 for _ in range(TRIES))
