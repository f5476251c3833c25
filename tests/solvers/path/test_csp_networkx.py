"""The plain reference for paths: against enumeration, its limit, the clock."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.allocation_cases import figure_2, optimum, random_allocation
from transom import Stop, check, registry, solve
from transom.errors import SpecError, UnsupportedError
from transom.models import Allocation, ConstrainedPath

pytestmark = pytest.mark.fast

ENDLESS = Stop(seconds=600)
SPECS = ("csp-networkx", "csp-scip", "csp-flow", "csp-cpsat")


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_all_find_what_enumeration_finds_on_the_line(seed: int) -> None:
    problem = random_allocation(np.random.default_rng(seed), "static", wrap=False)
    path = ConstrainedPath.from_allocation(problem)
    expected = optimum(problem)
    for spec in SPECS:
        result = solve(path, spec, ENDLESS)
        assert check(path, result) == []
        assert result.status == ("infeasible" if expected is None else "optimal"), spec
        assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9), spec


def cheapest(path: ConstrainedPath, at: int, left: tuple[int, ...]) -> float:
    """The optimum from there on by recursion; infinite if there is no path."""
    if at == path.length:
        return np.inf if any(left) else 0.0
    best = cheapest(path, at + 1, left)
    for row, size in enumerate(path.sizes.tolist()):
        if left[row] and np.isfinite(path.costs[row, at]):
            rest = cheapest(path, at + size, (*left[:row], left[row] - 1, *left[row + 1 :]))
            best = min(best, float(path.costs[row, at]) + rest)
    return best


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_costs_of_both_signs_and_missing_arcs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, sizes = int(rng.integers(1, 13)), np.sort(rng.choice([2, 3, 4], int(rng.integers(1, 4)), replace=False))
    costs = rng.normal(size=(len(sizes), length))
    costs[rng.random(costs.shape) < 0.3] = np.inf
    for row, size in enumerate(sizes.tolist()):
        costs[row, max(0, length - size + 1) :] = np.inf
    path = ConstrainedPath(length, sizes, rng.integers(1, 3, len(sizes)), costs)
    expected = cheapest(path, 0, tuple(path.counts.tolist()))
    for spec in SPECS:
        result = solve(path, spec, ENDLESS)
        assert check(path, result) == []
        # Where costs of both signs all but cancel, what CP-SAT's whole numbers round off is no proof.
        largest = np.abs(costs).max(where=np.isfinite(costs), initial=0.0)
        tiny = spec == "csp-cpsat" and abs(expected) < 0.1 * largest * len(path)
        wanted = ("infeasible",) if not np.isfinite(expected) else ("optimal", "feasible") if tiny else ("optimal",)
        assert result.status in wanted, spec
        if np.isfinite(expected):
            assert result.value == pytest.approx(expected, rel=1e-9, abs=1e-9), spec


def test_figure_2() -> None:
    line = Allocation(figure_2().tree, figure_2().idle, figure_2().sizes, "static", False)
    result = solve(ConstrainedPath.from_allocation(line), "csp-networkx", ENDLESS)
    assert (result.status, result.value) == ("optimal", optimum(line))


def test_large_graphs_are_refused() -> None:
    path = ConstrainedPath(100, [2, 3], [4, 4], np.full((2, 100), np.inf))
    with pytest.raises(UnsupportedError, match="its graph has 2525 nodes, more than nodes=2000"):
        solve(path, "csp-networkx:nodes=2000")
    with pytest.raises(SpecError, match="nodes must be > 0, got 0"):
        registry.make(registry.SOLVERS, "csp-networkx:nodes=0")


def test_the_clock_is_looked_at_within_networkx() -> None:
    problem = random_allocation(np.random.default_rng(0), "static", 400, 6, wrap=False, load=0.8)
    path = ConstrainedPath.from_allocation(problem)
    assert path.length > 100

    ticks = itertools.count()
    result = solve(path, "csp-networkx:nodes=10000000", Stop(seconds=0.05), clock=lambda: next(ticks) * 1e-4)
    assert (result.status, result.reason) == ("feasible", "time")
    assert next(ticks) < 600, "looks at the clock"
