"""OR-Tools' CP-SAT on the knapsack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.collector import collector_paused
from transom.errors import SpecError
from transom.models.arrays import BoolArray, IntArray
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.backends.cpsat import cpsat_solver, run_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.knapsack.incumbent import first_incumbent, warm_up
from transom.solving import TakesAll
from transom.stop import Budget

_PER_ITEM = 6e-6  # what it takes to build the model [s]
_AT_ONCE = 1000  # variables made between two looks at the clock: about 10 ms


@dataclass(frozen=True, slots=True)
class CpSat(TakesAll):
    """Constraint programming with clause learning and linear relaxations, in integers throughout.

    The best answer so far is its hint; solutions and bounds are handed over as they come. An iteration
    is a conflict; ``stall`` does not apply. A knapsack's sums fit into 62 bits, which is within CP-SAT's
    integers.

    Parameters
    ----------
    presolve : most items with which CP-SAT's presolve is used, >= 0. It settles many subset sums of
        few items at once, but takes seconds with 1,000 items, in which there is no progress.

    Raises
    ------
    SpecError : ``presolve`` is negative.
    """

    name: ClassVar[str] = "cpsat"
    solves: ClassVar[type] = Knapsack
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    presolve: int = 500

    def __post_init__(self) -> None:
        if self.presolve < 0:
            raise SpecError(f"cpsat: presolve must be >= 0, got {self.presolve}")

    def warm_up(self) -> None:
        """Import OR-Tools."""
        import_back_end("ortools.sat.python.cp_model")
        warm_up()
        run_deferred()

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        # Where the time does not suffice to build the model, the greedy answer remains.
        if not budget.done() and not budget.short(_PER_ITEM * len(problem)):
            reduced = reduce(problem)
            _search(reduced, budget, int(rng.integers(2**31)), len(reduced.items) <= self.presolve)


def _search(reduced: Reduced, budget: Budget, seed: int, presolve: bool) -> None:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    count = len(reduced.items)
    chosen: list[Any] = []
    defer_destructors(model, chosen)
    with collector_paused():
        for begin in range(0, count, _AT_ONCE):
            chosen.extend(model.new_bool_var("") for _ in range(begin, min(begin + _AT_ONCE, count)))
            if budget.done():
                return  # building the model counts
        model.add(cp_model.LinearExpr.weighted_sum(chosen, reduced.weights.tolist()) <= reduced.capacity)
    # As ``maximize`` and ``add_hint`` write it, which visit the variables one by one: 0.2 s for 10,000.
    model.proto.objective.vars.extend(range(count))
    model.proto.objective.coeffs.extend((-reduced.values).tolist())
    model.proto.objective.scaling_factor = -1
    model.proto.solution_hint.vars.extend(range(count))
    model.proto.solution_hint.values.extend(budget.solution[reduced.items].tolist())

    solver = cpsat_solver(budget, seed)
    solver.parameters.cp_model_presolve = presolve

    if budget.done():
        return  # building the model counts

    def read(values: IntArray) -> BoolArray:
        return reduced.solution(values.astype(np.bool_))

    run_cpsat(solver, model, budget, read, reduced.value_of, negated=True)
