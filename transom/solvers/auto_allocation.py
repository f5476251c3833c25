"""The method that fits the rule and the size of an allocation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom.models.allocation import Allocation
from transom.models.shortest_path import ConstrainedPath
from transom.solvers.scas_dp import table_bytes
from transom.stop import Budget

_SMALL = 2**24
"""Bytes of the tables that label setting fills in a few hundredths of a second."""


@dataclass(frozen=True, slots=True)
class AutoAllocation:
    """The exact method of the rule, then the best heuristic with the time that is left.

    Static: ``scas-dp`` on few labels, ``scas-lagrangian`` on many. Dynamic: ``dcas-exact``, which beyond its
    reach still proves a bound, then ``dp-polish`` and ``sa`` with cheapest-start repair. Free: ``free-exact``,
    then ``count-search``. What was used is noted as ``chose``; an iteration is that of the method at work.
    """

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = Allocation

    def supports(self, problem: Allocation, /) -> str | None:
        """Every allocation."""
        return None

    def warm_up(self) -> None:
        """Compile what any of the methods needs."""
        for spec in ("scas-dp", "scas-lagrangian", "dcas-exact", "dp-polish", _ANNEALING, "free-exact", "count-search"):
            _solver(spec, Allocation).warm_up()

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        _run(_for_rule(problem), problem, budget, rng)


@dataclass(frozen=True, slots=True)
class AutoPath:
    """``csp-dp`` where labels are few, else ``csp-lagrangian``."""

    name: ClassVar[str] = "auto"
    solves: ClassVar[type] = ConstrainedPath

    def supports(self, problem: ConstrainedPath, /) -> str | None:
        """Every path."""
        return None

    def warm_up(self) -> None:
        """Compile what either method needs."""
        for spec in ("csp-dp", "csp-lagrangian"):
            _solver(spec, ConstrainedPath).warm_up()

    def __call__(
        self, problem: ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        _run(("csp-dp" if _few_labels(problem) else "csp-lagrangian",), problem, budget, rng)


_ANNEALING = "sa:repair=cheapest,restarts=yes"


def _for_rule(problem: Allocation) -> Iterator[str]:
    if problem.rule == "static":
        yield "scas-dp" if _few_labels(problem) else "scas-lagrangian"
    elif problem.rule == "dynamic":
        yield from ("dcas-exact", "dp-polish", _ANNEALING)
    else:
        yield from ("free-exact", "count-search")


def _run(specs: Any, problem: Any, budget: Budget, rng: np.random.Generator) -> None:
    chose: list[str] = []
    for spec in specs:
        solver = _solver(spec, ConstrainedPath if isinstance(problem, ConstrainedPath) else Allocation)
        if solver.supports(problem) is not None:
            continue
        chose.append(solver.name)
        budget.notes["chose"] = "+".join(chose)
        # What was found so far is the next one's start, so that nobody begins from nothing.
        solver(problem, budget, rng, start=budget.solution)
        if budget.done():
            return


@cache
def _solver(spec: str, problem: type[Allocation] | type[ConstrainedPath]) -> Any:
    return registry.make(registry.SOLVERS, spec, problem)


def _few_labels(problem: Allocation | ConstrainedPath) -> bool:
    if isinstance(problem, ConstrainedPath):
        return table_bytes(problem.sizes, problem.counts, problem.length, False) <= _SMALL
    sizes, counts = np.unique(problem.sizes, return_counts=True)
    return table_bytes(sizes, counts, len(problem.idle), problem.wrap) <= _SMALL
