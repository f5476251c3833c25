"""CP-SAT on free allocation: against enumeration, trees of any shape, rounding, symmetry."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import COSTS, allocations, figure_2, optimum, random_allocation
from transom import Stop, check, solve
from transom.errors import UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, FatTree, HopCost
from transom.solvers.allocation.free.cpsat import _canonical, _owners, _places

ENDLESS = Stop(seconds=600)


@settings(max_examples=30)
@given(allocations("free", max_idle=8))
def test_it_finds_what_enumeration_finds(problem: Allocation) -> None:
    expected = optimum(problem)
    result = solve(problem, "free-cpsat", ENDLESS)
    assert check(problem, result) == []
    if expected is None:
        assert result.status == "infeasible"
    else:
        assert result.status == "optimal"
        assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9)


def scattered(rng: np.random.Generator, cost: HopCost) -> Allocation:
    """Leaf switches and pods whose nodes are not consecutive."""
    leaf = rng.integers(0, 4, 8)
    return Allocation(FatTree(leaf, leaf // 2), np.arange(8), [2, 2, 3], "free", cost=cost)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.sampled_from(COSTS))
def test_trees_that_are_not_contiguous(seed: int, cost: HopCost) -> None:
    problem = scattered(np.random.default_rng(seed), cost)
    result = solve(problem, "free-cpsat", ENDLESS)
    assert result.status == "optimal"
    assert result.value == pytest.approx(optimum(problem), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(
    "cost",
    [
        HopCost(2, 2, 2),
        HopCost(1, 4, 4),
        HopCost(0, 0, 0),
        HopCost(0, 1, 2, ordered=False, floored=True, unit=1),
        HopCost(0, 1, 2, ordered=False, floored=True, unit=3),
    ],
)
def test_levels_that_make_no_difference_and_costs_that_round_to_little(cost: HopCost) -> None:
    for seed in range(4):
        drawn = random_allocation(np.random.default_rng(seed), "free", 8, 3, cost=cost, load=0.9)
        result = solve(drawn, "free-cpsat", ENDLESS)
        assert (result.status, check(drawn, result)) == ("optimal", [])
        assert result.value == pytest.approx(optimum(drawn), rel=1e-9, abs=1e-9)


def test_figure_2() -> None:
    # One pod of four and half of the next: the free optimum takes the two pods.
    problem = figure_2().with_rule("free")
    result = solve(problem, "free-cpsat", ENDLESS)
    assert (result.status, result.value) == ("optimal", optimum(problem))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_order_among_what_is_alike_loses_no_solution(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = COSTS[rng.integers(len(COSTS))]
    problem = Allocation(FatTree.uniform(24, 2, 6), np.arange(24), [5, 5, 3, 3, 4], "free", cost=cost)
    owner = np.full(24, -1)
    owner[rng.permutation(24)[:20]] = np.repeat(np.arange(5), problem.sizes)
    places = _places(problem)
    counts = _canonical(problem, places, owner)
    again = _owners(problem, places, counts)
    assert problem.violations(again) == []
    assert problem.value(again) == pytest.approx(problem.value(owner))
    shares = np.add.reduceat(counts[0], np.flatnonzero(np.diff(places.pod, prepend=-1)))
    assert (np.diff(shares) <= 0).all()  # the pods are alike
    assert all((np.diff(counts[0][places.pod == pod]) <= 0).all() for pod in range(len(shares)))


def test_a_start_in_any_order_is_a_hint() -> None:
    problem = random_allocation(np.random.default_rng(2), "free", 40, 4, cost=PAPER, load=0.9)
    best = solve(problem, "free-cpsat", ENDLESS)
    assert best.status == "optimal"
    again = solve(problem, "free-cpsat", ENDLESS, start=best.solution)
    assert (again.status, again.value) == ("optimal", best.value)


def test_floored_costs_are_proved_exactly() -> None:
    problem = random_allocation(np.random.default_rng(5), "free", 40, 4, cost=AUTHORS, load=0.9)
    result = solve(problem, "free-cpsat", ENDLESS)
    assert result.status == "optimal"
    assert result.value == result.bound
    assert isinstance(result.value, int)


def test_other_rules_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="its rule is static, not free"):
        solve(figure_2(), "free-cpsat")
