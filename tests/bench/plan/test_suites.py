"""The suites that come with the package: generated, so that they run anywhere; nothing in them is unknown."""

from __future__ import annotations

import math

import pytest

from transom.bench.plan.plan import Plan, read_plan, suites
from transom.generate.recipes import recipe
from transom.io.instances import ReadOptions, from_documents
from transom.registry import labelled
from transom.simulation import make_policy
from transom.solvers.named import NamedSolver
from transom.solving import refusal

LARGE = ("knapsack", "tjap", "selection", "csp", "placement", "workflow")


def test_they_are_there() -> None:
    assert set(suites()) >= {"first", "smoke", "sequences", *LARGE}


@pytest.mark.parametrize("name", suites())
def test_every_set_can_be_made_and_every_solver_takes_something(name: str) -> None:
    plan = read_plan(name)
    assert plan.name == name
    assert len(plan.description) > 40
    taken: dict[str, list[bool]] = {}
    for each in plan.instances:
        assert each.generate is not None, "a suite has no files: it also runs where the package alone is installed"
        assert not each.files
        made = recipe(each.generate, each.parameters).make(each.seed, 1)
        labelled_documents = ((f"{each.name}:1", document) for document in made)
        choices = (each.problem, each.objective, each.cost_model, each.wrap, each.objectives)
        ((_, problem, _),) = from_documents(labelled_documents, ReadOptions(*choices))
        for spec in each.solvers or plan.solvers:
            solver = NamedSolver(labelled(spec)[1]).for_type(type(problem))
            taken.setdefault(spec, []).append(refusal(solver, problem) is None)
    assert [spec for spec, answers in taken.items() if not any(answers)] == []
    for trace in plan.traces:
        assert trace.generate is not None
        made_workload = next(recipe(trace.generate, trace.parameters).make(trace.workload_seed, 1))
        assert len(made_workload) > 0
        for spec in trace.policies:
            make_policy(labelled(spec)[1])


@pytest.mark.parametrize("name", LARGE)
def test_the_large_ones_have_the_budgets_that_are_promised(name: str) -> None:
    plan = read_plan(name)
    assert plan.seconds == (0.1, 1.0, 5.0)
    hours = _runs(plan) * sum(plan.seconds) / 3600 / 2
    assert hours < 3


@pytest.mark.parametrize(("name", "most"), [("first", 5), ("smoke", 45)])
def test_they_are_short(name: str, most: float) -> None:
    plan = read_plan(name)
    assert _runs(plan) * sum(plan.seconds) / 2 < most


def _runs(plan: Plan) -> int:
    """Runs under one budget at most."""
    return sum(
        min(each.count, each.take or math.inf) * len(each.solvers or plan.solvers) * len(plan.seeds)
        for each in plan.instances
    )
