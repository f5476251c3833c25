"""The pipeline of ``auto`` for every problem: features, a leaf of the table, the solvers of its schedule in turn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from transom import registry
from transom.problems import known_type
from transom.solvers.auto.features import Asked, features
from transom.solvers.auto.machine_speed import seconds_of_a_probe
from transom.solvers.auto.sub_budget import SubBudget
from transom.solvers.auto.table import Choice, leaf_of, packaged, solvers_of
from transom.solving import refusal, warm_up
from transom.stop import Budget

_FIRST, _SOON = 0.2, 0.01
"""Share of a budget that a kind without a tree leaves its solver if another takes over, and at least so long [s]."""

_LAST = {"free": "free-cpsat", "scas": "scas-cpsat"}
"""Who takes the problems of a kind that every solver of the table refuses: deeper trees, limits on leaf switches."""

_WORTH_IT = 0.03
"""Share of the seconds of a budget that has to be left for another solver."""


def prepare(*problems: tuple[str, type]) -> None:
    """Import and compile every solver that the table can choose for problems of a kind and their type.

    An import cannot be cut short by a budget, so that none of it may be left to the run.
    """
    for kind, problem in problems:
        for spec in solvers_for(kind):
            warm_up(made(spec, problem), problem)
        _ready_for(kind, problem)


def solvers_for(kind: str) -> list[str]:
    """Specifications of the solvers for a kind of problem: those of the table, or the ones that its type names."""
    if choice := packaged().problems.get(kind):
        return solvers_of(choice)
    known = known_type(kind)
    return [] if known is None else [spec for spec in (known.solver, known.then) if spec is not None]


def run(problem: Any, budget: Budget, rng: np.random.Generator, start: Any = None) -> None:
    """Run the schedule that the table has for the problem and the budget.

    What was found so far is the next solver's start, except where the type of the problem names the solver that takes
    over: that one begins anew. Each is prepared when it is reached. Solvers that refuse the problem are passed over,
    and one that has come to its own end, or had all that was left, is not called again. What was used is noted as
    ``chose``.
    """
    with budget.uncounted():
        _ready_for(problem.kind, type(problem))  # type: ignore[arg-type]  # classes can be hashed
    if start is not None:
        budget.found(start)
    chose: list[str] = []
    ended: set[str] = set()
    anew = problem.kind not in packaged().problems
    for spec, share in _steps(problem, budget):
        if spec == _LAST.get(problem.kind) and chose:
            return
        solver = made(spec, type(problem))  # type: ignore[arg-type]  # classes can be hashed
        if spec in ended or refusal(solver, problem) is not None:
            continue
        if chose and budget.seconds_left() < _WORTH_IT * (budget.stop.seconds or 0.0):
            return
        with budget.uncounted():
            warm_up(solver, type(problem))
        chose.append(solver.name)
        budget.notes["chose"] = "+".join(chose)
        part = budget if share == 1 else SubBudget(problem, budget, share)
        solver(problem, part, rng, start=start if anew else budget.solution)
        if budget.done():
            return
        if part is budget or not (part.done() or part.ran_short):  # of all that is left it could not use the rest
            ended.add(spec)
    if not chose:
        budget.notes["ended"] = "every solver that there is for this kind of problem refuses it"


@cache
def _ready_for(kind: str, model: type) -> None:
    """Import and compile what comes before any solver: features, the solvers' own objects and what they refuse."""
    known = known_type(kind)
    examples: Any = None if known is None else known.part("examples")
    solvers = [made(spec, model) for spec in solvers_for(kind)]
    for problem in () if examples is None else examples():
        if problem.kind == kind:
            if kind in packaged().problems:
                features(problem)
            for solver in solvers:
                refusal(solver, problem)
    seconds_of_a_probe()


@cache
def made(spec: str, problem: type) -> Any:
    """The solver of a specification for a type of problem, made once."""
    return registry.make(registry.SOLVERS, spec, problem)


def _steps(problem: Any, budget: Budget) -> Iterator[tuple[str, float]]:
    """The schedule, and then who gets what is left of the budget where that ends without a proof."""
    table, seconds = packaged(), budget.stop.seconds
    choice: Choice | None = table.problems.get(problem.kind)
    if choice is None:
        first, *rest = solvers_for(problem.kind)
        if rest and (seconds is not None or budget.iterations_left() is not None):
            yield first, _FIRST if seconds is None else min(1.0, max(_FIRST, _SOON / seconds))
            first = rest[0]
        yield first, 1.0
        return
    if seconds is not None:
        # A machine half as fast has half the time.
        seconds *= table.made.probe / seconds_of_a_probe()
    for step in leaf_of(choice, Asked(problem), seconds).steps:
        yield step.solver, step.share
    yield choice.otherwise, 1.0
    if budget.stop.seconds is not None or budget.iterations_left() is not None:
        yield choice.improve, 1.0
    if problem.kind in _LAST:
        yield _LAST[problem.kind], 1.0
