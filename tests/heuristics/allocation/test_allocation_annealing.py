"""Simulated annealing on allocations and paths: repeatable whatever the chunks, close to the optimum."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, optimum
from tests.heuristics.windows import windows
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import SpecError
from transom.heuristics.allocation import (
    annealing,
    annealing_loop,
    block_annealing,
    left_annealing,
    simulated_annealing,
)
from transom.heuristics.allocation.arrays import allocation_arrays
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree


def window(rule: str, wrap: bool = True, cost: Any = AUTHORS) -> Allocation:
    rng = np.random.default_rng(4)
    idle = np.flatnonzero(np.repeat(rng.random(40) < 0.6, 5))[:90]
    return Allocation(FatTree.uniform(200, 10, 40), idle, [17, 9, 21, 5, 12], rule, wrap, cost)


def line() -> ConstrainedPath:
    return ConstrainedPath.from_allocation(window("static", wrap=False))


@pytest.mark.parametrize("spec", ["sa:steps=400", "sa:steps=150,restarts=yes", "sa:acceptance=walk"])
@pytest.mark.parametrize("problem", [window("static"), window("dynamic"), window("free"), line()], ids=lambda p: p.kind)
def test_the_answer_does_not_depend_on_the_chunks(problem: Any, spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop(iterations=400)
    expected = solve(problem, spec, stop, seed=5)
    assert expected.reason == "iterations"
    for work in (1, 10**4, 10**9):
        monkeypatch.setattr(annealing_loop, "_WORK", work)
        assert np.array_equal(solve(problem, spec, stop, seed=5).solution, expected.solution)


@pytest.mark.parametrize("rule", ["static", "dynamic"])
@pytest.mark.parametrize("wrap", [True, False])
def test_the_walk_keeps_its_books(rule: str, wrap: bool) -> None:
    problem = window(rule, wrap, PAPER)
    rng = np.random.default_rng(2)
    solver = simulated_annealing.AllocationAnnealing()
    owner = np.concatenate([np.repeat(np.arange(5), problem.sizes), np.full(90 - 64, -1)])
    temperatures = np.array([2500.0, 2.5])
    for first in range(0, 300, 10):
        schedule = annealing.Schedule(temperatures, first, first + 10, 300)
        if rule == "static":
            table = problem.block_costs()
            starts = problem.starts(owner)
            best, state = starts.copy(), np.array([np.inf, 0.0])
            line = block_annealing.Line(starts, best, state)
            block_annealing.anneal_blocks(rng, line, table, np.arange(5), problem.sizes, solver.options(wrap), schedule)
            owner = problem.from_starts(starts)
            found = problem.from_starts(best)
        else:
            costs, best, state = problem.job_costs(owner), owner.copy(), np.array([np.inf, 0.0])
            of = left_annealing.blocks_of(owner, problem.sizes, wrap)
            blocks = left_annealing.Blocks(owner, costs, best, state, *of)
            left_annealing.anneal_left(rng, blocks, allocation_arrays(problem), solver.moves(problem, None), schedule)
            assert np.allclose(costs, problem.job_costs(owner))
            assert np.array_equal(owner[blocks.held], np.repeat(np.arange(5), problem.sizes))
            found = best
        assert problem.violations(owner) == []
        assert problem.violations(found) == []
        if np.isfinite(state[0]):
            assert problem.value(found) == pytest.approx(state[0])


def test_entries_of_jobs_stand_in_the_order_of_their_blocks_and_every_step_is_reached() -> None:
    rng = np.random.default_rng(8)
    turned = 0
    for seed in range(120):
        tree, n = FatTree.uniform(60, 5, 15), int(rng.integers(20, 50))
        sizes = rng.integers(2, 7, 7)
        problem = Allocation(tree, np.sort(rng.choice(60, max(n, int(sizes.sum())), False)), sizes, "dynamic", True)
        owner = np.full(len(problem.idle), -1)
        for job in rng.permutation(7).tolist():
            left = np.flatnonzero(owner < 0)
            owner[np.roll(left, -int(rng.integers(len(left))))[: sizes[job]]] = job
        held, begin = left_annealing.blocks_of(owner, problem.sizes, True)
        assert np.array_equal(owner[held], np.repeat(np.arange(7), sizes))
        turned += sum(bool((np.diff(held[a:b]) < 0).any()) for a, b in pairwise(begin))
        result = solve(problem, "sa:repair=cheapest,restarts=yes", Stop(iterations=300), seed, start=owner)
        assert result.error is None, seed
    assert turned > 60


def test_one_run_has_so_many_steps() -> None:
    problem = window("dynamic")
    for spec, stop, steps in (
        ("sa:steps=500", Stop(), 500),
        ("sa:steps=500", Stop(seconds=60), 500),
        ("sa:steps=500", Stop(iterations=200), 200),
        ("sa:steps=500,restarts=yes", Stop(iterations=1200), 1200),
        ("sa:steps=500,restarts=yes", Stop(), 500),
    ):
        budget = stop.start(problem)
        registry.make(registry.SOLVERS, spec, Allocation)(problem, budget, np.random.default_rng(0))
        assert budget.iterations == steps


def test_restarts_use_the_time() -> None:
    result = solve(window("dynamic"), "sa:restarts=yes", Stop(seconds=0.1))
    assert result.reason == "time"
    assert used(lambda: solve(window("dynamic"), "sa:restarts=yes", Stop(seconds=0.1)), 1) < 1


def test_stall_counts_steps_since_the_last_better_value() -> None:
    problem = window("dynamic")
    first, second = (solve(problem, "sa:restarts=yes", Stop(stall=2000), seed=3) for _ in range(2))
    assert first.reason == "stall"
    assert np.array_equal(first.solution, second.solution)


def test_seeds_differ() -> None:
    assert len({solve(window("dynamic"), "sa:steps=50", seed=seed).solution.tobytes() for seed in range(5)}) > 1


def test_all_options_change_something() -> None:
    problem = window("dynamic")
    plain = solve(problem, "sa:steps=100", seed=1).curve
    values = [value for _, value, _ in plain]
    for option in (
        "acceptance=walk", "tmax=1000000", "tmin=2000", "remove=4", "order=window", "repair=cheapest", "first=10",
        "nested=refuse", "nested=pass",
    ):  # fmt: skip
        curve = solve(problem, f"sa:steps=100,{option}", seed=1).curve
        assert [value for _, value, _ in curve] != values, option


def test_first_limits_where_blocks_begin() -> None:
    # With only the lowest idle node to begin from, blocks follow each other from the head.
    problem = Allocation(FatTree.k_ary(4), np.arange(12), [3, 4], "dynamic")
    owner = solve(problem, "sa:first=1,steps=50").solution
    assert sorted(np.flatnonzero(owner >= 0).tolist()) == list(range(7))


@pytest.mark.parametrize("wrap", [False, True])
def test_a_limit_that_no_block_meets_changes_nothing(wrap: bool) -> None:
    # With one, all places are listed; without, the cheapest is looked for in the gaps.
    rng = np.random.default_rng(4)
    for _ in range(5):
        idle = np.sort(rng.choice(400, 200, replace=False))
        problem = Allocation(FatTree.uniform(400, 10, 50), idle, rng.integers(2, 20, 14), "static", wrap)
        spec = "sa:repair=cheapest,remove=4,restarts=yes"
        listed, looked = (solve(problem, each, Stop(iterations=800)) for each in (f"{spec},first=200", spec))
        assert np.array_equal(listed.solution, looked.solution)


def test_the_solution_of_the_papers_figure_2_without_wrap_around() -> None:
    problem = Allocation(FatTree.k_ary(4), np.arange(10), [4, 4], "dynamic", False)
    result = solve(problem, "sa:steps=300")
    assert result.value == optimum(problem)


@settings(max_examples=40)
@given(allocations("static"))
def test_paths_are_feasible_and_not_better_than_the_optimum(flat: Allocation) -> None:
    flat = Allocation(flat.tree, flat.idle, flat.sizes, "static", False, flat.cost)
    problem = ConstrainedPath.from_allocation(flat)
    for spec in ("sa:steps=60", "sa:steps=60,repair=cheapest,acceptance=walk"):
        result = solve(problem, spec, Stop())
        assert result.error is None
        assert check(problem, result) == []
        best = optimum(flat)
        assert best is not None
        assert result.value is not None
        assert result.value >= best * (1 - 1e-9)


def test_missing_arcs_are_gone_round() -> None:
    # Arcs end to end from the head are not there: the search has to find those that are.
    costs = np.full((2, 12), np.inf)
    costs[0, [3, 8]] = 5.0, 1.0
    costs[1, [0, 5]] = 2.0, 9.0
    problem = ConstrainedPath(12, [2, 3], [2, 1], costs)
    result = solve(problem, "sa", Stop())
    assert np.array_equal(result.solution, [[0, 3], [3, 2], [8, 2]])
    assert result.value == 8


def test_a_path_without_an_answer_gets_none() -> None:
    problem = ConstrainedPath(6, [2], [2], [[1.0, np.inf, np.inf, np.inf, np.inf, np.inf]])
    result = solve(problem, "sa", Stop(iterations=500))
    assert (result.status, result.error) == ("unknown", None)


@pytest.mark.parametrize(
    "settings", ["steps=0", "tmin=0", "tmin=5000", "tmax=inf", "remove=0", "first=0", "repair=best", "nested=never"]
)
def test_wrong_parameters_are_errors(settings: str) -> None:
    with pytest.raises(SpecError):
        registry.make(registry.SOLVERS, f"sa:{settings}", Allocation)


@pytest.mark.reference
def test_500_steps_come_within_3_percent_of_the_static_optimum(shared: Path) -> None:
    ratios = {}
    for spec in ("sa", "sa:nested=refuse", "sa:acceptance=walk,first=100,order=window"):
        ratios[spec] = np.mean(
            [
                (solve(problem, spec, Stop()).value or 0) / (solve(problem.with_rule("static"), "scas-dp").value or 1)
                for problem in windows(shared, "nsa_code_epochs_1-5", "dynamic", every=4)
            ]
        )
    assert 0.99 < ratios["sa"] < 1.03
    assert ratios["sa"] < ratios["sa:nested=refuse"] < 1.03
    # As the authors' code does: about 10 % above the optimum.
    assert 1.06 < ratios["sa:acceptance=walk,first=100,order=window"] < 1.14


@pytest.mark.reference
def test_the_authors_figures_hold_states_that_no_order_reaches(shared: Path) -> None:
    # Their code reports 87,077 on this stream. Under the free rule any state counts, as there.
    as_coded = "sa:acceptance=walk,first=100,order=window"
    total = {
        rule: sum(solve(problem, as_coded, Stop()).value or 0 for problem in windows(shared, "nsa_table_epoch_1", rule))
        for rule in ("dynamic", "free")
    }
    assert total["free"] / 100 == pytest.approx(87_077, rel=0.01)
    assert total["dynamic"] > total["free"]
