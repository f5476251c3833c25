"""Random small problems of every kind: what solvers say against enumeration, which shares no code with them.

Beside every proof and every bound, this finds lost answers: an exact solver with all the time that it wants has to
find the best there is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests import allocation_cases, path_cases, placement_cases, selection_cases, workflow_cases
from tests.solvers.joint import test_joint as joint_cases
from transom import Stop, check, registry, solve
from transom.models import Knapsack, Selection
from transom.result import Result
from transom.solving import refusal

ROUNDED = ("scip", "csp-cpsat")
"""These round large numbers, and end without a proof where that leaves a doubt."""

AMPLE = (Stop(), Stop(seconds=600))
"""Budgets that no small problem uses up; ``auto`` has a schedule for each."""


class Kind(NamedTuple):
    """Problems of a kind, what is right, and who solves them; of rows of solvers one is asked about each problem."""

    problem: Callable[[np.random.Generator], Any]
    best: Callable[[Any], Any]
    exact: tuple[str, ...]
    native: tuple[str, ...] = ()
    rough: tuple[str, ...] = ()
    every: int = 10


def random_knapsack(rng: np.random.Generator) -> Knapsack:
    """Up to eight items, some worth nothing or less, or without weight; numbers of any size."""
    items, largest = int(rng.integers(0, 9)), int(rng.choice([3, 30, 1000, 2**40]))
    weights = rng.integers(0, largest + 1, items)
    values = weights + rng.integers(-2, 3, items) if rng.random() < 0.3 else rng.integers(-3, largest + 1, items)
    return Knapsack(values, weights, int(weights.sum() * rng.random()) if rng.random() < 0.9 else 0)


def best_knapsack(problem: Knapsack) -> int:
    """The largest value of all choices."""
    choices = [(0, 0)]
    for value, weight in zip(problem.values.tolist(), problem.weights.tolist(), strict=True):
        choices += [(worth + value, used + weight) for worth, used in choices]
    return max(worth for worth, used in choices if used <= problem.capacity)


def random_selection(rng: np.random.Generator) -> Selection:
    """Up to seven jobs and four objectives; numbers of any size."""
    return selection_cases.random_selection(
        rng, int(rng.integers(0, 8)), largest=int(rng.choice([1, 3, 10, 1000, 2**45]))
    )


def allocations(rule: str, idle: int) -> Callable[[np.random.Generator], Any]:
    """Random allocations under a rule."""
    return lambda rng: allocation_cases.random_allocation(rng, rule, idle)


KINDS = {
    "knapsack": Kind(
        random_knapsack,
        best_knapsack,
        ("dp", "primal-dual"),
        ("cpsat", "scip"),
        ("greedy", "sa", "ga"),
    ),
    "selection": Kind(
        random_selection,
        lambda problem: selection_cases.true_front(problem) or None,
        ("exhaustive", "pareto-dp"),
        ("epsilon", "epsilon:by=cpsat"),
        ("weighted", "lexicographic", "constrained", "fcfs", "dot-product", "nsga2", "bbsched-ga", "multisched"),
    ),
    "scas": Kind(
        allocations("static", 9),
        allocation_cases.optimum,
        ("scas-dp", "scas-lagrangian"),
        ("scas-cpsat", "scas-flow", "scas-scip"),
        ("best-fit", "sequential", "sa", "ga", "dp-polish"),
    ),
    "dcas": Kind(
        allocations("dynamic", 9),
        allocation_cases.optimum,
        ("dcas-exact",),
        rough=("best-fit", "sequential", "sa", "ga", "dp-polish"),
    ),
    "free": Kind(
        allocations("free", 7),
        allocation_cases.optimum,
        ("free-exact",),
        ("free-cpsat",),
        ("best-fit", "sequential", "sa", "ga", "count-search"),
    ),
    "csp": Kind(
        path_cases.random_path,
        path_cases.least_cost,
        ("csp-dp", "csp-lagrangian"),
        ("csp-cpsat", "csp-flow", "csp-scip", "csp-networkx"),
        ("sa",),
    ),
    "joint": Kind(
        joint_cases.random_joint, joint_cases.optimum, ("joint-cpsat",), rough=("joint-search", "joint-greedy")
    ),
    "placement": Kind(
        placement_cases.random_placement,
        placement_cases.optimum,
        ("placement-exact",),
        ("cpsat", "scip"),
        ("first-fit", "best-fit", "greedy", "drf", "local-search"),
    ),
    "workflow": Kind(
        lambda rng: workflow_cases.random_project(rng, int(rng.integers(1, 6))),
        workflow_cases.least_makespan,
        ("cpsat",),
        rough=("local-search", "heft", "longest-path", "lpt", "shortest-first"),
    ),
}
COUNTS = {
    "knapsack": 5_000, "selection": 5_000, "scas": 4_000, "dcas": 3_000, "free": 2_000, "csp": 7_500,
    "joint": 1_000, "placement": 1_500, "workflow": 1_000,
}  # fmt: skip


def holds(problem: Any, best: Any, spec: str, stop: Stop, exact: bool) -> None:
    """Judge what a solver says by the best answer, None where there is none."""
    solver = registry.make(registry.SOLVERS, spec, type(problem))
    if refusal(solver, problem) is not None:
        assert spec != "auto"
        return
    result = solve(problem, solver, stop)
    assert (result.error, check(problem, result)) == (None, [])
    if best is None:
        assert result.solution is None
        assert not exact or (result.status, result.bound) == ("infeasible", None)
        return
    assert result.status != "infeasible"
    assert not exact or result.status == "optimal", result.reason
    (front_holds if isinstance(problem, Selection) else value_holds)(problem, best, result)


def value_holds(problem: Any, best: float, result: Result) -> None:
    """No value is better than the best, no bound excludes it, and what is called optimal is no less."""
    sign, slack = (1 if problem.sense == "max" else -1), 1e-9 * max(1e-9, abs(best), size_of(problem))
    if result.value is not None:
        assert sign * (result.value - best) <= slack
        assert result.status != "optimal" or sign * (best - result.value) <= slack
    assert result.bound is None or sign * (best - result.bound) <= slack


def size_of(problem: Any) -> float:
    """What the costs that a path adds up are like: of both signs, they may come to much less in the end."""
    costs = getattr(problem, "costs", None)
    return 0.0 if costs is None else float(np.abs(costs, where=np.isfinite(costs), out=np.zeros(costs.shape)).max())


def front_holds(problem: Any, best: set[tuple[int, ...]], result: Result) -> None:
    """What is called the whole front is that; no point beats it."""
    found = set() if result.solution is None else selection_cases.values_of(result.solution)
    assert result.status != "optimal" or found == best
    assert all(any(all(x <= y for x, y in zip(value, top, strict=True)) for top in best) for value in found)
    assert result.bound is None or result.value is None or result.bound >= result.value


def asked(kind: Kind, number: int) -> Sequence[tuple[str, Stop, bool]]:
    """Who is asked about a problem, under which budget, and whether that has to end with a proof."""
    turn = number // kind.every
    found = [(spec, Stop(), True) for spec in kind.exact]
    found.append(("auto", AMPLE[number % 2], True))
    if number % kind.every == 0 and kind.native:
        spec = kind.native[turn % len(kind.native)]
        found.append((spec, Stop(), spec not in ROUNDED))
    if number % kind.every == 1 and kind.rough:
        found.append((kind.rough[turn % len(kind.rough)], Stop(iterations=20), False))
    if number % kind.every == 2:
        found += [(spec, Stop(iterations=turn % 5), False) for spec in (*kind.exact, "auto")]
    return found


def parts() -> list[Any]:
    """A tenth of the problems of each kind, and the rest of them as a `long` test."""
    tenth = [pytest.param(kind, range(many // 10), id=kind) for kind, many in COUNTS.items()]
    rest = [pytest.param(kind, range(many // 10, many), id=f"{kind}-rest", marks=pytest.mark.long)
            for kind, many in COUNTS.items()]  # fmt: skip
    return tenth + rest


@pytest.mark.parametrize(("kind", "numbers"), parts())
def test_all_say_what_is_so(kind: str, numbers: range) -> None:
    for number in numbers:
        problem = KINDS[kind].problem(np.random.default_rng([len(kind), number]))
        best = KINDS[kind].best(problem)
        for spec, stop, exact in asked(KINDS[kind], number):
            try:
                holds(problem, best, spec, stop, exact)
            except AssertionError as wrong:
                wrong.add_note(f"{kind} {number}: {spec} under {stop}, of a best of {best}: {problem}")
                raise
