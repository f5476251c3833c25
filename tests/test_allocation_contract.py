"""What every registered solver of allocations and constrained paths has to keep."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest

from tests.allocation_cases import optimum, random_allocation
from tests.interrupting import interrupted
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import ModelError, SpecError, UnsupportedError
from transom.generate.instances.fragmented import fragmented_allocation
from transom.models import AUTHORS, PAPER, Allocation, ConstrainedPath, FatTree, Knapsack
from transom.result import Result

# The learned repair is shipped for the cluster of its paper, and tested here on others.
SPECS = {"nsa": "nsa:anywhere=yes"}
ENTRIES = [
    SPECS.get(entry, entry)
    for name in registry.names(registry.SOLVERS)
    for entry in registry.entries(registry.SOLVERS, name)
    if any(issubclass(each, registry.load(registry.SOLVERS, entry).solves) for each in (Allocation, ConstrainedPath))
]
RULES = ("static", "dynamic", "free", "path")
EXACT = {
    "static": ("auto", "scas-cpsat", "scas-dp", "scas-flow", "scas-lagrangian", "scas-scip"),
    "dynamic": ("auto", "dcas-exact"),
    "free": ("auto", "free-cpsat", "free-exact"),
    "path": ("auto", "csp-cpsat", "csp-dp", "csp-flow", "csp-lagrangian", "csp-networkx", "csp-scip"),
}
NATIVE = ("scip", "cpsat", "flow")
Problem = Allocation | ConstrainedPath


def under(rule: str, allocation: Allocation) -> Problem:
    """The window under a rule; ``path`` is the constrained path of its static form without wrap-around."""
    if rule != "path":
        return allocation.with_rule(rule)
    line = Allocation(allocation.tree, allocation.idle, allocation.sizes, "static", False, allocation.cost)
    return ConstrainedPath.from_allocation(line)


def solvers(rule: str) -> Iterator[Any]:
    """One of each entry that takes problems under this rule."""
    for entry in ENTRIES:
        solver = registry.make(registry.SOLVERS, entry)
        if isinstance(medium(rule), solver.solves) and solver.supports(medium(rule)) is None:
            yield pytest.param(rule, entry, id=f"{rule}-{entry}")


@cache
def medium(rule: str) -> Problem:
    """120 idle nodes in fragments, four jobs that ask for half of them."""
    rng = np.random.default_rng(3)
    idle = np.flatnonzero(np.repeat(rng.random(60) < 0.55, 7))[:120]
    return under(rule, Allocation(FatTree.uniform(420, 10, 40), idle, [23, 8, 17, 12], cost=AUTHORS))


@cache
def dense() -> Allocation:
    """160 of 400 nodes idle, and all of them asked for: hard under the free rule."""
    idle = np.sort(np.random.default_rng(24).choice(400, 160, replace=False))
    sizes = [22, 30, 2, 4, 22, 2, 12, 12, 4, 2, 6, 22, 8, 4, 8]
    return Allocation(FatTree.uniform(400, 10, 40), idle, sizes, "free")


@cache
def large(rule: str) -> Problem:
    """20,000 nodes, 5,000 of them idle, 50 jobs."""
    return under(rule, fragmented_allocation(np.random.default_rng(1), wrap=True))


CASES = [case for rule in RULES for case in solvers(rule)]
TREE = FatTree.k_ary(4)
EDGES = {
    "no jobs": Allocation(TREE, [1, 2, 3], []),
    "no idle nodes": Allocation(TREE, [], []),
    "one job": Allocation(TREE, [1, 2, 6, 7], [2]),
    "all idle nodes": Allocation(TREE, [1, 2, 6, 7], [4]),
    "the whole system": Allocation(TREE, np.arange(16), [16]),
    "two jobs that fill it": Allocation(TREE, [0, 1, 4, 8, 9], [3, 2]),
    "equal jobs": Allocation(TREE, [0, 1, 2, 4, 5, 6, 8, 9, 10], [3, 3, 3], cost=AUTHORS),
    "every node alone": Allocation(FatTree.uniform(8, 1, 1), np.arange(8), [2, 3]),
    "one switch": Allocation(FatTree.uniform(8, 8, 8), np.arange(1, 8), [2, 3]),
    "too many asked": Allocation(TREE, [1, 2, 3], [2, 2]),
    "scattered switches": Allocation(FatTree([0, 1, 2, 0, 1, 2, 3, 0], [0, 0, 1, 0, 0, 1, 1, 0]), np.arange(8), [3, 2]),
}


def sound(problem: Problem, result: Result) -> None:
    assert result.error is None
    assert check(problem, result) == []
    values = [value for _, value, _ in result.curve if value is not None]
    bounds = [bound for _, _, bound in result.curve if bound is not None]
    assert values == sorted(values, reverse=True)
    assert bounds == sorted(bounds)


@pytest.mark.parametrize("entry", ENTRIES)
def test_it_states_what_it_is(entry: str) -> None:
    solver = registry.make(registry.SOLVERS, entry)
    assert solver.name == registry.parse(entry)[0].partition(".")[0]
    assert issubclass(Allocation, solver.solves) or issubclass(ConstrainedPath, solver.solves)
    with pytest.raises((AttributeError, TypeError)):
        solver.name = "other"
    assert type(solver).__doc__
    assert any(entry == case.values[1] for case in CASES), "it takes no problem of this suite"


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_the_edges_of_the_problem(rule: str, entry: str, edge: str) -> None:
    problem = under(rule, EDGES[edge])
    solver = registry.make(registry.SOLVERS, entry)
    if reason := solver.supports(problem):
        assert edge in ("scattered switches", "no idle nodes"), reason
        return
    # Nobody proves dynamic solutions on scattered switches.
    exact = entry in EXACT[rule] and (rule, edge) != ("dynamic", "scattered switches")
    result = solve(problem, solver, Stop(seconds=20) if exact else Stop(seconds=0.1, iterations=300))
    sound(problem, result)
    flat = problem if isinstance(problem, Allocation) else EDGES[edge]
    if edge == "the whole system":
        best: float | None = problem.value(np.zeros(16, int) if rule != "path" else [[0, 16]])
    elif rule == "path":
        best = optimum(Allocation(flat.tree, flat.idle, flat.sizes, "static", False, flat.cost))
    else:
        best = optimum(flat)
    if best is None:
        assert (result.status, result.value) == ("infeasible", None)
    elif exact:
        assert result.status == "optimal"
        assert result.value == pytest.approx(best, rel=1e-9)
    else:
        assert result.value is not None
        assert result.value >= best * (1 - 1e-9)


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_answers_are_feasible_and_bounds_hold(rule: str, entry: str) -> None:
    solver = registry.make(registry.SOLVERS, entry)
    rng = np.random.default_rng(7)
    for seed in range(5 if any(word in entry for word in NATIVE) else 15):
        flat = random_allocation(rng, "static", max_idle=9, wrap=False if rule == "path" else None)
        problem = under(rule, flat)
        best = optimum(flat if rule == "path" else problem)
        assert best is not None
        steps = None if entry in EXACT[rule] else 20 if entry.startswith("ga") else 300
        result = solve(problem, solver, Stop(seconds=5, iterations=steps), seed=seed)
        sound(problem, result)
        assert result.value is not None
        assert result.value >= best - 1e-9 * best
        assert result.bound is None or result.bound <= best + 1e-9 * best
        if entry in EXACT[rule]:
            assert result.status == "optimal"


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_exact_solvers_agree_and_no_heuristic_is_better(rule: str, entry: str) -> None:
    problem = medium(rule)
    best = reference(rule)
    exact = entry in EXACT[rule]
    result = solve(problem, registry.make(registry.SOLVERS, entry), Stop(seconds=60 if exact else 0.3))
    sound(problem, result)
    assert result.value is not None
    assert result.value >= best
    if exact:
        assert (result.status, result.value) == ("optimal", best)


@cache
def reference(rule: str) -> float:
    result = solve(medium(rule), EXACT[rule][2] if rule in ("static", "path") else EXACT[rule][-1], Stop(seconds=60))
    assert result.status == "optimal"
    assert result.value is not None
    return result.value


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_a_start_is_never_made_worse_and_the_input_is_left_alone(rule: str, entry: str) -> None:
    problem = medium(rule)
    before = problem.digest()
    best = best_known(rule)
    start = np.array(best.solution)
    solver = registry.make(registry.SOLVERS, entry)
    for stop in (Stop(seconds=1e-6), Stop(iterations=1), Stop(iterations=0), Stop(seconds=0.05)):
        result = solve(problem, solver, stop, start=start)
        sound(problem, result)
        assert result.value == best.value
    assert problem.digest() == before
    assert np.array_equal(start, best.solution)


@cache
def best_known(rule: str) -> Result:
    return solve(medium(rule), EXACT[rule][2] if rule in ("static", "path") else EXACT[rule][-1], Stop(seconds=60))


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_an_infeasible_start_is_an_error(rule: str, entry: str) -> None:
    wrong = np.array([[0, 23]]) if rule == "path" else np.full(120, -1)
    with pytest.raises(ModelError, match="start is not feasible"):
        solve(medium(rule), registry.make(registry.SOLVERS, entry), start=wrong)


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_seconds_are_kept_on_a_large_problem(rule: str, entry: str) -> None:
    problem = large(rule)
    solver = registry.make(registry.SOLVERS, entry)
    if solver.supports(problem) is not None:
        return

    def run() -> Result:
        result = solve(problem, solver, Stop(seconds=0.5))
        sound(problem, result)
        return result

    assert used(run, 2) <= 2


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_the_same_seed_gives_the_same_answer(rule: str, entry: str) -> None:
    problem = medium(rule)
    stop = Stop(iterations=5 if entry.startswith("ga") else 200)
    solver = registry.make(registry.SOLVERS, entry)
    first, second = (solve(problem, solver, stop, seed=7) for _ in range(2))
    assert np.array_equal(first.solution, second.solution)
    assert first.value == second.value


_ELSEWHERE = """
import json, sys
from tests.test_allocation_contract import medium
from transom import Stop, registry, solve
for rule, entry, steps in json.loads(sys.argv[1]):
    solver = registry.make(registry.SOLVERS, entry)
    print(json.dumps(solve(medium(rule), solver, Stop(iterations=steps), seed=11).solution.tolist()))
