"""What ``auto`` does with a knapsack, and says that it chose."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.generate.instances.workflows import random_workflow
from transom.models import Workflow


@pytest.mark.parametrize("items", [10, 50, 200])
@pytest.mark.parametrize("klass", sorted(CLASSES))
def test_what_can_be_proved_at_once_is(klass: str, items: int) -> None:
    problem = generate_knapsack(klass, items, 100, np.random.default_rng(1))
    result = solve(problem)
    assert (result.solver, result.status) == ("auto", "optimal")
    assert result.parameters["chose"].split("+")[0] in ("dp", "primal-dual")
    assert result.value == solve(problem, "primal-dual", Stop()).value


def test_it_goes_on_where_the_first_method_ends_unproved() -> None:
    problem = generate_knapsack("inverse-strongly-correlated", 500, 10**8, np.random.default_rng(2))
    result = solve(problem, "auto", Stop(seconds=2))
    assert check(problem, result) == []
    assert result.status == "optimal" or len(result.parameters["chose"].split("+")) > 1


def test_a_start_is_never_made_worse() -> None:
    problem = generate_knapsack("circle", 5000, 10**7, np.random.default_rng(4))
    start = solve(problem, "scip", Stop(seconds=1)).solution
    result = solve(problem, "auto", Stop(seconds=0.05), start=start)
    assert result.value is not None
    assert result.value >= problem.value(start)


def test_it_asks_as_often_as_the_solver_that_it_chooses_whether_the_answer_is_obvious(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = random_workflow(np.random.default_rng(1), "layered", 30, 5).on(2)
    asked: list[str] = []
    trivial = Workflow.trivial
    monkeypatch.setattr(Workflow, "trivial", lambda of: (asked.append("once"), trivial(of))[1])
    auto = solve(problem, "auto", Stop(iterations=50))
    of_auto = len(asked)
    solve(problem, auto.parameters["chose"], Stop(iterations=50))
    assert 0 < of_auto <= len(asked) - of_auto
