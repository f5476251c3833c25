"""Label setting: against enumeration, on the circle, in chunks, where arcs are missing."""

from __future__ import annotations

import gzip
import json
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from tests.allocation_cases import allocations, figure_2, optimum, random_allocation
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import SpecError, UnsupportedError
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree
from transom.solvers.allocation import scas_dp
from transom.solvers.allocation.scas_dp import CspDp, ScasDp, static_optimum


def windows(shared: Path, name: str) -> Iterator[Allocation]:
    with gzip.open(shared / "instances" / f"{name}.jsonl.gz", "rt") as file:
        for line in map(json.loads, file):
            tree = FatTree.uniform(line["nodes"], line["leaf_nodes"], line["pod_nodes"])
            yield Allocation(tree, line["idle"], [job["nodes"] for job in line["jobs"]], "static", True, AUTHORS)


def random_path(seed: int, missing: float) -> ConstrainedPath:
    """A path of random costs, of both signs, without some arcs."""
    rng = np.random.default_rng(seed)
    length = int(rng.integers(2, 12))
    sizes = np.sort(rng.choice(np.arange(2, 6), int(rng.integers(1, 3)), replace=False))
    costs = rng.integers(-5, 20, (len(sizes), length)).astype(float)
    costs[rng.random(costs.shape) < missing] = np.inf
    for row, size in enumerate(sizes):
        costs[row, max(0, length - size + 1) :] = np.inf
    return ConstrainedPath(length, sizes, rng.integers(1, 3, len(sizes)), costs)


def cheapest_path(path: ConstrainedPath) -> float:
    """The least cost by trying every path."""

    def rest(i: int, left: tuple[int, ...]) -> float:
        if i == path.length:
            return 0.0 if not any(left) else math.inf
        best = rest(i + 1, left)
        for row, size in enumerate(path.sizes.tolist()):
            if left[row] and np.isfinite(path.costs[row, i]):
                fewer = (*left[:row], left[row] - 1, *left[row + 1 :])
                best = min(best, path.costs[row, i] + rest(i + size, fewer))
        return best

    return rest(0, tuple(path.counts.tolist()))


@settings(max_examples=150)
@given(allocations("static"))
def test_it_finds_the_optimum_of_every_small_case(problem: Allocation) -> None:
    result = solve(problem, "scas-dp")
    assert check(problem, result) == []
    assert result.status == "optimal"
    assert result.value == pytest.approx(optimum(problem), rel=1e-12)
    owner, value = static_optimum(problem) or (None, None)
    assert problem.value(owner) == pytest.approx(value) == pytest.approx(result.value)


@pytest.mark.parametrize("chunk", [1, 50, 1000])
def test_the_answer_does_not_depend_on_the_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scas_dp, "CHUNK", chunk)
    rng = np.random.default_rng(chunk)
    for _ in range(40):
        problem = random_allocation(rng, "static", 40, 6)
        expected = static_optimum(problem)
        result = solve(problem, "scas-dp", Stop())
        assert result.status == "optimal"
        assert expected is not None
        assert result.value == pytest.approx(expected[1], rel=1e-12)
        assert check(problem, result) == []


def test_a_block_that_wraps_is_found_where_it_pays() -> None:
    # Nodes 0 and 7 share a leaf switch: only the block around the end has one of its own.
    tree = FatTree([0, 1, 1, 2, 2, 3, 3, 0], [0] * 8)
    circle, line = (Allocation(tree, np.arange(8), [2, 2, 2, 2], "static", wrap) for wrap in (True, False))
    assert solve(circle, "scas-dp").value == 4 * 2000
    assert solve(line, "scas-dp").value == 4 * 4000


def test_figure_2() -> None:
    result = solve(figure_2(), "scas-dp")
    assert result.status == "optimal"
    assert result.value == optimum(figure_2())