"""


def test_random_searches_repeat_in_another_process() -> None:
    runs: list[tuple[str, str, int]] = [
        ("static", "sa.allocation", 300),
        ("dynamic", "sa.allocation", 300),
        ("dynamic", "sa.allocation:acceptance=walk,first=100", 300),
        ("dynamic", "ga.allocation", 5),
        ("free", "count-search", 50),
        ("dynamic", "nsa:anywhere=yes", 200),
        ("dynamic", "nsa-cost", 200),
        ("path", "sa.csp", 300),
    ]
    command = [sys.executable, "-c", _ELSEWHERE, json.dumps(runs)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    for (rule, entry, steps), line in zip(runs, lines, strict=True):
        here = solve(medium(rule), registry.make(registry.SOLVERS, entry), Stop(iterations=steps), seed=11).solution
        assert here.tolist() == json.loads(line)


_WARM = """
import json, sys
from tests.test_allocation_contract import medium
from transom import Stop, registry, solve
from transom._system.compiling import compiled
from transom.models import Allocation, ConstrainedPath
from transom.solving import warm_up

def kernels():
    modules = [module for name, module in list(sys.modules.items()) if name.startswith("transom.")]
    found = {kernel for module in modules for kernel in vars(module).values() if isinstance(kernel, compiled)}
    return {f"{kernel.__module__}.{kernel.__name__}": len(kernel.signatures) for kernel in found if kernel._dispatcher}

