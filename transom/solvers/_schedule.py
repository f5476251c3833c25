"""What ``auto`` does, whatever the problem: features, a leaf of the table, the solvers of its schedule in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from transom import registry
from transom.solvers._budget_part import BudgetPart
from transom.solvers._portfolio import leaf_of, packaged, solvers_of
from transom.solvers.features import features
from transom.solving import refusal, warm_up
from transom.stop import Budget

_WORTH_IT = 0.02
"""Seconds that have to be left for another method."""


def prepare(*problems: tuple[str, type]) -> None:
    """Import and compile every solver that the table can choose for problems of a kind and their type.

    An import cannot be cut short by a budget, so that none of it may be left to the run.
    """
    for kind, problem in problems:
        for spec in solvers_of(packaged().problems[kind]):
            warm_up(made(spec, problem))


def carry_out(problem: Any, budget: Budget, rng: np.random.Generator, start: Any = None) -> None:
    """Run the schedule that the table has for the problem and the budget.

    What was found so far is the next solver's start. Solvers that refuse the problem are passed over. Where the
    schedule ends with time left and no proof, the solver for everything goes on. What was used is noted as ``chose``.
    Where the clock ended one of them, the run ended for want of time, even if the last one came to its end.
    """
    chose: list[str] = []
    cut = False
    if start is not None:
        budget.found(start)
    for spec, share in _steps(problem, budget):
        solver = made(spec, type(problem))  # type: ignore[arg-type]  # classes can be hashed
        if refusal(solver, problem) is not None:
            continue
        if chose and budget.short(_WORTH_IT):
            return
        chose.append(solver.name)
        budget.notes["chose"] = "+".join(chose)
        part = budget if share == 1 else BudgetPart(problem, budget, share)
        solver(problem, part, rng, start=budget.solution)
        cut = cut or part.ran_short or part.seconds_left() == 0
        if budget.done():
            return
    budget.ran_short = cut


@cache
def made(spec: str, problem: type) -> Any:
    """The solver of a specification for a type of problem, made once."""
    return registry.make(registry.SOLVERS, spec, problem)


def _steps(problem: Any, budget: Budget) -> Iterator[tuple[str, float]]:
    choice = packaged().problems[problem.kind]
    steps = leaf_of(choice, features(problem), budget.stop.seconds).steps
    for step in steps:
        yield step.solver, step.share
    if choice.otherwise not in [step.solver for step in steps]:
        yield choice.otherwise, 1.0
