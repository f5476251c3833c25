"""What every registered solver of knapsacks has to keep, one suite for all of them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from tests.interrupting import interrupted
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import ModelError, SpecError, UnsupportedError
from transom.generate.instances.knapsacks import generate_knapsack, hard_knapsack
from transom.generate.instances.paths import random_path
from transom.models import Knapsack
from transom.result import Result

SOLVERS = [
    name
    for name in registry.names(registry.SOLVERS)
    if issubclass(Knapsack, registry.load(registry.SOLVERS, name, Knapsack).solves)
]
EXACT = ("auto", "dp", "primal-dual", "scip", "cpsat")
VARIANTS = [
    *SOLVERS,
    "primal-dual:memory=1",
    "cpsat:presolve=0",
    "sa:steps=1000",
    "ga:population=10",
]
QUICK = Stop(seconds=0.2, iterations=2000)


def problem(items: int = 40, seed: int = 0, value_range: int = 100) -> Knapsack:
    return generate_knapsack("strongly-correlated", items, value_range, np.random.default_rng(seed))


EDGES = {
    "no items": Knapsack([], [], 10),
    "nothing, no capacity": Knapsack([], [], 0),
    "one item": Knapsack([5], [3], 3),
    "one item, too heavy": Knapsack([5], [4], 3),
    "no capacity": Knapsack([5, 6], [3, 1], 0),
    "no capacity, one weightless": Knapsack([5, 6, -1], [3, 0, 0], 0),
    "all fit": Knapsack([5, 6, 7], [3, 1, 2], 6),
    "negative values": Knapsack([-5, -6], [1, 0], 5),
    "values of both signs": Knapsack([7, -6, 9, 4, 0], [3, 1, 4, 2, 2], 6),
    "weightless items": Knapsack([7, 6, 9, -4, 5], [0, 3, 4, 0, 3], 6),
    "equal items": Knapsack([5] * 9, [4] * 9, 17),
    "a common divisor": Knapsack([600, 1000, 1200], [10, 20, 30], 59),
}
OPTIMA = {
    "no items": 0,
    "nothing, no capacity": 0,
    "one item": 5,
    "one item, too heavy": 0,
    "no capacity": 0,
    "no capacity, one weightless": 6,
    "all fit": 18,
    "negative values": 0,
    "values of both signs": 13,
    "weightless items": 18,
    "equal items": 20,
    "a common divisor": 2200,
}


def sound(knapsack: Knapsack, result: Result) -> None:
    assert result.error is None
    assert check(knapsack, result) == []
    assert result.solution is not None
    values = [value for _, value, _ in result.curve if value is not None]
    bounds = [bound for _, _, bound in result.curve if bound is not None]
    assert values == sorted(values)
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize("name", SOLVERS)
def test_it_states_what_it_is(name: str) -> None:
    solver = registry.make(registry.SOLVERS, name, Knapsack)
    assert solver.name == name
    assert issubclass(Knapsack, solver.solves)
    assert solver.supports(problem()) is None
    with pytest.raises((AttributeError, TypeError)):
        solver.name = "other"


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("spec", VARIANTS)
def test_the_edges_of_the_problem(spec: str, edge: str) -> None:
    knapsack = EDGES[edge]
    exact = spec.partition(":")[0] in EXACT
    result = solve(knapsack, spec, Stop(seconds=30) if exact else QUICK)  # a proof ends it at once
    sound(knapsack, result)
    assert result.value is not None
    assert result.value <= OPTIMA[edge]
    if exact:
        assert (result.status, result.value, result.bound) == ("optimal", OPTIMA[edge], OPTIMA[edge])


@pytest.mark.parametrize("spec", VARIANTS)
def test_answers_are_feasible_and_bounds_hold(spec: str) -> None:
    for seed, klass in enumerate(("uncorrelated", "inverse-strongly-correlated", "circle", "subset-sum")):
        knapsack = generate_knapsack(klass, 30, 1000, np.random.default_rng(seed))
        result = solve(knapsack, spec, QUICK, seed=seed)
        sound(knapsack, result)
        optimum = solve(knapsack, "dp").value
        assert optimum is not None
        assert result.value is not None
        assert result.value <= optimum
        assert result.bound is None or result.bound >= optimum


@pytest.mark.parametrize("spec", VARIANTS)
def test_the_input_is_left_alone(spec: str) -> None:
    knapsack = problem()
    before = knapsack.digest()
    start = np.zeros(len(knapsack), dtype=bool)
    solve(knapsack, spec, QUICK, start=start)
    assert knapsack.digest() == before
    assert not start.any()


@pytest.mark.parametrize("spec", VARIANTS)
def test_a_start_is_never_made_worse(spec: str) -> None:
    knapsack = problem()
    best = solve(knapsack, "dp")
    for stop in (Stop(seconds=1e-6), Stop(iterations=1), Stop(iterations=0), Stop(seconds=0.05)):
        result = solve(knapsack, spec, stop, start=best.solution)
        sound(knapsack, result)
        assert result.value == best.value


@pytest.mark.parametrize("spec", VARIANTS)
def test_an_infeasible_start_is_an_error(spec: str) -> None:
    with pytest.raises(ModelError, match="start is not feasible: weight"):
        solve(problem(), spec, start=np.ones(40, dtype=bool))


@pytest.mark.parametrize("spec", VARIANTS)
def test_there_is_an_answer_at_once(spec: str) -> None:
    knapsack = problem()
    result = solve(knapsack, spec, Stop(seconds=1e-9))
    sound(knapsack, result)
    assert result.value
    assert result.bound is not None


def kept(knapsack: Knapsack, spec: str, seconds: float) -> bool:
    """Whether a budget is kept with an allowance of 0.1 s."""

    def run() -> Result:
        result = solve(knapsack, spec, Stop(seconds=seconds))
        sound(knapsack, result)
        assert result.value
        return result

    return used(run, 4 * seconds) <= 4 * seconds


@pytest.mark.parametrize("name", SOLVERS)
def test_seconds_are_kept_on_a_large_problem(name: str) -> None:
    knapsack = hard_knapsack("multiple-strongly-correlated", np.random.default_rng(1))
    assert len(knapsack) == 10_000
    assert knapsack.capacity == 10**8
    if name == "dp":
        with pytest.raises(UnsupportedError, match="10000 items x 100000001 capacities needs 1"):
            solve(knapsack, name)
    else:
        assert kept(knapsack, name, seconds=0.5)


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "dp"])
def test_seconds_are_kept_with_huge_numbers(name: str) -> None:
    knapsack = generate_knapsack("strongly-correlated", 2000, 10**8, np.random.default_rng(1))
    assert kept(knapsack, name, seconds=0.3)


@pytest.mark.parametrize("spec", VARIANTS)
def test_the_same_seed_gives_the_same_answer(spec: str) -> None:
    knapsack = problem(60, seed=3, value_range=1000)
    stop = Stop(iterations=5 if spec.startswith("ga") else 3000)
    first, second = (solve(knapsack, spec, stop, seed=7) for _ in range(2))
    assert np.array_equal(first.solution, second.solution)
    assert first.value == second.value
    assert [point[1:] for point in first.curve] == [point[1:] for point in second.curve]


_ELSEWHERE = """
import json, sys
import numpy as np
from transom import Stop, solve
from transom.generate.instances.knapsacks import generate_knapsack
knapsack = generate_knapsack("circle", 300, 1000, np.random.default_rng(5))
for spec, steps in json.loads(sys.argv[1]):
    print(json.dumps(np.flatnonzero(solve(knapsack, spec, Stop(iterations=steps), seed=11).solution).tolist()))
