"""The epsilon-constraint method, with both back ends."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from tests.timing import used
from transom import Stop, check, solve
from transom.io.mokp import read_hadi, read_kirlik
from transom.models import Selection
from transom.models.pareto_front import nondominated
from transom.result import Result
from transom.solvers.selection.epsilon import Epsilon
from transom.solvers.selection.program import Program, maximise, relations


def by_numpy(problem: Selection) -> set[tuple[int, ...]]:
    choices = (np.arange(2 ** len(problem))[:, None] >> np.arange(len(problem)) & 1).astype(bool)
    values = problem.evaluate(choices[problem.feasible(choices)])
    return {tuple(value) for value in values[nondominated(values)].tolist()}


def two_capacities(rng: np.random.Generator, jobs: int, objectives: int = 2) -> Selection:
    """As the instances of Hadi: uniform numbers, half of everything fits."""
    demands = rng.integers(10, 101, (jobs, 2))
    return Selection(demands, demands.sum(axis=0) // 2, rng.integers(10, 101, (jobs, objectives)))


@pytest.mark.parametrize(("by", "count"), [("core", 150), ("cpsat", 30)])
def test_fronts_are_complete(by: str, count: int) -> None:
    rng, seen = np.random.default_rng(3), 0
    while seen < count:
        problem = random_selection(rng)
        if Epsilon().supports(problem) is None:
            seen += 1
            result = solve(problem, f"epsilon:by={by}", Stop(seconds=30))
            best = true_front(problem)
            assert result.error is None
            assert (set() if result.solution is None else values_of(result.solution)) == best
            assert result.status == ("optimal" if best else "infeasible")
            assert check(problem, result) == []


@pytest.mark.parametrize("seed", range(4))
def test_windows_of_sixteen_jobs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for resources in (1, 2, 3):
        problem = random_selection(rng, 16, resources, terms=False, marks=bool(seed % 2))
        best = by_numpy(problem)
        result = solve(problem, "epsilon", Stop(seconds=30))
        assert result.status == ("optimal" if best else "infeasible")
        assert (set() if result.solution is None else values_of(result.solution)) == best


@pytest.mark.parametrize("objectives", [2, 3])
def test_both_back_ends_agree(objectives: int) -> None:
    problem = two_capacities(np.random.default_rng(1), 24, objectives)
    ours, theirs = (solve(problem, f"epsilon:by={by}", Stop(seconds=600)) for by in ("core", "cpsat"))
    assert (ours.status, theirs.status) == ("optimal", "optimal")
    assert len(ours.solution) > 5
    assert values_of(ours.solution) == values_of(theirs.solution)


def test_it_says_what_it_knows_when_time_is_over() -> None:
    problem = two_capacities(np.random.default_rng(2), 400)
    tried: list[Result] = []

    def run() -> Result:
        tried.append(solve(problem, "epsilon", Stop(seconds=0.5), clock=process_time))
        return tried[-1]

    assert used(run, 2) < 2
    result = tried[0]
    assert result.status == "feasible"
    assert result.parameters["front"] == "not complete"
    assert result.bound is None
    assert len(result.solution) > 10
    assert check(problem, result) == []
    longer = solve(problem, "epsilon", Stop(seconds=1), start=result.solution)
    assert longer.value is not None
    assert result.value is not None
    assert longer.value >= result.value


def test_iterations_are_kept_and_repeat() -> None:
    problem = two_capacities(np.random.default_rng(4), 100)
    results = [solve(problem, "epsilon", Stop(iterations=900), seed=1) for _ in range(2)]
    assert results[0].solution == results[1].solution
    assert results[0].reason == "iterations"
    assert solve(problem, "epsilon", Stop(iterations=0)).solution is not None


def test_large_numbers_are_exact() -> None:
    rng = np.random.default_rng(5)
    demands = rng.integers(1, 2**48, (12, 3))
    problem = Selection(demands, demands.sum(axis=0) // 3)
    assert values_of(solve(problem, "epsilon", Stop(seconds=30)).solution) == by_numpy(problem)


def test_more_than_three_objectives_are_refused() -> None:
    demands = np.ones((3, 4), int)
    reason = Epsilon().supports(Selection(demands, np.full(4, 2)))
    assert reason is not None
    assert "4 objectives" in reason
    assert Epsilon().supports(Selection(demands, np.full(4, 2), demands[:, :3])) is None


def test_a_complete_start_is_left_as_it_is() -> None:
    problem = two_capacities(np.random.default_rng(6), 30)
    first = solve(problem, "epsilon", Stop(seconds=30))
    again = solve(problem, "epsilon", Stop(seconds=30), start=first.solution)
    assert again.solution == first.solution
    assert again.status == "optimal"
    assert again.parameters["programmes"] <= first.parameters["programmes"]


@pytest.mark.reference
@pytest.mark.parametrize("name", [f"kirlik_p3_n{items}_{i}" for items in (10, 20, 30) for i in (1, 2)])
def test_published_fronts_of_three_objectives(shared: Path, name: str) -> None:
    folder = shared / "instances" / "mokp"
    result = solve(read_kirlik(folder / f"{name}.dat"), "epsilon", Stop(seconds=60))
    published = -np.loadtxt(folder / f"{name}.front.txt", dtype=np.int64, ndmin=2)
    assert result.status == "optimal"
    assert values_of(result.solution) == {tuple(value) for value in published.tolist()}


@pytest.mark.reference
def test_programmes_along_published_fronts_of_two_capacities(shared: Path) -> None:
    # The fronts as a whole are for benchmarks/epsilon_fronts.py: they take a minute each.
    folder = shared / "instances" / "mokp"
    for name in ("hadi_1", "hadi_6"):
        problem = read_hadi(folder / f"{name}.dat")
        front = np.loadtxt(folder / f"{name}.front.txt", dtype=np.int64, ndmin=2)
        front = front[np.argsort(-front[:, 0])]
        rows = np.ascontiguousarray(np.vstack((problem.demands.T, -problem.objectives[:, 1])))
        weights = np.ascontiguousarray(problem.objectives[:, 0])
        none = relations(np.zeros((len(problem),) * 2, bool), problem.demands, problem.objectives)
        for at in range(0, len(front) - 1, len(front) // 6):
            program = Program(weights, rows, np.array([*problem.capacity, -front[at, 1] - 1]), none)
            best = maximise(program, Stop().start(problem), enough=int(front[at, 0]), near=3)
            assert (best.proved, best.bound) == (True, front[at + 1, 0])
