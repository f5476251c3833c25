"""CP-SAT on static allocation and paths: against enumeration, whole numbers for costs, hints."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, arcs_of, figure_2, optimum, random_allocation
from transom import Stop, check, solve
from transom.errors import UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree
from transom.reductions import packing
from transom.solvers.allocation.packing_search import sorted_blocks
from transom.solvers.backends.cpsat import Scale, scaled

ENDLESS = Stop(seconds=600)


def test_equal_jobs_around_the_circle() -> None:
    # All of Q is asked for, so that wherever the best cut is, a block may have to wrap around.
    tree = FatTree.uniform(12, 3, 6)
    problem = Allocation(tree, np.arange(1, 12), [3, 3, 3, 2], wrap=True, cost=AUTHORS)
    assert solve(problem, "scas-cpsat", ENDLESS).value == optimum(problem)


@settings(max_examples=30)
@given(allocations("static", max_idle=12))
def test_blocks_and_back(problem: Allocation) -> None:
    starts = np.cumsum(problem.sizes) - problem.sizes
    owner = problem.from_starts(starts)
    again = packing.invert(problem, *sorted_blocks(problem, packing.apply(problem), owner))
    assert problem.value(again) == problem.value(owner)
    assert np.array_equal(again < 0, owner < 0)
    if not problem.wrap:
        path = ConstrainedPath.from_allocation(problem)
        arcs = arcs_of(owner)
        assert np.array_equal(packing.invert(path, *sorted_blocks(path, packing.apply(path), arcs)), arcs)


def test_whole_numbers_are_exact_where_they_can_be() -> None:
    problem = Allocation(FatTree.k_ary(8), np.arange(100), [7, 11, 13, 13], cost=PAPER)
    packed = packing.apply(problem)
    whole, scale = scaled(packed.costs, packed.counts, packed.sizes, False)
    assert scale.error == 0.0
    assert whole * scale.unit == pytest.approx(packed.costs, rel=1e-12)
    assert np.gcd.reduce(whole, axis=None) == 1
    same, scale = scaled(np.array([[5.0, 7.0]]), np.array([2]), np.array([3]), True)
    assert (same.tolist(), scale) == ([[5, 7]], Scale(1.0, 0.0, True))
    none, scale = scaled(np.zeros((1, 2)), np.array([2]), np.array([3]), False)
    assert (none.tolist(), scale.bound(0)) == ([[0, 0]], 0.0)


def test_rounded_numbers_state_their_error() -> None:
    rng = np.random.default_rng(3)
    for size in (1e-3, 1.0, 1e9, 1e20):
        costs = size * rng.normal(size=(3, 50))
        most = np.array([1, 2, 3])
        whole, scale = scaled(costs, most, np.array([2, 3, 5]), False)
        assert 0 < scale.error <= 1e-8 * size
        picked = np.abs(whole * scale.unit - costs).max(axis=1) @ most
        assert picked <= scale.error * (1 + 1e-3)
        objective = int(whole.min(axis=1) @ most)
        assert abs(objective) < 2**53
        assert scale.bound(objective) <= costs.min(axis=1) @ most


def test_sizes_with_a_huge_common_multiple() -> None:
    sizes = np.arange(2, 42)
    problem = Allocation(FatTree.k_ary(20), np.arange(1000), sizes, cost=PAPER)
    packed = packing.apply(problem)
    _, scale = scaled(packed.costs, packed.counts, packed.sizes, False)
    assert scale.error > 0
    result = solve(problem, "scas-cpsat", Stop(seconds=0.3), start=problem.from_starts(np.cumsum(sizes) - sizes))
    assert check(problem, result) == []


def test_a_hint_is_found_again() -> None:
    problem = random_allocation(np.random.default_rng(2), "static", 100, 5, wrap=True, cost=AUTHORS, load=0.9)
    best = solve(problem, "scas-cpsat", ENDLESS)
    assert best.status == "optimal"
    again = solve(problem, "scas-cpsat", ENDLESS, start=best.solution)
    assert (again.status, again.value) == ("optimal", best.value)


def test_other_rules_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="its rule is free, not static"):
        solve(figure_2().with_rule("free"), "scas-cpsat")
