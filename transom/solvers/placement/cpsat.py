"""OR-Tools' CP-SAT on placements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom import registry
from transom._system.collector import collector_paused
from transom.models.arrays import IntArray
from transom.models.placement import Placement
from transom.solvers.backends.cpsat import cpsat_solver, run_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.placement.reduced import Reduced
from transom.solvers.placement.rounding import Rounded, to_search
from transom.solving import TakesAll
from transom.stop import Budget

_BITS = 44  # of amounts: with room to add some thousand of them
_PER_PAIR = 2e-5  # what it takes to build the model, for each pair of task and machine that fit [s]


@dataclass(frozen=True, slots=True)
class PlacementCpSat(TakesAll):
    """Constraint programming with clause learning, in integers; identical tasks are merged.

    Amounts of more than 44 bits are rounded so that everything that fits still fits: bounds hold, and answers count as
    far as they fit in truth. Where the best one does not, a second model is searched, in which amounts are rounded the
    other way. The greedy answer is the hint. An iteration is a conflict; ``stall`` does not apply.
    """

    name: ClassVar[str] = "cpsat"
    solves: ClassVar[type] = Placement
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def warm_up(self) -> None:
        """Import OR-Tools."""
        import_back_end("ortools.sat.python.cp_model")
        registry.make(registry.SOLVERS, "greedy", Placement).warm_up()
        run_deferred()

    def __call__(self, problem: Placement, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        for reduced, amounts in to_search(problem, budget, rng, _BITS, _PER_PAIR):
            _search(problem, reduced, amounts, budget, int(rng.integers(2**31)))


def _search(problem: Placement, reduced: Reduced, amounts: Rounded, budget: Budget, seed: int) -> None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    tasks, machines = np.nonzero(reduced.fits)
    chosen: list[Any] = []
    defer_destructors(model, chosen)
    values = reduced.values[tasks]
    with collector_paused():
        for most in reduced.fits[tasks, machines].tolist():
            chosen.append(model.new_int_var(0, most, ""))
        for rows, limits, factors in (
            (tasks, reduced.waiting, np.ones((len(reduced.values), 1), np.int64)),
            *((machines, amounts.free[:, r], amounts.demands[:, r : r + 1]) for r in range(amounts.free.shape[1])),
        ):
            for row, limit in enumerate(limits.tolist()):
                at = np.flatnonzero(rows == row)
                terms = [chosen[i] for i in at.tolist()]
                model.add(cp_model.LinearExpr.weighted_sum(terms, factors[tasks[at], 0].tolist()) <= limit)
            if budget.done():
                return  # building the model counts
    model.maximize(cp_model.LinearExpr.weighted_sum(chosen, values.tolist()))
    for variable, count in zip(chosen, reduced.merged(problem, budget.solution)[tasks, machines].tolist(), strict=True):
        model.add_hint(variable, count)
    solver = cpsat_solver(budget, seed)

    def read(counts: IntArray) -> IntArray | None:
        placed = np.zeros(reduced.fits.shape, np.int64)
        placed[tasks, machines] = counts
        return reduced.solution(problem, placed) if reduced.holds(placed) else None

    def safe(bound: int) -> int | None:
        return max(bound, int(budget.value or 0)) if amounts.bounding else None

    run_cpsat(solver, model, budget, read, safe, negated=True)
