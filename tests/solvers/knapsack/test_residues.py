"""Searching by residues: proofs hold, and close what counting items does not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from transom import Stop, check, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.models import Knapsack
from transom.models.reduction import reduce
from transom.solvers.knapsack import residues
from transom.solvers.knapsack.dynamic_programming import DynamicProgramming
from transom.solvers.knapsack.incumbent import first_incumbent
from transom.solvers.knapsack.residues import ResidueSearch
from transom.stop import Budget


def searched(problem: Knapsack, room: int, known: np.ndarray | None = None) -> Budget | None:
    """The budget after a search; None where there is nothing to search for."""
    reduced = reduce(problem)
    if not len(reduced.items):
        return None
    budget = Stop().start(problem)
    first_incumbent(problem, budget, np.random.default_rng(0))
    if known is not None:
        budget.found(known)
    search = ResidueSearch(reduced)
    search.promising(budget)
    search.grow(budget, room)
    return budget


@settings(max_examples=300)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CLASSES)),
    st.integers(2, 60),
    st.sampled_from([10, 100, 1000, 10_000]),
    st.floats(0.02, 0.98),
    st.sampled_from([1, 4, 64, 4096]),
    st.booleans(),
)
def test_bounds_hold(seed: int, klass: str, items: int, value_range: int, ratio: float, room: int, known: bool) -> None:
    problem = generate_knapsack(klass, items, value_range, np.random.default_rng(seed), ratio)
    assume(DynamicProgramming().supports(problem) is None)  # or its table is too large
    best = solve(problem, "dp", Stop())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(residues, "_CELLS", 64 if seed % 2 else 2**15)
        budget = searched(problem, room, best.solution if known else None)
    if budget is not None:
        assert budget.value is not None
        assert budget.bound is not None
        assert best.value is not None
        assert budget.value <= best.value <= budget.bound


@pytest.mark.parametrize("items", [100, 1000])
def test_circles_are_closed_by_few_states(items: int) -> None:
    problem = generate_knapsack("circle", items, 10**6, np.random.default_rng(2))
    budget = searched(problem, 2**12)
    assert budget is not None
    assert budget.optimal
    if items == 100:
        assert budget.value == solve(problem, "cpsat", Stop(seconds=60)).value


@pytest.mark.parametrize("capacity", [25, 50, 80])
def test_large_circles_are_proved_within_few_iterations(capacity: int) -> None:
    problem = generate_knapsack("circle", 10_000, 10**6, np.random.default_rng(capacity), series=(capacity, 100))
    # Where the core alone ends at a gap.
    result = solve(problem, "primal-dual", Stop(iterations=5000))
    assert check(problem, result) == []
    assert result.status == "optimal"
