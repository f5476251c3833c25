"""``check_problem`` passes every registered type of problem, and finds each fault in types that have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from transom.models import Allocation, FatTree, Knapsack
from transom.models.problem import ProblemType
from transom.models.problem_types import KNAPSACK
from transom.problems import kinds, problem_type
from transom.solvers.auto.features import Features
from transom.testing import check_problem

SMALL = Knapsack([5, 6, 7], [3, 1, 2], 4)


@pytest.mark.parametrize("kind", kinds())
def test_every_type_passes(kind: str) -> None:
    check_problem(kind)


class Moody(Knapsack):
    times = 0

    def digest(self) -> str:
        Moody.times += 1
        return f"{Moody.times:032x}"


def _numbers(*values: float) -> Features:
    return Features({"one": "a number", "two": "another"}, lambda problem: values)


FAULTS: list[tuple[Callable[[], ProblemType], Any, str]] = [
    (lambda: KNAPSACK, Allocation(FatTree.uniform(8, 2, 4), range(8), [3], "static"), "is a Allocation, not a Knap"),
    (lambda: replace(KNAPSACK, model=Moody), Moody([5], [3], 4), "has another digest each time"),
    (lambda: replace(KNAPSACK, features=_numbers(1.0, float("nan"))), SMALL, "feature two is not finite"),
    (lambda: replace(KNAPSACK, statistics=lambda _: {"jobs": "many"}), SMALL, "statistic jobs is no number"),
    (lambda: replace(KNAPSACK, faults=lambda *_: ["too late"]), SMALL, "dp: too late"),
    (lambda: replace(KNAPSACK, exact=("greedy",)), SMALL, "greedy, which the type calls exact, ends feasible"),
]


@pytest.mark.parametrize(("made", "problem", "message"), FAULTS)
def test_a_fault_is_named(
    made: Callable[[], ProblemType], problem: Any, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = made()
    for module in ("testing.problems", "io.verify", "io.codec", "io.documents", "solvers.auto.features"):
        for name in ("problem_type", "known_type"):
            monkeypatch.setattr(f"transom.{module}.{name}", lambda kind: broken, raising=False)
    with pytest.raises(AssertionError, match=f"knapsack 0: {message}"):
        check_problem("knapsack", [problem])


def test_a_document_that_forgets_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transom.testing.problems.decode", lambda data, where: Knapsack([1], [1], 1))
    with pytest.raises(AssertionError, match="knapsack 0: its document is read as another problem"):
        check_problem("knapsack")


def test_an_unknown_kind_and_no_examples_are_reported() -> None:
    with pytest.raises(AssertionError, match="unknown problem 'knapsak'"):
        check_problem("knapsak")
    with pytest.raises(AssertionError, match="knapsack: no problems to try"):
        check_problem(problem_type("knapsack"), [])
