"""Exact search and bounds of workflows, against enumeration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.workflow_cases import least_makespan, random_project, random_window
from transom import Stop, check, read_workflows, solve
from transom.generate.instances.examples import workflows
from transom.models import Workflow
from transom.solvers.workflow.bounds import interval_bound, path_bound, resource_bound, step_of, windows_of


@pytest.mark.parametrize(("tasks", "count"), [(3, 50), (4, 60), (5, 60), (6, 30), (7, 10)])
def test_enumeration(tasks: int, count: int) -> None:
    rng = np.random.default_rng(tasks)
    for _ in range(count):
        problem = random_project(rng, tasks)
        best = least_makespan(problem)
        windows, _ = windows_of(problem)
        proved = max(path_bound(windows), resource_bound(windows))
        assert proved <= interval_bound(windows, proved, round(best * problem.ticks)) <= round(best * problem.ticks)
        result = solve(problem, "cpsat", Stop(seconds=600))
        assert (result.status, result.value, result.bound) == ("optimal", best, best)
        assert check(problem, result) == []


@pytest.mark.parametrize(("tasks", "count"), [(3, 20), (5, 10), (7, 2)])
def test_enumeration_of_windows_of_workflows(tasks: int, count: int) -> None:
    rng = np.random.default_rng(tasks)
    waited = 0
    for _ in range(count):
        problem = random_window(rng, tasks)
        best = least_makespan(problem)
        waited += problem.releases.any()
        windows, _ = windows_of(problem)
        proved = max(path_bound(windows), resource_bound(windows))
        assert proved <= interval_bound(windows, proved, round(best * problem.ticks)) <= round(best * problem.ticks)
        result = solve(problem, "cpsat", Stop(seconds=600))
        assert (result.status, result.value, result.bound) == ("optimal", best, best)
        assert check(problem, result) == []
        for solver in ("local-search", "heft", "longest-path", "lpt", "shortest-first"):
            other = solve(problem, solver, Stop(iterations=30))
            assert other.error is None
            assert other.value is not None
            assert other.value >= best
    assert waited > count / 2


@pytest.mark.parametrize("problem", workflows(), ids=lambda each: each.name)
def test_examples(problem: Workflow) -> None:
    result = solve(problem, "auto", Stop(seconds=600))
    assert result.status == "optimal"
    assert check(problem, result) == []


def test_amounts_that_do_not_fit_into_64_bits_with_times() -> None:
    """In bytes and microseconds: requests are rounded down for bounds, and schedules are judged as they are."""
    gib = 2**30
    flow = Workflow(
        "memory", [f"t{i}" for i in range(6)], [1000.000001] * 6, resources=["memory"],
        demands=[[3 * gib + 1 + i] for i in range(6)],
    ).on(6, {"memory": 7 * gib})  # fmt: skip
    windows, exact = windows_of(flow)
    assert not exact
    assert windows.requests.max() * windows.durations.sum() < 2**62
    result = solve(flow, "cpsat", Stop(seconds=600))
    assert (result.value, result.status) == (3000.000003, "optimal")


def test_a_bound_is_there_from_the_beginning() -> None:
    problem = random_project(np.random.default_rng(8), 30)
    result = solve(problem, "cpsat", Stop(iterations=0))
    assert result.bound is not None
    assert result.value is not None
    assert result.bound <= result.value


@pytest.mark.reference
def test_the_ten_tasks_of_heft(shared: Path) -> None:
    """With the runtimes of the first processor of the paper, on identical nodes and without transfers."""
    (flow,) = read_workflows(shared / "workflows" / "HEFT_paper.xml.gz")
    values = {}
    for nodes in (1, 2, 3, 4):
        result = solve(flow.on(nodes), "cpsat", Stop(seconds=600))
        assert result.status == "optimal"
        values[nodes] = result.value
    assert values[1] == 127
    assert values[3] == values[4] == 66
    assert values[2] == min(values[2] or 0, solve(flow.on(2), "heft", Stop(seconds=5)).value or 0)


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_bounds_are_multiples_of_what_all_runtimes_are_multiples_of(seed: int) -> None:
    # Between two tasks that cut it, a part of which all that happens does so every 5 s.
    rng, count = np.random.default_rng(seed), 40
    names, runtimes = [f"t{i}" for i in range(count + 2)], [3, *rng.choice([5, 20, 70], count), 1]
    nodes = [1, *rng.integers(1, 4, count), 1]
    edges = [[0, i] for i in range(1, count + 1)] + [[i, count + 1] for i in range(1, count + 1)]
    problem = Workflow("w", names, runtimes, edges, nodes).on(4)
    assert solve(problem, "cpsat", Stop(iterations=200)).status == "optimal"


def test_releases_count_for_the_step_of_bounds() -> None:
    flow = Workflow("w", ["a", "b"], [1.5, 3], releases=[0, 6]).on(1)
    assert (step_of(flow), step_of(replace(flow, releases=[0, 7])), step_of(Workflow("none", [], []))) == (15, 5, 1)
