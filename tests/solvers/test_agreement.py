"""The exact solvers against enumeration, against each other, and against published optima."""

from __future__ import annotations

import csv
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.timing import used
from transom import Stop, check, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.models import Knapsack
from transom.result import Result

EXACT = (
    "auto",
    "dp",
    "primal-dual",
    "scip",
    "cpsat",
)
ENDLESS = Stop(seconds=600)

small = st.integers(1, 9).flatmap(
    lambda n: st.builds(
        Knapsack,
        st.lists(st.integers(-3, 30), min_size=n, max_size=n),
        st.lists(st.integers(0, 30), min_size=n, max_size=n),
        st.integers(0, 90),
    )
)


@settings(max_examples=60)
@given(small)
def test_all_find_what_enumeration_finds(problem: Knapsack) -> None:
    choices = np.array(list(product((0, 1), repeat=len(problem))), dtype=np.int64)
    optimum = int((choices @ problem.values)[choices @ problem.weights <= problem.capacity].max())
    for spec in EXACT:
        result = solve(problem, spec, ENDLESS)
        assert (spec, result.status, result.value, result.bound) == (spec, "optimal", optimum, optimum)


@settings(max_examples=60)
@given(small, st.sampled_from([10**6, 10**9, 2**40]), st.integers(0, 1))
def test_the_integer_solvers_with_large_numbers(problem: Knapsack, scale: int, shift: int) -> None:
    # The shift keeps the common divisor from undoing the scale.
    values = problem.values * scale + shift * np.arange(len(problem))
    large = Knapsack(values, problem.weights, problem.capacity)
    choices = np.array(list(product((0, 1), repeat=len(large))), dtype=np.int64)
    optimum = int((choices @ large.values)[choices @ large.weights <= large.capacity].max())
    for spec in ("dp", "primal-dual", "cpsat"):
        result = solve(large, spec, ENDLESS)
        assert (spec, result.status, result.value) == (spec, "optimal", optimum)


def window(rng: np.random.Generator, objective: str) -> Knapsack:
    """A window of 5 to 50 jobs on 4,360 nodes, job sizes as machines have them."""
    jobs = int(rng.integers(5, 51))
    nodes = np.minimum(128 * 2 ** rng.integers(0, 6, jobs) - rng.choice([0, 0, 1, 17], jobs), 4360)
    wait = rng.integers(0, 86_400, jobs)
    real = {
        "nodes": nodes,
        "wait": nodes * (wait + 1),
        "dras": np.rint(1e6 * (wait / max(1, wait.max()) / 3 + nodes / 4360 * 2 / 3)),
    }
    return Knapsack(real[objective], nodes, int(rng.integers(128, 4361)))


@pytest.mark.parametrize("objective", ["nodes", "wait", "dras"])
def test_windows_have_one_optimum(objective: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        problem = window(rng, objective)
        answers = {spec: solve(problem, spec, ENDLESS) for spec in ("dp", "primal-dual", "auto", "cpsat", "scip")}
        values = {spec: answer.value for spec, answer in answers.items()}
        assert len(set(values.values())) == 1, values
        for spec, answer in answers.items():
            assert check(problem, answer) == []
            # SCIP states how far its floating point carries.
            assert answer.status == "optimal" or (spec == "scip" and problem.values.sum() > 10**10)


@pytest.mark.parametrize("klass", CLASSES)
def test_classes_have_one_optimum(klass: str) -> None:
    rng = np.random.default_rng(7)
    for items, value_range in ((20, 100), (40, 1000), (60, 300)):
        problem = generate_knapsack(klass, items, value_range, rng)
        expected = solve(problem, "primal-dual", ENDLESS)
        assert expected.status == "optimal"
        for spec in ("auto", "dp", "scip", "cpsat"):
            result = solve(problem, spec, ENDLESS)
            assert (spec, result.status, result.value) == (spec, "optimal", expected.value)


@pytest.mark.parametrize("klass", CLASSES)
def test_primal_dual_and_dp_on_larger_ones(klass: str) -> None:
    rng = np.random.default_rng(8)
    for items, value_range in ((300, 100), (1000, 50)):
        problem = generate_knapsack(klass, items, value_range, rng, ratio=0.3)
        results = [solve(problem, spec, ENDLESS) for spec in ("dp", "primal-dual", "primal-dual:memory=1")]
        assert results[0].status == results[1].status == "optimal"
        assert results[0].value == results[1].value
        assert check(problem, results[2]) == []
        assert results[2].value is not None
        assert results[0].value is not None
        assert results[2].value <= results[0].value


def proved(problem: Knapsack, spec: str, optimum: int) -> Result:
    result = solve(problem, spec, ENDLESS)
    assert (result.status, result.value) == ("optimal", optimum)
    return result


@pytest.mark.reference
def test_the_published_optima_are_proved_within_seconds(shared: Path) -> None:
    folder = shared / "instances" / "kplib"
    with (folder / "optima.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 52
    for row in rows:
        numbers = np.array((folder / row["instance"].replace("/", "_")).read_text("ascii").split(), dtype=np.int64)
        items = numbers[2:].reshape(int(numbers[0]), 2)
        problem = Knapsack(items[:, 0], items[:, 1], int(numbers[1]))
        for spec in ("auto", "primal-dual"):
            assert used(partial(proved, problem, spec, int(row["optimum"])), 5) <= 5, row["instance"]