for rule, entry in json.loads(sys.argv[1]):
    solver = registry.make(registry.SOLVERS, entry)
    warm_up(solver, ConstrainedPath if rule == 'path' else Allocation)
    before = kernels()
    if rule == "path":
        problems = [medium(rule)]
    else:
        whole = medium(rule)
        equal = Allocation(whole.tree, whole.idle, [4] * 25, whole.rule, False, whole.cost)
        problems = [whole, equal, Allocation(whole.tree, whole.idle[:12], [12], whole.rule, True, whole.cost)]
    for problem in problems:
        first = solve(problem, solver, Stop(seconds=0.2))
        solve(problem, solver, Stop(seconds=0.2, iterations=20), start=first.solution)
    more = {name: count for name, count in kernels().items() if before.get(name) != count}
    if more:
        print(rule, entry, more)
"""


def test_warming_up_compiles_all_that_a_search_needs() -> None:
    """In one process; what one solver compiled is there for those behind it."""
    runs = [case.values for case in CASES if not any(word in case.values[1] for word in NATIVE)]
    command = [sys.executable, "-c", _WARM, json.dumps(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_a_target_ends_the_search(rule: str, entry: str) -> None:
    result = solve(medium(rule), registry.make(registry.SOLVERS, entry), Stop(seconds=600, target=2 * reference(rule)))
    assert result.value is not None
    assert result.reason in ("target", "proof", "finished")


@pytest.mark.parametrize(("rule", "entry"), CASES)
def test_it_ends_without_any_limit_and_prints_nothing(rule: str, entry: str, capfd: pytest.CaptureFixture[str]) -> None:
    flat = Allocation(TREE, [0, 1, 2, 4, 5, 6, 8, 9, 10], [3, 2], cost=PAPER)
    result = solve(under(rule, flat), registry.make(registry.SOLVERS, entry), Stop())
    assert result.reason in ("proof", "finished")
    assert capfd.readouterr() == ("", "")


def narrow() -> Allocation:
    """As large as HiGHS takes it."""
    idle = np.sort(np.random.default_rng(3).choice(4000, 950, replace=False))
    return Allocation(FatTree.uniform(4000, 10, 100), idle, np.arange(20, 39), "static", True, PAPER)


def busy(rule: str, entry: str) -> tuple[Problem, Any]:
    of = {"dense": dense, "narrow": narrow}
    return of[rule]() if rule in of else large(rule), registry.make(registry.SOLVERS, entry)


def test_an_interrupt_gets_through() -> None:
    runs = [
        ("static", "scas-scip"),
        ("narrow", "scas-flow"),
        ("static", "scas-cpsat"),
        ("free", "free-cpsat"),
        ("dense", "free-exact"),
        ("dynamic", "sa.allocation:steps=100000000"),
        ("dynamic", "auto"),
    ]
    assert interrupted(busy, runs) == [f"{rule} {entry} interrupted" for rule, entry in runs]


def test_other_problems_and_rules_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="it solves Allocation problems"):
        solve(Knapsack([1], [1], 1), "scas-dp")
    for rule, name in (("dynamic", "scas-dp"), ("free", "dcas-exact"), ("static", "free-exact"), ("free", "scas-flow")):
        with pytest.raises(UnsupportedError, match="rule"):
            solve(medium(rule), name)


WRONG = [
    "scas-dp:memory=0",
    "scas-flow:backend=scip",
    "sa.allocation:steps=0",
    "sa.allocation:acceptance=never",
    "sa.allocation:tmin=0",
    "sa.allocation:first=0",
    "ga.allocation:population=1",
    "dcas-exact:nothing=1",
    "nsa:choose=worst",
    "nsa:tmin=0",
    "nsa-cost:heat=-1",
]


@pytest.mark.parametrize("spec", WRONG)
def test_wrong_parameters_are_errors(spec: str) -> None:
    with pytest.raises(SpecError):
        registry.make(registry.SOLVERS, spec)
