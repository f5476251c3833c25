"""What every registered solver of selections has to keep."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.interrupting import interrupted
from tests.selection_cases import random_selection, true_front, values_of
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import ModelError, SpecError, UnsupportedError
from transom.models import Knapsack, ParetoFront, Selection
from transom.models.pareto_front import nondominated
from transom.result import Result

ENTRIES = [
    entry
    for name in registry.names(registry.SOLVERS)
    for entry in registry.entries(registry.SOLVERS, name)
    if issubclass(Selection, registry.load(registry.SOLVERS, entry).solves)
]
EXACT = ("auto", "exhaustive", "pareto-dp", "epsilon")
SINGLE = ("lexicographic", "weighted", "constrained", "dot-product", "fcfs")
RANDOM = ("nsga2", "bbsched-ga", "multisched")
NATIVE = ("epsilon", "lexicographic", "weighted", "constrained")
SPECS = [*ENTRIES, "weighted:by=scip", "lexicographic:by=scip", "constrained:by=scip", "multisched:ga=bbsched"]


def test_the_suite_knows_all_solvers() -> None:
    assert sorted((*EXACT, *SINGLE, *RANDOM)) == sorted(ENTRIES)


@cache
def medium() -> Selection:
    """18 jobs, nodes and two further resources, about a third fits."""
    rng = np.random.default_rng(5)
    demands = np.column_stack((rng.integers(1, 200, 18), rng.integers(0, 60, 18), rng.integers(0, 25, 18)))
    return Selection(demands, demands.sum(axis=0) // 3, resources=("nodes", "bb", "gpu"))


@cache
def large() -> Selection:
    """500 jobs and six resources."""
    rng = np.random.default_rng(6)
    demands = rng.integers(0, 1000, (500, 6))
    return Selection(demands, demands.sum(axis=0) // 5)


@cache
def wide() -> Selection:
    """60 jobs and three resources: far too many subsets, for solvers that refuse the large one."""
    rng = np.random.default_rng(7)
    demands = rng.integers(1, 1000, (60, 3))
    return Selection(demands, demands.sum(axis=0) // 3)


@cache
def medium_front() -> set[tuple[int, ...]]:
    """By numpy, all 2**18 choices at once."""
    problem = medium()
    choices = np.arange(2**18)[:, None] >> np.arange(18) & 1
    values = choices @ problem.demands
    values = values[(values <= problem.capacity).all(axis=1)]
    return {tuple(value) for value in values[nondominated(values)].tolist()}


def made(spec: str) -> object:
    return registry.make(registry.SOLVERS, spec, Selection)


def sound(problem: Selection, result: Result) -> None:
    assert result.error is None
    assert check(problem, result) == []
    values = [value for _, value, _ in result.curve if value is not None]
    assert values == sorted(values)
    if result.solution is not None:
        assert result.parameters.get("front") in (None, "complete" if result.status == "optimal" else "not complete")


EDGES = {
    "no jobs": Selection(np.empty((0, 2)), [4, 5]),
    "one job": Selection([[2, 1]], [4, 5]),
    "one job that does not fit": Selection([[5, 1]], [4, 5]),
    "no job fits": Selection([[5, 1], [1, 6], [7, 7]], [4, 5]),
    "all fit": Selection([[1, 1], [1, 2], [2, 2]], [4, 5]),
    "nothing is free": Selection([[1, 0], [0, 0], [2, 1]], [0, 0]),
    "one resource is used up": Selection([[1, 0], [2, 1], [2, 0], [3, 0]], [4, 0]),
    "all jobs equal": Selection([[2, 3]] * 9, [9, 14]),
    "demands of nothing": Selection([[0, 0]] * 4, [3, 3]),
    "one resource": Selection([[5], [4], [3], [3]], [9]),
    "one objective": Selection(
        [[5, 1], [4, 2], [3, 3], [3, 1]], [9, 4], terms=("r1",), objectives=[[1], [2], [3], [1]]
    ),
    "objectives of nothing": Selection([[5, 1], [4, 2], [3, 3]], [9, 4], [[0, 0]] * 3),
    "worth where it costs nothing": Selection(
        [[5, 1], [4, 2], [3, 3], [0, 0]], [7, 4], [[0, 1], [2, 0], [1, 1], [3, 0]]
    ),
    "forced": Selection([[2], [2], [3], [1]], [4], forced=[0, 0, 1, 0]),
    "forced ones do not fit": Selection([[2], [3]], [4], forced=[1, 1]),
    "forced and excluded": Selection([[2], [3]], [4], forced=[1, 0], excluded=[1, 0]),
    "all excluded": Selection([[2], [3]], [4], excluded=[1, 1]),
    "a chain": Selection([[2, 1], [2, 3], [1, 2], [1, 1]], [5, 5], requires=((0, 1), (1, 2))),
    "requires one that is excluded": Selection([[2], [1], [3]], [4], excluded=[0, 1, 0], requires=((0, 1),)),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_states_what_it_is(entry: str) -> None:
    solver = registry.make(registry.SOLVERS, entry)
    assert solver.name == entry.partition(".")[0]
    assert solver.supports(medium()) is None
    with pytest.raises((AttributeError, TypeError)):
        solver.name = "other"
    assert type(solver).__doc__


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("spec", SPECS)
def test_the_edges_of_the_problem(spec: str, edge: str) -> None:
    problem, solver = EDGES[edge], made(spec)
    assert solver.supports(problem) is None
    result = solve(problem, solver, Stop(seconds=10, iterations=None if spec in EXACT else 50))
    sound(problem, result)
    best = true_front(problem)
    if not best:
        assert (result.status, result.solution) == ("infeasible", None)
    elif spec in EXACT or problem.trivial() is not None:
        assert result.status == "optimal"
        assert values_of(result.solution) == best
    else:
        assert result.status in ("feasible", "optimal")
        assert spec.partition(":")[0] not in SINGLE or len(result.solution) == 1


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("entry", EXACT)
def test_a_solver_that_is_called_directly_settles_the_edges(entry: str, edge: str) -> None:
    problem = EDGES[edge]
    budget = Stop(seconds=10).start(problem)
    answer = registry.make(registry.SOLVERS, entry)(problem, budget, np.random.default_rng(0))
    if answer is not None:
        budget.found(answer)
    best = true_front(problem)
    assert budget.infeasible == (not best)
    assert (set() if budget.solution is None else values_of(budget.solution)) == best
    assert not best or budget.optimal


@pytest.mark.parametrize("spec", SPECS)
def test_fronts_are_judged_and_exact_ones_complete(spec: str) -> None:
    rng, solver = np.random.default_rng(11), made(spec)
    for seed in range(12 if spec.partition(":")[0] in NATIVE else 60):
        problem = random_selection(rng, resources=int(rng.integers(1, 4)) if spec == "epsilon" else None)
        if solver.supports(problem) is not None:
            assert spec == "epsilon"
            assert len(problem.terms) > 3
            continue
        stop = Stop(seconds=20, iterations=None if spec in EXACT else 20)
        result = solve(problem, solver, stop, seed=seed)
        sound(problem, result)
        best = true_front(problem)
        if not best:
            assert result.status == "infeasible"
        elif spec in EXACT:
            assert result.status == "optimal", (seed, result.reason)
            assert values_of(result.solution) == best
        elif result.status == "optimal":
            assert values_of(result.solution) == best, "who claims a complete front has one"


@pytest.mark.parametrize("spec", SPECS)
def test_exact_solvers_agree_on_a_medium_window(spec: str) -> None:
    problem = medium()
    single = spec.partition(":")[0] in ("lexicographic", "weighted", "constrained")
    result = solve(problem, spec, Stop(seconds=60) if single or spec in EXACT else Stop(seconds=0.3))
    sound(problem, result)
    if spec in EXACT:
        assert result.status == "optimal"
        assert values_of(result.solution) == medium_front()
    elif single:
        assert result.parameters["proved"] == "yes"
        nodes, _, _ = result.solution.values[0].tolist()
        if spec.startswith("weighted"):
            shares = [sum(np.array(values) / problem.totals) for values in medium_front()]
            assert sum(result.solution.values[0] / problem.totals) == pytest.approx(max(shares), rel=1e-12)
        else:
            assert nodes == max(values[0] for values in medium_front())
            assert spec.startswith("constrained") or tuple(result.solution.values[0]) == max(medium_front())


@cache
def known() -> ParetoFront:
    front = solve(medium(), "pareto-dp", Stop(seconds=60)).solution
    assert isinstance(front, ParetoFront)
    return front


@pytest.mark.parametrize("spec", SPECS)
def test_a_start_is_never_made_worse_and_the_input_is_left_alone(spec: str) -> None:
    problem = medium()
    before, start = problem.digest(), known()
    for stop in (Stop(seconds=1e-6), Stop(iterations=1), Stop(iterations=0), Stop(seconds=0.05)):
        result = solve(problem, spec, stop, start=start)
        sound(problem, result)
        assert values_of(result.solution) == values_of(start)
    assert problem.digest() == before


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_infeasible_start_is_an_error(entry: str) -> None:
    with pytest.raises(ModelError, match="start is not feasible"):
        solve(medium(), entry, start=ParetoFront([[1, 1, 1]], np.zeros((1, 18), bool)))


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("size", ["large", "wide"])
def test_seconds_are_kept(spec: str, size: str) -> None:
    problem = large() if size == "large" else wide()
    solver = made(spec)
    if solver.supports(problem) is not None:
        assert spec in ("exhaustive", "epsilon")
        return

    def run() -> Result:
        result = solve(problem, solver, Stop(seconds=0.5))
        sound(problem, result)
        assert result.solution is not None
        return result

    assert used(run, 2) <= 2


@pytest.mark.parametrize("spec", ["auto", "nsga2", "bbsched-ga", "weighted", "pareto-dp"])
def test_seconds_are_kept_with_thousands_of_jobs(spec: str) -> None:
    rng = np.random.default_rng(3)
    demands = rng.integers(0, 1000, (5000, 10))
    problem = Selection(demands, demands.sum(axis=0) // 50)

    def run() -> Result:
        result = solve(problem, spec, Stop(seconds=0.5))
        sound(problem, result)
        return result

    assert used(run, 2) <= 2


@pytest.mark.parametrize("spec", SPECS)
def test_the_same_seed_gives_the_same_answer(spec: str) -> None:
    solver = made(spec)
    first, second = (solve(medium(), solver, Stop(iterations=15), seed=7) for _ in range(2))
    assert first.solution == second.solution


_ELSEWHERE = """
import json, sys
from tests.test_selection_contract import large
from transom import Stop, solve
for spec in json.loads(sys.argv[1]):
    print(json.dumps(solve(large(), spec, Stop(iterations=5), seed=11).solution.digest()))
