"""Which solvers ``auto`` calls for a problem, and which share of the budget each of them has.

A schedule was chosen on random instances of each kind (docs/portfolio.md). Exact solvers come first, so that easy
instances end at once, and the last solver searches until the time is up.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from transom.models.allocation import Allocation
from transom.models.selection import Selection
from transom.problems import known_type
from transom.solvers.allocation.scas_dp import table_bytes
from transom.stop import Budget

TIGHT = 0.03
"""Budgets up to which a search beats the exact solvers on large problems [s]."""

ANNEALING = "sa:repair=cheapest,restarts=yes"

_FIRST, _SOON = 0.2, 0.01
"""Share of a budget that the solver of a type has before another one takes over, and at least so long [s]."""


class Step(NamedTuple):
    """A solver in a schedule.

    Parameters
    ----------
    solver : its specification.
    share : of the time and of the iterations that are left when it begins, > 0 and at most 1.
    endless : whether it searches for as long as it may, so that only a limited budget calls it.
    anew : whether it begins from its own start and not from the best solution so far.
    """

    solver: str
    share: float = 1.0
    endless: bool = False
    anew: bool = False


def _knapsack(problem: Any, seconds: float) -> list[Step]:
    return [Step("primal-dual"), *([Step("cpsat")] if seconds > TIGHT else [])]


def _scas(problem: Allocation, seconds: float) -> list[Step]:
    sizes, counts = np.unique(problem.sizes, return_counts=True)
    small = len(problem.idle) and table_bytes(sizes, counts, len(problem.idle), problem.wrap) <= 2**22
    first = [Step("scas-dp", 0.8)] if small else []
    return [*first, Step("scas-lagrangian"), Step(ANNEALING, endless=True)]


def _dcas(problem: Allocation, seconds: float) -> list[Step]:
    jobs, tight, annealing = len(problem), seconds <= TIGHT, Step(f"{ANNEALING},remove=4", endless=True)
    if (tight and jobs > 20) or (seconds <= 10 * TIGHT and jobs > 40):
        return [Step("dp-polish", 0.6 if tight else 1.0), annealing]
    return [Step("dcas-exact", 0.7 if tight and len(problem.idle) > 600 else 1.0), annealing]


def _free(problem: Allocation, seconds: float) -> list[Step]:
    idle, share = len(problem.idle), 1.0
    if seconds <= TIGHT and idle > 500:
        share = 0.7
    elif TIGHT < seconds <= 10 * TIGHT and idle > 1400:
        share = 0.5
    return [Step("free-exact", share), Step("count-search", endless=True)]


def _path(problem: Any, seconds: float) -> list[Step]:
    return [Step("csp-dp", 0.5), Step("csp-lagrangian")]


def _selection(problem: Selection, seconds: float) -> list[Step]:
    room = problem.capacity - problem.demands[problem.forced].sum(axis=0)
    jobs = np.count_nonzero(~problem.forced & ~problem.excluded & (problem.demands <= room).all(axis=1))
    two, search = problem.objectives.shape[1] == 2, Step("nsga2", endless=True)
    if seconds <= TIGHT:
        first = [Step("exhaustive", 0.95)] if jobs <= 28 else [Step("epsilon", 0.5)] if two else []
        return [*first, search]
    return [Step("pareto-dp", 0.5), search] if jobs <= 48 else [Step("epsilon", 0.8), search, Step("pareto-dp")]


_SCHEDULES: dict[str, tuple[Callable[[Any, float], list[Step]], tuple[str, ...]]] = {
    "knapsack": (_knapsack, ("primal-dual", "cpsat")),
    "scas": (_scas, ("scas-dp", "scas-lagrangian", ANNEALING)),
    "dcas": (_dcas, ("dcas-exact", "dp-polish", f"{ANNEALING},remove=4")),
    "free": (_free, ("free-exact", "count-search")),
    "csp": (_path, ("csp-dp", "csp-lagrangian")),
    "selection": (_selection, ("exhaustive", "epsilon", "pareto-dp", "nsga2")),
}
"""For each kind its schedule, and the solvers that can come up in it."""

LAST_RESORT = {"free": "free-cpsat", "scas": "scas-cpsat"}
"""Who takes problems that every solver of the schedule refuses: deeper trees, limits on leaf switches."""


def schedule(problem: Any, budget: Budget) -> list[Step]:
    """The solvers for a problem in turn; a kind without a schedule has those that its type names."""
    limited = budget.stop.seconds is not None or budget.iterations_left() is not None
    seconds = np.inf if budget.stop.seconds is None else budget.stop.seconds
    if problem.kind in _SCHEDULES:
        steps = _SCHEDULES[problem.kind][0](problem, seconds)
        return [step for step in steps if limited or not step.endless]
    first, *then = solvers_for(problem.kind)
    if not then or not limited:
        return [Step(first)]
    return [Step(first, min(1.0, max(_FIRST, _SOON / seconds))), Step(then[0], anew=True)]


def solvers_for(kind: str) -> tuple[str, ...]:
    """Specifications of the solvers that can come up for a kind of problem; none where no solver is known."""
    if kind in _SCHEDULES:
        return _SCHEDULES[kind][1]
    known = known_type(kind)
    return () if known is None else tuple(spec for spec in (known.solver, known.then) if spec is not None)
