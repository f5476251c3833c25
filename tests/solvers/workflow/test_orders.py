"""Branch and bound over the order of starts: against enumeration, from both ends, and in parts."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from benchmarks.projects import project
from tests.workflow_cases import least_makespan, random_project, random_window
from transom import Stop, read_workflows, solve
from transom.models import Workflow
from transom.models.arrays import IntArray
from transom.solvers.workflow.bounds import Windows, windows_of
from transom.solvers.workflow.orders import begin, completed, direct, order_of, search


def searched(problem: Workflow, backwards: bool, nodes: int = 10**6) -> IntArray | None:
    """The best schedule, by calls of so many nodes."""
    windows, exact = windows_of(problem)
    lasting, before = direct(problem)
    assert exact
    assert len(lasting)
    heads, tails = windows.heads[lasting], windows.tails[lasting]
    durations, requests = windows.durations[lasting], windows.requests[lasting]
    forwards = Windows(heads, durations, tails, requests, windows.capacity)
    order = order_of(forwards, before)
    if backwards:
        order = order_of(forwards._replace(heads=tails, tails=heads), np.ascontiguousarray(before.T))
    latest = int(problem.durations.sum() + problem.releases.max() * problem.ticks)
    place = begin(latest)
    while not search(order, place, 1, nodes):
        assert place.nodes < 10**6
    if place.latest == latest:
        return None
    starts = order.best.copy()
    return completed(problem, lasting, place.latest + 1 - starts - durations if backwards else starts)


@pytest.mark.parametrize(("tasks", "count"), [(3, 30), (5, 40), (6, 20)])
def test_enumeration_from_both_ends(tasks: int, count: int) -> None:
    rng = np.random.default_rng(tasks)
    for _ in range(count):
        problem = random_project(rng, tasks)
        if not problem.durations.any() or not len(windows_of(problem)[0].capacity):
            continue
        best = least_makespan(problem)
        for backwards in (False, True):
            found = searched(problem, backwards, nodes=3)
            assert found is not None
            assert problem.violations(found) == []
            assert problem.value(found) == best


def test_releases_forwards() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        problem = random_window(rng, 5)
        if not problem.durations.any() or not len(windows_of(problem)[0].capacity):
            continue
        found = searched(problem, backwards=False)
        assert found is not None
        assert problem.violations(found) == []
        assert problem.value(found) == least_makespan(problem)


@pytest.mark.parametrize("case", range(6))
def test_projects_from_both_ends_and_by_cpsat_alone(case: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a size at which sets of tasks are met again and again."""
    monkeypatch.setattr("transom.solvers.workflow.cpsat.TASKS", 0)
    problem = project(np.random.default_rng(case), 14 + case, complexity=1.5, factor=0.75, strength=0.2)
    values = {
        problem.value(found) for found in (searched(problem, False), searched(problem, True)) if found is not None
    }
    assert len(values) == 1
    solved = solve(problem, "cpsat", Stop(seconds=600))
    assert (solved.status, solved.value) == ("optimal", values.pop())


def test_a_latest_end_that_another_search_lowers_is_not_raised_again() -> None:
    """A search may stand below tasks that end too late for it."""
    for case in range(10):
        problem = project(np.random.default_rng(case), 10, complexity=1.5, factor=0.75, strength=0.2)
        (windows, _), (lasting, before) = windows_of(problem), direct(problem)
        whole = Windows(*(part[lasting] for part in windows[:4]), windows.capacity)
        order, place = order_of(whole, before), begin(int(problem.durations.sum()))
        search(order, place, 1, len(lasting))
        place.latest = latest = int(solve(problem, "cpsat", Stop()).value or 0) - 1
        while not search(order, place, 1, 1):
            assert place.latest == latest
        assert place.latest == latest


def test_tasks_that_take_no_time_pass_their_waiting_on() -> None:
    problem = Workflow("w", list("abcde"), [2, 0, 0, 3, 4], edges=[[0, 1], [1, 2], [2, 3]]).on(1)
    lasting, before = direct(problem)
    assert lasting.tolist() == [0, 3, 4]
    assert np.argwhere(before).tolist() == [[0, 1]]
    found = searched(problem, False)
    assert found is not None
    assert problem.value(found) == 9


@pytest.mark.reference
def test_projects_of_psplib(shared: Path) -> None:
    """All but the hardest, which take more nodes than a test may."""
    with (shared / "cases" / "solvers" / "psplib_j30.optima.csv").open() as file:
        optima = {row["instance"]: int(row["optimum"]) for row in csv.DictReader(file)}
    hard = {"j3013", "j3025", "j3029", "j309", "j305"}
    easy = [
        each
        for each in read_workflows(shared / "cases" / "solvers" / "psplib_j30.jsonl.gz")
        if each.name.partition("_")[0] not in hard
    ]
    assert len(easy) > 25
    for problem in easy:
        result = solve(problem, "auto", Stop(seconds=600))
        assert (problem.name, result.value, result.status) == (problem.name, optima[problem.name], "optimal")
