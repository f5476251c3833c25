"""Dynamic programming over the capacities."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from transom import Stop, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Knapsack
from transom.models.reduction import reduce
from transom.solvers.knapsack import dynamic_programming as dp

HARD = generate_knapsack("inverse-strongly-correlated", 400, 1000, np.random.default_rng(0))


@pytest.mark.parametrize("cells", [1, 7, 1000, 10**9])
def test_the_answer_does_not_depend_on_the_chunks(cells: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = generate_knapsack("strongly-correlated", 25, 60, np.random.default_rng(1))
    expected = solve(problem, "dp")
    monkeypatch.setattr(dp, "_CHUNK", cells)
    result = solve(problem, "dp", Stop())
    assert result.status == "optimal"
    assert np.array_equal(result.solution, expected.solution)


@pytest.mark.parametrize("seed", range(20))
def test_rows_and_decisions_equal_those_of_plain_python(seed: int) -> None:
    # Weights on either side of 64: whole words of decisions are computed in another way.
    rng = np.random.default_rng(seed)
    capacity, items = int(rng.integers(100, 700)), 30
    values = rng.integers(1, 50, items)
    weights = rng.integers(1, rng.integers(2, 200), items).clip(max=capacity)
    best, plain = np.zeros(capacity + 1, np.int64), [0] * (capacity + 1)
    decisions = np.zeros((items, (capacity + 64) // 64), np.uint64)
    given = dp.Items(values, weights, weights.copy())
    row, column = 0, capacity
    while row < items:
        row, column = dp.fill_table(best, decisions, given, row, column, items, 333)
    for item in range(items):
        for c in range(capacity, int(weights[item]) - 1, -1):
            taken = plain[c - int(weights[item])] + int(values[item]) > plain[c]
            plain[c] = max(plain[c], plain[c - int(weights[item])] + int(values[item]))
            assert bool(int(decisions[item, c >> 6]) >> (c & 63) & 1) is taken
    assert best.tolist() == plain


def test_out_of_time_the_greedy_answer_and_its_bound_remain() -> None:
    greedy = solve(HARD, "greedy")
    for stop, reason in ((Stop(seconds=1e-4), "time"), (Stop(iterations=3), "iterations")):
        result = solve(HARD, "dp", stop)
        assert (result.status, result.reason) == ("feasible", reason)
        assert (result.value, result.bound) == (greedy.value, greedy.bound)


def test_a_table_as_large_as_the_memory_is_taken() -> None:
    assert 6 < dp.table_bytes(reduce(HARD)) / 2**20 <= 7
    assert dp.DynamicProgramming(memory=7).supports(HARD) is None
    assert "more than memory=6" in str(dp.DynamicProgramming(memory=6).supports(HARD))


def test_a_common_divisor_of_the_weights_makes_the_table_small() -> None:
    problem = Knapsack([60, 100, 120], np.array([10, 20, 30]) * 10**14, 50 * 10**14 + 7)
    assert solve(problem, "dp").value == 220


def test_solving_compiles_nothing() -> None:
    # In a process of its own: windows of replays hand the same kernels arrays of other kinds.
    script = (
        "from tests.solvers.knapsack.test_dynamic_programming import HARD, dp, solve\n"
        "solver = dp.DynamicProgramming()\n"
        "solver.warm_up()\n"
        "before = [len(kernel.signatures) for kernel in (dp.fill_table, dp.read_table)]\n"
        "assert solve(HARD, solver).status == 'optimal'\n"
        "assert [len(kernel.signatures) for kernel in (dp.fill_table, dp.read_table)] == before == [1, 1]\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3], check=True)


@pytest.mark.parametrize("items", [([], []), ([5, -1], [3, 2]), ([4], [2**61])])
def test_a_large_capacity_needs_no_table_where_nothing_is_to_decide(items: tuple[list[int], list[int]]) -> None:
    problem = Knapsack(*items, 2**62)
    result = solve(problem, "dp", Stop(seconds=10))
    assert (result.status, result.value) == ("optimal", max([0, *items[0]]))