"""


def test_random_searches_repeat_in_another_process() -> None:
    specs = ["nsga2", "bbsched-ga", "multisched", "multisched:ga=bbsched"]
    command = [sys.executable, "-c", _ELSEWHERE, json.dumps(specs)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for spec, line in zip(specs, lines, strict=True):
        assert solve(large(), spec, Stop(iterations=5), seed=11).solution.digest() == json.loads(line)


_WARM = """
import json, sys
import numpy as np
from tests.test_selection_contract import EDGES, large, made, medium, wide
from transom import Stop, solve
from transom._system.compiling import compiled
from transom.models import Selection
from transom.solving import warm_up

def kernels():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("transom.")]
    found = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, compiled)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.signatures) for kernel in found if kernel._dispatcher}

worth = Selection(medium().demands, medium().capacity, np.arange(36).reshape(18, 2) % 7)
problems = (medium(), worth, large(), wide(), EDGES["a chain"], EDGES["one resource"])
for problem in problems:
    problem.warm_up()
for spec in json.loads(sys.argv[1]):
    solver = made(spec)
    warm_up(solver, Selection)
    before = kernels()
    for problem in problems:
        if solver.supports(problem) is None:
            first = solve(problem, solver, Stop(seconds=0.3))
            solve(problem, solver, Stop(seconds=0.1, iterations=20), start=first.solution)
    more = {name: count for name, count in kernels().items() if before.get(name) != count}
    if more:
        print(spec, more)
