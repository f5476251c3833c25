"""The method that fits the size of a selection."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.models.selection import Selection
from transom.models.selection_reduction import reduce_selection
from transom.solving import settled, warm_up
from transom.stop import Budget

_FEW = 20
"""Undecided jobs up to which ``exhaustive`` is not slower than ``pareto-dp``, whatever the objectives."""

_MANY = 60
"""Undecided jobs beyond which, with two objectives, programmes are solved faster than lists grow, and with more there
is little hope for lists, unless one resource alone can run out."""

_HALF, _LITTLE = 0.5, 0.2
"""How much of the time or the iterations that are left a method may take that need not come to an end."""

_WORTH_IT = 0.02
"""Seconds that have to be left for another method."""


@dataclass(frozen=True, slots=True)
class AutoSelection:
    """The whole front where it can be had, else the best that can be found.

    Up to 20 undecided jobs ``exhaustive`` looks at every choice, within milliseconds as a rule. Beyond, ``pareto-dp``
    has half of what is left of the time or of the iterations, a fifth where there are more than 60 jobs and several
    resources that can run out; with at most two objectives and more than 60 jobs ``epsilon`` has half instead. What
    then remains goes to ``nsga2``, which begins with all that is known. What was used is noted as ``chose``; an
    iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Selection

    def supports(self, problem: Selection, /) -> str | None:
        """Every selection."""
        return None

    def warm_up(self) -> None:
        """Compile and import what any of the methods needs."""
        for name in ("exhaustive", "pareto-dp", "epsilon", "nsga2"):
            warm_up(_solver(name))

    def __call__(self, problem: Selection, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if settled(problem, budget):
            return
        chose: list[str] = []
        for name, part in _methods(problem):
            solver = _solver(name)
            if solver.supports(problem) is not None:
                continue
            if chose and budget.short(_WORTH_IT):
                return
            chose.append(name)
            budget.notes["chose"] = "+".join(chose)
            solver(problem, _Part(problem, budget, part) if part < 1 else budget, rng, start=budget.solution)
            if budget.done():
                return


class _Part(Budget):
    """A part of what is left of a budget; what is found, proved, spent and noted goes to the whole of it."""

    def __init__(self, problem: Selection, whole: Budget, share: float) -> None:
        seconds, iterations = whole.stop.seconds, whole.iterations_left()
        stop = replace(
            whole.stop,
            seconds=None if seconds is None else max(share * whole.seconds_left(), 1e-9),
            iterations=None if iterations is None else math.ceil(share * iterations),
        )
        super().__init__(stop, problem, whole.threads)
        self._whole, self.notes = whole, whole.notes
        self._take_over()

    def spend(self, iterations: int = 1) -> None:
        super().spend(iterations)
        self._whole.spend(iterations)

    def found(self, solution: Any) -> bool:
        better = self._whole.found(solution)
        if better:
            self._improved_at = self.iterations
        self._take_over()
        return better

    def prove(self, bound: float) -> None:
        self._whole.prove(bound)
        self._take_over()

    def prove_infeasible(self) -> None:
        self._whole.prove_infeasible()
        self.infeasible = True

    def _take_over(self) -> None:
        self.solution, self.value, self.bound = self._whole.solution, self._whole.value, self._whole.bound


@cache
def _solver(name: str) -> Any:
    return registry.make(registry.SOLVERS, name, Selection)


def _methods(problem: Selection) -> Iterator[tuple[str, float]]:
    """Names of methods in turn, and how much of what is left each may take."""
    reduced = reduce_selection(problem)
    jobs, resources = (0, 0) if reduced is None else reduced.demands.shape
    if jobs <= _FEW:
        yield "exhaustive", 1
    elif jobs > _MANY and len(problem.terms) <= 2:
        yield "epsilon", _HALF
    else:
        yield "pareto-dp", _LITTLE if jobs > _MANY and resources > 1 else _HALF
    yield "nsga2", 1
