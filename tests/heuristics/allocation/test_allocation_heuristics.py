"""What every heuristic of allocation keeps: feasible, never better than the optimum, repeatable, starts respected."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import allocations, every_solution, optimum
from transom import Stop, check, registry, solve
from transom.models import AUTHORS, Allocation, FatTree

SPECS = [
    (rule, spec)
    for spec, rules in {
        "sequential": ("static", "dynamic", "free"),
        "best-fit": ("static", "dynamic", "free"),
        "best-fit:order=size": ("static", "dynamic", "free"),
        "sa:steps=60": ("static", "dynamic", "free"),
        "sa:steps=60,repair=cheapest": ("static", "dynamic", "free"),
        "sa:steps=60,acceptance=walk,first=4,order=window": ("static", "dynamic", "free"),
        "sa:steps=60,nested=refuse,remove=1": ("dynamic",),
        "sa:steps=60,nested=pass,remove=3": ("dynamic",),
        "dp-polish": ("static", "dynamic"),
        "count-search:steps=200,begin=best-fit": ("free",),
        "count-search:steps=200,ruin=0,begin=best-fit": ("free",),
        "count-search:steps=200,ruin=1": ("free",),
        "ga:population=10": ("static", "dynamic", "free"),
    }.items()
    for rule in rules
]


@cache
def made(spec: str) -> Any:
    solver = registry.make(registry.SOLVERS, spec, Allocation)
    solver.warm_up()
    return solver


@pytest.mark.parametrize(("rule", "spec"), SPECS)
def test_answers_are_feasible_and_not_better_than_the_optimum(rule: str, spec: str) -> None:
    stop = Stop(iterations=3) if spec.startswith("ga") else Stop()

    @settings(max_examples=8 if spec.startswith("ga") else 30)
    @given(allocations(rule, max_idle=9))
    def holds(problem: Allocation) -> None:
        result = solve(problem, made(spec), stop, seed=1)
        assert result.error is None
        assert check(problem, result) == []
        best = optimum(problem)
        assert best is not None
        assert result.value is not None
        assert result.value >= best - 1e-9 * best
        assert result.bound is None or result.bound <= best + 1e-9 * best

    holds()


@pytest.mark.parametrize(("rule", "spec"), SPECS)
@settings(max_examples=5)
@given(seed=st.integers(0, 2**32 - 1))
def test_switches_may_lie_anywhere(rule: str, spec: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaf = rng.integers(0, 9, 40)
    tree = FatTree(leaf, leaf % 3)
    assert not tree.contiguous
    problem = Allocation(tree, np.sort(rng.choice(40, 25, replace=False)), [7, 5, 6, 3], rule, True, AUTHORS)
    result = solve(problem, made(spec), Stop(iterations=5 if spec.startswith("ga") else 60), seed=1)
    assert result.error is None
    assert check(problem, result) == []
    assert result.value is not None


@pytest.mark.parametrize(("rule", "spec"), SPECS)
def test_a_start_is_never_made_worse(rule: str, spec: str) -> None:
    problem = Allocation(FatTree.uniform(24, 3, 6), [0, 1, 2, 5, 6, 9, 11, 13], [3, 3, 2], rule, cost=AUTHORS)
    best = optimum(problem)
    start = next(owner for owner in every_solution(problem) if problem.value(np.array(owner)) == best)
    solver = made(spec)
    for stop in (Stop(seconds=1e-6), Stop(iterations=0), Stop(iterations=20)):
        budget = stop.start(problem)
        solver(problem, budget, np.random.default_rng(0), start=np.array(start))
        assert budget.value == best


@pytest.mark.parametrize(("rule", "spec"), SPECS)
def test_called_directly_it_settles_what_is_trivial(rule: str, spec: str) -> None:
    tree = FatTree.k_ary(4)
    nothing = Allocation(tree, [1, 2, 3], [], rule)
    budget = Stop().start(nothing)
    made(spec)(nothing, budget, np.random.default_rng(0))
    assert budget.optimal
    too_many = Allocation(tree, [1, 2, 3], [2, 2], rule)
    budget = Stop().start(too_many)
    made(spec)(too_many, budget, np.random.default_rng(0))
    assert budget.infeasible