@pytest.mark.parametrize("wrap", [False, True])
def test_edges(wrap: bool) -> None:
    tree = FatTree.uniform(12, 2, 4)
    whole = Allocation(tree, np.arange(12), [12], "static", wrap)
    assert solve(whole, "scas-dp").status == "optimal"
    full = Allocation(tree, np.arange(12), [4, 5, 3], "static", wrap)
    assert solve(full, "scas-dp").value == pytest.approx(optimum(full))
    for sizes, idle in (([], 12), ([], 0), ([13], 12), ([2], 0), ([2**40, 2**40], 12)):
        problem = Allocation(tree, np.arange(idle), sizes, "static", wrap)
        budget = Stop().start(problem)
        ScasDp()(problem, budget, np.random.default_rng(0))  # directly: `solve` settles these itself
        assert budget.infeasible == bool(sizes)
        assert budget.optimal != bool(sizes)
    assert static_optimum(Allocation(tree, np.arange(12), [13])) is None


@pytest.mark.parametrize("missing", [0.0, 0.3, 0.7, 1.0])
def test_paths_with_missing_arcs(missing: float) -> None:
    seen = set()
    for seed in range(60):
        path = random_path(seed, missing)
        expected = cheapest_path(path)
        result = solve(path, "csp-dp")
        assert result.error is None
        assert check(path, result) == []
        assert result.status == ("optimal" if math.isfinite(expected) else "infeasible")
        assert result.value == (expected if math.isfinite(expected) else None)
        seen.add(result.status)
    assert missing in (0.0, 1.0) or seen == {"optimal", "infeasible"}


def test_the_path_is_the_allocation_on_the_line() -> None:
    rng = np.random.default_rng(0)
    for _ in range(60):
        problem = random_allocation(rng, "static", 60, 6, wrap=False)
        path = ConstrainedPath.from_allocation(problem)
        assert solve(path, "csp-dp").value == pytest.approx(solve(problem, "scas-dp").value, rel=1e-12)


def large(jobs: int = 12) -> Allocation:
    rng = np.random.default_rng(jobs)
    sizes = rng.choice(np.arange(2, 60), jobs, replace=False)
    idle = np.sort(rng.choice(8000, 2000, replace=False))
    return Allocation(FatTree.uniform(8000, 20, 200), idle, sizes, "static", True, PAPER)


def test_budgets_are_kept_with_an_answer_and_a_bound() -> None:
    problem = large()
    assert ScasDp().supports(problem) is None
    result = solve(problem, "scas-dp", Stop(seconds=0.05))
    assert (result.status, result.reason) == ("feasible", "time")
    assert used(lambda: solve(problem, "scas-dp", Stop(seconds=0.05)), 1) < 1
    assert result.bound is not None
    assert check(problem, result) == []
    for rows in (0, 1, 7, 100):
        result = solve(problem, "scas-dp", Stop(iterations=rows))
        assert result.reason == "iterations"
        assert result.value is not None


def test_tables_that_are_too_large_are_refused_by_size() -> None:
    problem = large(20)
    reason = ScasDp().supports(problem)
    assert reason is not None
    assert "1,048,576 states" in reason
    assert "memory=512" in reason
    assert static_optimum(problem) is None
    with pytest.raises(UnsupportedError, match="states"):
        solve(problem, "scas-dp:memory=1")
    assert "dynamic" in str(ScasDp().supports(figure_2().with_rule("dynamic")))
    for solver in (ScasDp, CspDp):
        with pytest.raises(SpecError, match="memory"):
            solver(memory=0)


def test_any_rule_is_taken_as_static_by_the_plain_function() -> None:
    problem = figure_2()
    for rule in ("dynamic", "free"):
        owner, value = static_optimum(problem.with_rule(rule)) or (None, None)
        assert problem.violations(owner) == []
        assert problem.value(owner) == pytest.approx(value)


@pytest.mark.reference
@pytest.mark.parametrize("name", ["nsa_paper_epochs_1-5", "nsa_code_epochs_1-5"])
def test_all_windows_of_the_paper_are_proved(shared: Path, name: str) -> None:
    solver = registry.make(registry.SOLVERS, "scas-dp", Allocation)
    for problem in windows(shared, name):
        result = solve(problem, solver)
        assert result.status == "optimal"
        static = static_optimum(problem)
        assert static is not None
        assert static[1] == result.value


@pytest.mark.reference
def test_the_optimum_of_the_table_epoch(shared: Path) -> None:
    # 79,627 a period over the 100 periods of the epoch, those without a window included.
    total = sum(solve(problem, "scas-dp").value or 0 for problem in windows(shared, "nsa_table_epoch_1"))
    assert round(total / 100) == 79_627
