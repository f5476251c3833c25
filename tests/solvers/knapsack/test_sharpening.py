"""Cuts on the number of items, pairs and bundles: bounds hold, proofs are right, hard classes are closed."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transom import Stop, check, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.heuristics.knapsack.greedy import Greedy
from transom.models import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.knapsack import cut_core, primal_dual
from transom.solvers.knapsack.cardinality import cuts
from transom.solvers.knapsack.remainder import remainder
from transom.solvers.knapsack.sharpening import sharpen, warm_up
from transom.stop import Budget

HARD = ("strongly-correlated", "inverse-strongly-correlated", "multiple-strongly-correlated", "profit-ceiling")


def begun(problem: Knapsack, stop: Stop | None = None) -> tuple[Reduced, Budget]:
    budget = (stop or Stop()).start(problem)
    Greedy()(problem, budget, np.random.default_rng(0))
    return reduce(problem), budget


def enumerated(problem: Knapsack) -> int:
    choices = np.array(list(product((0, 1), repeat=len(problem))), dtype=np.int64)
    return int((choices @ problem.values)[choices @ problem.weights <= problem.capacity].max())


def small(seed: int, klass: str, items: int, value_range: int, ratio: float) -> Knapsack:
    return generate_knapsack(klass, items, value_range, np.random.default_rng(seed), ratio)


instances = st.builds(
    small,
    st.integers(0, 2**32 - 1),
    st.sampled_from(sorted(CLASSES)),
    st.integers(1, 11),
    st.sampled_from([10, 50, 1000]),
    st.floats(0.02, 0.98),
)


@settings(max_examples=150)
@given(instances, st.booleans(), st.sampled_from([1, 2, 4096]))
def test_what_is_proved_is_what_enumeration_finds(problem: Knapsack, pairs: bool, room: int) -> None:
    optimum = enumerated(problem)
    reduced, budget = begun(problem)
    if budget.done():
        return
    sharpen(reduced, budget, room, pairs)
    assert budget.value is not None
    assert budget.bound is not None
    assert budget.value <= optimum <= budget.bound
    if room == 4096:
        assert (budget.value, budget.bound) == (optimum, optimum)


@settings(max_examples=150)
@given(instances, st.integers(0, 3))
def test_remainders_and_cuts_keep_every_better_solution(problem: Knapsack, above: int) -> None:
    optimum = enumerated(problem)
    reduced = reduce(problem)
    if not len(reduced.items):
        return
    # As if a solution just below the optimum were known.
    rest = remainder(reduced, optimum - reduced.unit * (1 + above))
    assert rest is not None
    if len(rest.values):
        inner = solve(Knapsack(rest.values, rest.weights, rest.capacity), "dp", Stop())
        assert inner.value is not None
        assert problem.value(rest.solution(inner.solution)) == optimum
        assert rest.value_of(int(inner.value)) == optimum
        both = cuts(rest)
        assert both
        assert rest.value_of(both[0].bound // both[0].steps) >= optimum


def test_equal_items_are_put_together() -> None:
    problem = generate_knapsack("spanner-weakly-correlated", 2000, 1000, np.random.default_rng(1))
    reduced, budget = begun(problem)
    rest = remainder(reduced, int(budget.value or 0))
    assert rest is not None
    assert len(rest.values) < 200
    chosen = np.random.default_rng(2).random(len(rest.values)) < 0.5
    solution = rest.solution(chosen)
    assert problem.value(solution) == rest.value_of(int(rest.values[chosen].sum()))


def test_a_common_divisor_of_what_is_left_lowers_the_bound() -> None:
    # Once the small item is settled, weights are even, and one unit of the capacity stays free.
    problem = Knapsack([1000, 21, 19, 23, 25], [1, 20, 18, 22, 24], 42)
    reduced, budget = begun(problem)
    rest = remainder(reduced, int(budget.value or 0))
    assert rest is None or int(np.gcd.reduce(rest.weights)) == 1
    sharpen(reduced, budget, 64, pairs=False)
    assert budget.optimal
    assert budget.value == enumerated(problem)


@pytest.mark.parametrize("klass", [*HARD, "almost-strongly-correlated", "subset-sum", "similar-weights"])
def test_hard_classes_with_large_numbers_are_closed_by_few_items(klass: str) -> None:
    # Without the cut the core takes hundreds of items and more states than there is memory for.
    for number in (10, 50) if klass == "multiple-strongly-correlated" else (10, 50, 85):
        problem = generate_knapsack(klass, 1000, 10**6, np.random.default_rng(number), series=(number, 100))
        result = solve(problem, "primal-dual", Stop(iterations=3000))
        assert check(problem, result) == []
        assert result.status == "optimal", number


@pytest.mark.parametrize("klass", CLASSES)
def test_the_cut_agrees_with_the_table(klass: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(primal_dual, "_TURNS", (1, 1, 1))
    for items, value_range, ratio in ((120, 300, 0.2), (300, 100, 0.5), (60, 2000, 0.7)):
        problem = generate_knapsack(klass, items, value_range, np.random.default_rng(items), ratio)
        ours, theirs = (solve(problem, spec, Stop(seconds=20)) for spec in ("primal-dual", "dp"))
        assert (ours.status, ours.value) == (theirs.status, theirs.value) == ("optimal", theirs.value)


@pytest.mark.parametrize("klass", HARD)
def test_large_ones_agree_with_cpsat_s_bounds(klass: str) -> None:
    problem = generate_knapsack(klass, 300, 10**5, np.random.default_rng(9))
    ours = solve(problem, "primal-dual", Stop(seconds=20))
    theirs = solve(problem, "cpsat", Stop(seconds=2))
    assert ours.status == "optimal"
    assert theirs.value is not None
    assert ours.value is not None
    assert theirs.bound is not None
    assert theirs.value <= ours.value <= theirs.bound


def test_solving_compiles_nothing() -> None:
    kernels = (cut_core.expand, cut_core.subsets, cut_core.pair)
    warm_up()
    before = [len(kernel.signatures) for kernel in kernels]
    problem = generate_knapsack("inverse-strongly-correlated", 1000, 10**6, np.random.default_rng(2))
    assert solve(problem, "primal-dual", Stop(iterations=2000)).status == "optimal"
    assert [len(kernel.signatures) for kernel in kernels] == before == [1, 1, 1]


def two_levels(seed: int, items: int, apart: int, ratio: float) -> Knapsack:
    rng = np.random.default_rng(seed)
    weights = rng.integers(1, 60, items)
    return Knapsack(weights + apart * rng.integers(2, 4, items), weights, int(ratio * weights.sum()))


@settings(max_examples=150)
@given(
    st.builds(two_levels, st.integers(0, 2**32 - 1), st.integers(8, 12), st.integers(1, 60), st.floats(0.1, 0.95)),
    st.sampled_from([1, 2, 4096]),
)
def test_proofs_under_cuts_of_levels_are_what_enumeration_finds(problem: Knapsack, room: int) -> None:
    optimum = enumerated(problem)
    reduced, budget = begun(problem)
    if budget.done():
        return
    sharpen(reduced, budget, room, pairs=False)
    assert budget.value is not None
    assert budget.bound is not None
    assert budget.value <= optimum <= budget.bound
