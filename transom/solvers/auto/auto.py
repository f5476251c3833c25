"""The method that fits the problem and the time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.problems import problem_types, types_of
from transom.solvers.auto.pipeline import prepare, run, solvers_for
from transom.solvers.auto.table import packaged
from transom.solving import presolve
from transom.stop import Budget


@dataclass(frozen=True, slots=True)
class Auto:
    """One solver or several in turn, by a table made from runs of the bench (docs/portfolio.md).

    A kind of problem that the table does not know goes to the solver that its type names. What was used is noted as
    ``chose``. An iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = object
    prepares_itself: ClassVar[bool] = True
    skip_presolve: ClassVar[bool] = True  # it asks itself, once: that takes 10 ms of 100,000 tasks

    def supports(self, problem: Any, /) -> str | None:
        """Every problem whose kind is in the table or whose type names a solver."""
        # Replays ask thousands of times: the tree need not be walked for it.
        known = problem.kind in packaged().problems or solvers_for(problem.kind)
        return None if known else f"no solver is known for problems of the kind {problem.kind}"

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs for any problem."""
        prepare(*((each.kind, each.model) for each in problem_types()))

    def warm_up_for(self, problem: type) -> None:
        """Compile and import what any of the methods needs for problems of a class."""
        prepare(*((each.kind, problem) for each in types_of(problem)))

    def __call__(self, problem: Any, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        # Replays call it without the judge's look at what is obvious.
        if not presolve(problem, budget):
            run(problem, budget, rng, start)
