"""``check_problem`` passes every registered type of problem, and finds each fault in types that have it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom import Budget, solve
from transom.errors import DocumentError
from transom.io import read_documents, write_documents
from transom.models import Allocation, FatTree, Knapsack
from transom.models.arrays import Frozen
from transom.models.problem import ProblemType
from transom.models.problem_types import KNAPSACK
from transom.problems import kinds, problem_type
from transom.solvers.auto.features import Features
from transom.solving import TakesAll
from transom.testing import check_problem, check_solver

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
def test_a_fault_is_named(made: Callable[[], ProblemType], problem: Any, message: str) -> None:
    with pytest.raises(AssertionError, match=f"knapsack 0: {message}"):
        check_problem(made(), [problem])


def test_a_document_that_forgets_is_found() -> None:
    codec = KNAPSACK.part("codec")._replace(decode=lambda document: Knapsack([1], [1], 1))
    with pytest.raises(AssertionError, match="knapsack 0: its document is read as another problem"):
        check_problem(replace(KNAPSACK, codec=codec))


def test_an_unknown_kind_and_no_examples_are_reported() -> None:
    with pytest.raises(AssertionError, match="unknown problem 'knapsak'"):
        check_problem("knapsak")
    with pytest.raises(AssertionError, match="knapsack: no problems to try"):
        check_problem(problem_type("knapsack"), [])


@dataclass(frozen=True, eq=False)
class Largest(Frozen):
    """Choose the largest of some numbers: a problem that no package registers."""

    numbers: tuple[int, ...]

    kind = "largest"
    sense = "max"

    def value(self, solution: Sequence[int], /) -> int:
        return self.numbers[solution[0]]

    def violations(self, solution: Sequence[int], /) -> list[str]:
        return [] if 0 <= solution[0] < len(self.numbers) else [f"there is no number {solution[0]}"]

    def frozen(self, solution: Sequence[int], /) -> tuple[int, ...]:
        return tuple(solution)

    def __len__(self) -> int:
        return len(self.numbers)


class Maximum(TakesAll):
    """Takes the first largest number."""

    name = "maximum"
    solves = (Largest,)

    def __call__(self, problem: Largest, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        budget.found([problem.numbers.index(max(problem.numbers))])
        budget.prove(max(problem.numbers))


NUMBERS = [Largest((3, 7, 5)), Largest((2,))]


def test_what_is_not_registered_is_checked_and_written(tmp_path: Path) -> None:
    check_problem(ProblemType(kind="largest", model=Largest), NUMBERS, solvers=[Maximum()])
    check_solver(Maximum(), NUMBERS, reference=Maximum(), exact=True)
    assert write_documents(tmp_path / "numbers.jsonl", NUMBERS) == 2
    assert (tmp_path / "numbers.jsonl").read_text().splitlines()[1] == '{"format":"transom/largest/1","numbers":[2]}'
    assert write_documents(tmp_path / "results.jsonl", [solve(each, Maximum()) for each in NUMBERS]) == 2
    with pytest.raises(DocumentError, match="format 'transom/largest/1' is not known"):
        list(read_documents(tmp_path / "numbers.jsonl"))


def test_what_no_document_can_express_is_refused(tmp_path: Path) -> None:
    class Plain(Largest):
        pass

    class Odd:
        kind = "odd"

    with pytest.raises(DocumentError, match="odd problem has no document"):
        write_documents(tmp_path / "odd.json", [Odd()])  # type: ignore[list-item]
    with pytest.raises(AssertionError, match="largest 0: is a Largest, not a Plain"):
        check_problem(ProblemType(kind="largest", model=Plain), NUMBERS, solvers=[Maximum()])