"""


def test_warming_up_compiles_all_that_a_search_needs() -> None:
    """In one process; what one solver compiled is there for those behind it."""
    command = [sys.executable, "-c", _WARM, json.dumps(SPECS)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize("spec", SPECS)
def test_a_target_ends_the_search(spec: str) -> None:
    result = solve(medium(), spec, Stop(seconds=600, target=0.01))
    assert result.reason in ("target", "proof", "finished")


@pytest.mark.parametrize("spec", SPECS)
def test_it_ends_without_any_limit_and_prints_nothing(spec: str, capfd: pytest.CaptureFixture[str]) -> None:
    problem = Selection([[5, 1], [4, 2], [3, 3], [3, 1], [1, 1]], [9, 5])
    assert problem.trivial() is None
    result = solve(problem, spec, Stop())
    assert result.reason in ("proof", "finished")
    assert capfd.readouterr() == ("", "")


def busy(spec: str) -> tuple[Selection, Any]:
    solver: Any = made(spec)
    return large() if solver.supports(large()) is None else wide(), solver


def test_an_interrupt_gets_through() -> None:
    specs = ["pareto-dp", "epsilon", "nsga2", "auto", "multisched"]
    assert interrupted(busy, [[spec] for spec in specs]) == [f"{spec} interrupted" for spec in specs]


def test_other_problems_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="it solves Selection problems"):
        solve(Knapsack([1], [1], 1), "pareto-dp")
    with pytest.raises(UnsupportedError, match="objectives"):
        solve(large(), "epsilon")
    with pytest.raises(UnsupportedError, match="exhaustive"):
        solve(large(), "exhaustive")


WRONG = [
    "exhaustive:limit=61",
    "nsga2:population=1",
    "weighted:weights=a",
    "weighted:by=magic",
    "multisched:ga=magic",
    "bbsched-ga:generations=-1",
    "epsilon:nothing=1",
]


@pytest.mark.parametrize("spec", WRONG)
def test_wrong_parameters_are_errors(spec: str) -> None:
    with pytest.raises(SpecError):
        made(spec)


@pytest.mark.parametrize("spec", ["auto", "bbsched-ga:generations=none", "epsilon", "multisched", "nsga2", "pareto-dp"])
def test_time_is_why_a_search_ends_that_needs_its_rest_to_answer(spec: str) -> None:
    result = solve(wide(), spec, Stop(seconds=0.2))
    assert result.status == "feasible"
    assert result.reason == "time" or "ended" in result.parameters, (
        "it ends early only where its next step takes longer"
    )