"""


def test_random_searches_repeat_in_another_process() -> None:
    knapsack = generate_knapsack("circle", 300, 1000, np.random.default_rng(5))
    runs: list[tuple[str, int]] = [("sa", 20_000), ("sa:steps=3000", 10_000), ("ga", 10)]
    command = [sys.executable, "-c", _ELSEWHERE, json.dumps(runs)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for (spec, steps), line in zip(runs, lines, strict=True):
        here = solve(knapsack, spec, Stop(iterations=steps), seed=11).solution
        assert np.flatnonzero(here).tolist() == json.loads(line)


@pytest.mark.parametrize("spec", VARIANTS)
def test_a_target_ends_the_search(spec: str) -> None:
    knapsack = problem(60)
    bound = solve(knapsack, "greedy").bound
    assert bound is not None
    assert solve(knapsack, spec, Stop(seconds=600, target=bound // 2)).reason == "target"


@pytest.mark.parametrize("spec", VARIANTS)
def test_a_gap_ends_the_search(spec: str) -> None:
    assert solve(problem(60), spec, Stop(seconds=600, gap=0.5)).reason == "gap"


@pytest.mark.parametrize("name", SOLVERS)
def test_it_ends_without_any_limit(name: str) -> None:
    knapsack = problem(12)
    result = solve(knapsack, name, Stop())
    sound(knapsack, result)
    assert result.reason in ("proof", "finished")


@pytest.mark.parametrize("spec", VARIANTS)
def test_it_prints_nothing(spec: str, capfd: pytest.CaptureFixture[str]) -> None:
    solve(problem(), spec, QUICK)
    assert capfd.readouterr() == ("", "")


def busy(name: str) -> tuple[Knapsack, Any]:
    klass = "profit-ceiling" if name == "auto" else "inverse-strongly-correlated"  # that nobody proves soon
    knapsack = generate_knapsack(klass, 2000, 10**8, np.random.default_rng(1))
    return knapsack, registry.make(registry.SOLVERS, name, Knapsack)


def test_an_interrupt_gets_through() -> None:
    names = ["scip", "cpsat", "sa", "auto"]
    assert interrupted(busy, [[name] for name in names]) == [f"{name} interrupted" for name in names]


def test_importing_the_solvers_imports_no_back_end() -> None:
    code = (
        "import sys, transom.solvers, transom.heuristics; "
        "print([m for m in ('ortools', 'pyscipopt', 'pymoo', 'numba') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


REFUSED: list[tuple[str, Knapsack, str]] = [
    ("dp", Knapsack([9, 8], [10**9, 10**9 - 1], 10**9), r"solver 'dp' cannot .* 2 items x 1000000001 capacities"),
    ("dp:memory=1", problem(2000), r"solver 'dp' .* more than memory=1"),
    ("scip", Knapsack([2**53, 1], [1, 1], 1), r"solver 'scip' .* the values add up to 9007199254740993"),
    ("scip", Knapsack([1, 1], [2**53, 1], 1), r"solver 'scip' .* the weights add up to"),
]


@pytest.mark.parametrize(("spec", "knapsack", "reason"), REFUSED)
def test_refusals_are_named(spec: str, knapsack: Knapsack, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason):
        solve(knapsack, spec)


WRONG = [
    "dp:memory=0",
    "dp:memory=much",
    "primal-dual:memory=-1",
    "primal-dual:thin=perhaps",
    "sa:steps=0",
    "sa:initial=0.1,final=0.2",
    "sa:final=0",
    "sa:initial=inf",
    "ga:population=1",
    "cpsat:presolve=-1",
    "scip:nodes=5",
]


@pytest.mark.parametrize("spec", WRONG)
def test_wrong_parameters_are_errors(spec: str) -> None:
    with pytest.raises(SpecError):
        registry.make(registry.SOLVERS, spec)


def test_other_problems_are_refused() -> None:
    path: Any = random_path(np.random.default_rng(0), length=30, sizes=2, arcs=4, longest=5)
    for name in set(SOLVERS) - {"auto"}:  # which takes every type of problem
        with pytest.raises(UnsupportedError, match="it solves Knapsack problems"):
            solve(path, registry.make(registry.SOLVERS, name, Knapsack))


@pytest.mark.parametrize("name", ["sa", "ga", "cpsat", "scip", "primal-dual"])
def test_who_cannot_begin_in_time_answers_greedily(name: str) -> None:
    knapsack = generate_knapsack("strongly-correlated", 100_000, 10**6, np.random.default_rng(1))
    ticks = iter([0.0])
    result = solve(knapsack, name, Stop(seconds=0.02), clock=lambda: next(ticks, 0.0))  # no time passes, little is left
    sound(knapsack, result)
    assert result.reason == "finished"
    assert str(result.parameters["ended"]).startswith("early")
    assert result.value == solve(knapsack, "greedy").value


def test_a_solver_after_another_one_begins_with_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    knapsack = problem()
    budget = Stop(iterations=10).start(knapsack)
    registry.make(registry.SOLVERS, "greedy")(knapsack, budget, np.random.default_rng(0))
    points = len(budget.curve)
    monkeypatch.setattr("transom.heuristics.knapsack.greedy.reduce", None)  # greedy would fail now
    registry.make(registry.SOLVERS, "sa")(knapsack, budget, np.random.default_rng(0))
    assert budget.iterations == 10
    assert len(budget.curve) >= points
