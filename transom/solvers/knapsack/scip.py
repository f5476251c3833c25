"""SCIP on the knapsack, through PySCIPOpt."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.collector import collector_paused
from transom.models.arrays import BoolArray, FloatArray
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.backends.scip import run_scip, scip_model
from transom.solvers.knapsack.incumbent import first_incumbent, warm_up
from transom.stop import Budget

_EXACT = 2**53
_PER_ITEM = 2e-6  # what it takes to build the model [s]
_MANY, _PER_ITEM_OF_MANY = 50_000, 6e-5  # and with how many items SCIP does not heed the clock in its first steps [s]
_AT_ONCE = 1000  # variables made between two looks at the clock: about 10 ms
_PROVABLE = 1e10
"""Up to which sum of values the rounding errors of linear programmes are far below a unit."""


@dataclass(frozen=True, slots=True)
class Scip:
    """Branch and cut in floating point; an iteration is a node.

    The best answer so far is its first solution; solutions and bounds are handed over as they come.
    SCIP's tolerances are relative (feasibility 1e-6, equality 1e-9), so neither is taken at its word. A
    solution that exceeds the capacity loses its least efficient items until it fits. The tolerance on
    values is lowered to a tenth of a unit in their sum, at least 1e-11, and a bound is raised by that
    share before it is rounded down; where the values add up to more than 1e10 (after division by a
    common divisor) it is raised by a whole unit too, so that SCIP proves no optimum there. Its dual bound
    is read only while it searches and after a proof: otherwise it may be none. Parts of SCIP that do not
    look at the clock are switched off. SCIP runs in one thread.

    References
    ----------
    Bolusani et al., The SCIP Optimization Suite 9.0 (2024).
    """

    name: ClassVar[str] = "scip"
    solves: ClassVar[type] = Knapsack
    needs: ClassVar[tuple[str, ...]] = ("pyscipopt",)

    def supports(self, problem: Knapsack, /) -> str | None:
        """None if the sums are exact in double precision."""
        for array, what in ((problem.values, "values"), (problem.weights, "weights")):
            if (total := int(np.abs(array).sum())) >= _EXACT:
                return f"the {what} add up to {total}, which double precision does not hold exactly (2**53)"
        return None

    def warm_up(self) -> None:
        """Import SCIP."""
        import_back_end("pyscipopt")
        warm_up()
        run_deferred()

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        # Where the time does not suffice to build the model, the greedy answer remains.
        if not budget.done() and not budget.short(_begins(len(problem))):
            _search(reduce(problem), budget, int(rng.integers(2**31)))


def _begins(items: int) -> float:
    """What passes before SCIP heeds the clock, by and large [s]."""
    return (_PER_ITEM if items <= _MANY else _PER_ITEM_OF_MANY) * items


def _search(reduced: Reduced, budget: Budget, seed: int) -> None:
    model = scip_model(seed)
    chosen: list[Any] = []
    defer_destructors(chosen)
    with collector_paused():
        values = reduced.values.tolist()
        for begin in range(0, len(values), _AT_ONCE):
            chosen.extend(model.addVar("", vtype="B", obj=value) for value in values[begin : begin + _AT_ONCE])
            if budget.done():
                return  # building the model counts
    model.setMaximize()
    model.addConsKnapsack(chosen, reduced.weights.tolist(), reduced.capacity)
    model.setParam("numerics/epsilon", _tolerance(reduced))
    first = model.createSol()
    for item in np.flatnonzero(budget.solution[reduced.items]).tolist():
        model.setSolVal(first, chosen[item], 1.0)
    model.addSol(first)

    if budget.done():
        return  # building the model counts

    def read(value: Callable[[Any], float]) -> BoolArray:
        return reduced.solution(repaired(reduced, np.array([value(variable) for variable in chosen])))

    def value_of(known: float) -> int:
        slack = _tolerance(reduced) * abs(known) + (1 if float(reduced.values.sum()) > _PROVABLE else 0)
        return reduced.value_of(math.floor(known + slack))

    run_scip(model, budget, read, value_of)


def _tolerance(reduced: Reduced) -> float:
    # What SCIP takes for equal, in relative terms: so that no two values of solutions are.
    return min(1e-9, max(1e-11, 0.1 / float(reduced.values.sum())))


def repaired(reduced: Reduced, values: FloatArray) -> BoolArray:
    """A choice within the capacity out of SCIP's, which may exceed it by its tolerance.

    Parameters
    ----------
    reduced : the problem.
    values : values of the variables, near 0 or 1, shape ``(m,)``.

    Returns
    -------
    The choice, shape ``(m,)``, bool: without the least efficient of the chosen items where they are too heavy.
    """
    chosen = np.asarray(values > 0.5)
    excess = int(reduced.weights[chosen].sum()) - reduced.capacity
    if excess > 0:
        items = np.flatnonzero(chosen)
        items = items[np.argsort(reduced.values[items] / reduced.weights[items], kind="stable")]
        dropped = np.searchsorted(np.cumsum(reduced.weights[items]), excess) + 1
        chosen[items[:dropped]] = False
    return chosen
