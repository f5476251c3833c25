"""List schedules, HEFT and local search: feasible, as defined on small cases, never below the bounds."""

from __future__ import annotations

from itertools import chain, repeat

import numpy as np
import pytest

from tests.workflow_cases import least_makespan, random_project
from transom import Stop, solve
from transom.generate.instances.examples import workflows
from transom.heuristics.workflow import schedules
from transom.models import Workflow
from transom.solvers.workflow.bounds import interval_bound, path_bound, resource_bound, windows_of

RULES = ("longest-path", "lpt", "shortest-first", "heft")
STEPS = Stop(iterations=200)

# On two nodes: "a" takes 2, then "b" 4; "c" 3 and "d" 3 are free; "e" needs both nodes.
SMALL = Workflow("small", list("abcde"), [2, 4, 3, 3, 1], [[0, 1]], nodes=[1, 1, 1, 1, 2]).on(2)


@pytest.mark.parametrize(
    ("rule", "starts"),
    [
        ("longest-path", [0, 2, 0, 3, 6]),
        ("lpt", [3, 5, 0, 0, 9]),
        ("shortest-first", [1, 4, 1, 3, 0]),
        ("heft", [0, 2, 0, 3, 6]),
    ],
)
def test_rules_by_hand(rule: str, starts: list[int]) -> None:
    result = solve(SMALL, rule, Stop(seconds=5))
    assert result.solution.tolist() == starts
    assert (result.status, result.value) == ("feasible", max(starts[i] + [2, 4, 3, 3, 1][i] for i in range(5)))


def test_heft_keeps_a_task_its_place_that_list_scheduling_gives_away() -> None:
    """``wide`` waits for ``first`` and ranks above ``late``, which does not fit before it."""
    flow = Workflow("w", ["first", "wide", "late"], [2, 5, 4], [[0, 1]], nodes=[1, 2, 1]).on(2)
    assert solve(flow, "heft", Stop(seconds=5)).solution.tolist() == [0, 2, 7]
    assert solve(flow, "longest-path", Stop(seconds=5)).solution.tolist() == [0, 4, 0]


@pytest.mark.parametrize("problem", workflows(), ids=lambda each: each.name)
@pytest.mark.parametrize("solver", [*RULES, "local-search"])
def test_every_rule_on_every_example(problem: Workflow, solver: str) -> None:
    result = solve(problem, solver, STEPS)
    assert result.error is None
    assert result.status in ("feasible", "optimal")
    assert solve(problem, solver, STEPS).solution.tolist() == result.solution.tolist()


def test_many_different_requests_wait_in_a_few_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are asked at each start in small workflows only; the schedule is feasible either way, and not much longer."""
    rng = np.random.default_rng(7)
    count = 300
    demands = rng.integers(1, 101, (count, 2))
    flow = Workflow(
        "many", [f"t{i}" for i in range(count)], rng.integers(1, 50, count), [],
        resources=["memory", "gpus"], demands=demands,
    ).on(8, {"memory": 300, "gpus": 300})  # fmt: skip
    exact = solve(flow, "lpt", Stop(iterations=1))
    monkeypatch.setattr(schedules, "_LOOKS", 0)  # as of a workflow of a hundred thousand tasks
    few = solve(flow, "lpt", Stop(iterations=1))
    assert (exact.error, few.error) == (None, None)
    assert flow.violations(few.solution) == []
    assert few.solution.tolist() != exact.solution.tolist()
    assert few.value <= 1.15 * exact.value


def test_no_schedule_is_below_a_bound() -> None:
    rng = np.random.default_rng(5)
    for _ in range(150):
        problem = random_project(rng, int(rng.integers(2, 15)))
        windows, exact = windows_of(problem)
        assert exact
        proved = max(path_bound(windows), resource_bound(windows))
        values = [solve(problem, rule, Stop(seconds=5)).value for rule in RULES]
        best = min(value for value in values if value is not None)
        assert interval_bound(windows, proved, round(best * problem.ticks)) >= proved
        assert best * problem.ticks >= interval_bound(windows, proved, round(best * problem.ticks)) - 1e-6
        searched = solve(problem, "local-search", Stop(iterations=20))
        assert searched.value is not None
        assert searched.value <= best + 1e-9
        assert searched.value * problem.ticks >= proved - 1e-6


def test_local_search_finds_optima_of_small_ones() -> None:
    rng = np.random.default_rng(6)
    hits = 0
    for _ in range(40):
        problem = random_project(rng, 6)
        value = solve(problem, "local-search", STEPS).value
        assert value is not None
        assert value >= least_makespan(problem) - 1e-9
        hits += value == least_makespan(problem)
    assert hits >= 38


def test_local_search_begins_with_what_it_is_given() -> None:
    best = solve(SMALL, "local-search", STEPS)
    again = solve(SMALL, "local-search", Stop(iterations=0), start=best.solution)
    assert again.value == best.value == 7


def test_heft_cut_short_answers_with_the_best_of_the_other_rules() -> None:
    best_by = set()
    for seed in range(20):
        flow = random_project(np.random.default_rng(seed), 12)
        values = {rule: solve(flow, rule, Stop(iterations=1)).value for rule in RULES if rule != "heft"}
        # The clock stands still: what decides is the estimate of what the rules take.
        late = solve(flow, "heft", Stop(seconds=1e-6), clock=lambda: 0.0)
        assert late.value == min(values.values())
        best_by |= {rule for rule, value in values.items() if value == late.value < values["longest-path"]}
    assert best_by >= {"lpt"}


def test_insertion_ends_in_time_whatever_is_left() -> None:
    """Without time for all tasks, the answer is that of list scheduling: none is left for the end."""
    flow = Workflow("w", [f"t{i}" for i in range(600)], [1] * 600).on(600 - 1)
    ticking = chain([0.0], repeat(10.0))
    result = solve(flow, "heft", Stop(seconds=1), clock=lambda: next(ticking))
    assert result.error is None
    assert result.value == 2
