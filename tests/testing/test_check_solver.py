"""``check_solver`` passes every registered solver, and finds each fault in solvers that have it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

from examples.own_solver import RandomGreedy
from transom import Budget, Knapsack, registry
from transom.generate.instances.knapsacks import generate_knapsack
from transom.problems import problem_types
from transom.testing import check_solver

# The learned repair is shipped for the cluster of its paper, and tried here on others.
SHIPPED = {"nsa": "nsa:anywhere=yes"}
KNAPSACKS = [
    *(generate_knapsack(kind, 12, 100, np.random.default_rng(2)) for kind in ("uncorrelated", "circle", "subset-sum")),
    Knapsack([], [], 3),
]


@dataclass
class Honest:
    """Items in a random order as long as they fit."""

    name: ClassVar[str] = "honest"
    solves: ClassVar[type] = Knapsack

    def supports(self, problem: Knapsack, /) -> str | None:
        return None

    def __call__(self, problem: Knapsack, budget: Budget, rng: Any, /, start: Any = None) -> Any:
        if start is not None:
            budget.found(start)
        while not budget.done() and budget.iterations < 200:
            budget.found(self.packed(problem, rng))
            budget.spend()

    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        chosen, room = np.zeros(len(problem), bool), problem.capacity
        for item in rng.permutation(len(problem)):
            if problem.weights[item] <= room:
                chosen[item] = True
                room -= problem.weights[item]
        return chosen


class Overfull(Honest):
    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        return np.ones(len(problem), bool)


class Boastful(Honest):
    def __call__(self, problem: Knapsack, budget: Budget, rng: Any, /, start: Any = None) -> Any:
        budget.found(np.zeros(len(problem), bool))
        budget.prove(0)


class Chatty(Honest):
    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        print("packed")
        return super().packed(problem, rng)


class Careless(Honest):
    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        np.random.random()  # noqa: NPY002
        return super().packed(problem, rng)


class Unseeded(Honest):
    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        return super().packed(problem, np.random.default_rng())


class Late(Honest):
    def packed(self, problem: Knapsack, rng: np.random.Generator) -> Any:
        end = time.process_time() + 0.08
        while time.process_time() < end:
            pass
        return super().packed(problem, rng)


class Fussy(Honest):
    def supports(self, problem: Knapsack, /) -> str | None:
        return "not today"


class Vague(Honest):
    def supports(self, problem: Knapsack, /) -> Any:
        return True


FAULTS = [
    (Overfull, "honest, knapsack 0: infeasible answer: weight"),
    (Boastful, "honest, knapsack 0: the bound 0.* excludes"),
    (Chatty, "honest, knapsack 0: prints 'packed"),
    (Careless, "honest, knapsack 0: draws from NumPy's global generator"),
    (Unseeded, "honest, knapsack .: the same seed and 3 iterations give"),
    (Late, r"honest: 0.01 s become \d+\.\d+ s"),
    (Fussy, "honest: refuses all 2 problems; the first: not today"),
    (Vague, "honest: supports must give None or a reason, got True"),
    (object, "has not name, solves, supports and __call__"),
]


EXACT = {spec.partition(":")[0] for kind in problem_types() for spec in kind.exact}
ENTRIES = [
    SHIPPED.get(entry, entry)
    for name in registry.names(registry.SOLVERS)
    for entry in registry.entries(registry.SOLVERS, name)
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_registered_solver_passes(entry: str) -> None:
    check_solver(entry, reference="auto", exact=entry in EXACT, seconds=0.1, iterations=10)


@pytest.mark.parametrize("solver", [Honest(), RandomGreedy()])
def test_those_from_outside_pass(solver: Any) -> None:
    check_solver(solver, KNAPSACKS, reference="dp", seconds=0.05)


@pytest.mark.parametrize(("kind", "message"), FAULTS)
def test_a_fault_is_named(kind: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        check_solver(kind(), KNAPSACKS[:2], reference="dp", seconds=0.01, iterations=3)


def test_who_proves_nothing_is_not_exact() -> None:
    with pytest.raises(AssertionError, match="without a limit it ends feasible"):
        check_solver(Honest(), KNAPSACKS, reference="dp", exact=True, iterations=3)


def test_the_suite_wants_problems() -> None:
    with pytest.raises(AssertionError, match="greedy: no problems to solve"):
        check_solver("greedy", [])
