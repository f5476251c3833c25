"""The solvers that fit a problem and its budget, in turn."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.problems import known_type, problem_types, types_of
from transom.solvers.auto.schedules import LAST_RESORT, Step, schedule, solvers_for
from transom.solving import presolve, refusal, warm_up
from transom.stop import Budget, Stop

_WORTH_IT = 0.03
"""Share of the seconds of a budget that has to be left for another solver."""


@dataclass(frozen=True, slots=True)
class Auto:
    """One solver or several in turn, by a schedule for each kind of problem (docs/portfolio.md).

    A kind of problem without a schedule goes to the solver that its type names. What was used is noted as ``chose``. An
    iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = object
    prepares_itself: ClassVar[bool] = True
    skip_presolve: ClassVar[bool] = True  # it asks itself, once: that takes 10 ms of 100,000 tasks

    def supports(self, problem: Any, /) -> str | None:
        """Every problem whose kind has a schedule or whose type names a solver."""
        return None if solvers_for(problem.kind) else f"no solver is known for problems of the kind {problem.kind}"

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs for any problem."""
        _prepare(*((each.kind, each.model) for each in problem_types()))

    def warm_up_for(self, problem: type) -> None:
        """Compile and import what any of the methods needs for problems of a class."""
        _prepare(*((each.kind, problem) for each in types_of(problem)))

    def warm_up_on(self, problem: Any) -> None:
        """Compile and import what any of the methods needs for problems of the kind of this one."""
        _prepare((problem.kind, type(problem)))

    def __call__(self, problem: Any, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        # Replays call it without the judge's look at what is obvious.
        if not presolve(problem, budget):
            _run(problem, budget, rng, start)


def _run(problem: Any, budget: Budget, rng: np.random.Generator, start: Any) -> None:
    """Call the solvers of the schedule in turn, each from the best solution so far, and note them as ``chose``.

    Each is prepared when it is reached. Solvers that refuse the problem are passed over.
    """
    kind: Any = type(problem)
    with budget.uncounted():
        _ready_for(problem.kind, kind)
    if start is not None:
        budget.found(start)
    steps = _taken(schedule(problem, budget), problem)
    if not steps and problem.kind in LAST_RESORT:
        steps = _taken([Step(LAST_RESORT[problem.kind])], problem)
    if not steps:
        budget.notes["ended"] = "every solver that there is for this kind of problem refuses it"
    chose: list[str] = []
    for step, solver in steps:
        if chose and budget.seconds_left() < _WORTH_IT * (budget.stop.seconds or 0.0):
            return
        with budget.uncounted():
            warm_up(solver, kind)
        chose.append(solver.name)
        budget.notes["chose"] = "+".join(chose)
        part = budget if step.share == 1 else share_of(budget, step.share)
        solver(problem, part, rng, start=start if step.anew else budget.solution)
        if budget.done():
            return


def share_of(budget: Budget, share: float) -> Budget:
    """A part of a budget with a share of the time and of the iterations that are left, > 0 and at most 1."""
    iterations = budget.iterations_left()
    return budget.part(
        seconds=share * budget.seconds_left(), iterations=None if iterations is None else math.ceil(share * iterations)
    )


def _taken(steps: list[Step], problem: Any) -> list[tuple[Step, Any]]:
    """The steps whose solvers take the problem, with these."""
    kind: Any = type(problem)
    made = [(step, _made(step.solver, kind)) for step in steps]
    return [(step, solver) for step, solver in made if refusal(solver, problem) is None]


def _prepare(*problems: tuple[str, type]) -> None:
    """Import and compile every solver that can come up: an import cannot be cut short by a budget."""
    for kind, problem in problems:
        for spec in solvers_for(kind):
            warm_up(_made(spec, problem), problem)
        _ready_for(kind, problem)


@cache
def _ready_for(kind: str, model: type) -> None:
    """Import and compile what comes before any solver: schedules, the solvers' own objects and what they refuse."""
    known = known_type(kind)
    examples: Any = None if known is None else known.part("examples")
    solvers = [_made(spec, model) for spec in solvers_for(kind)]
    for problem in () if examples is None else examples():
        if problem.kind == kind:
            schedule(problem, Stop().start(problem))
            for solver in solvers:
                refusal(solver, problem)


@cache
def _made(spec: str, problem: type) -> Any:
    """The solver of a specification for a type of problem, made once."""
    return registry.make(registry.SOLVERS, spec, problem)
