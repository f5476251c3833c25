"""CP-SAT on static allocation and on the constrained path: intervals that do not overlap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom._system.collector import collector_paused
from transom.models.allocation import Allocation
from transom.models.arrays import IntArray
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.solvers.allocation.packing_search import (
    answer_greedily,
    has_no_arc,
    on_paths,
    refused_rule,
    sorted_blocks,
    warm_packing,
)
from transom.solvers.backends.cpsat import scaled, search_cpsat
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solving import presolve
from transom.stop import Budget

_AT_LEAST = 2e-7  # what each cost in the table of a size or of a job takes [s]


@dataclass(frozen=True, slots=True)
class ScasCpSat:
    """Each job an interval of entries of Q, at a cost by its first entry (an element constraint); none overlap.

    Jobs of one size begin in the window's order. A block that reaches the end of Q and goes on at its
    head has a second interval, one turn before the first, so that wrap-around is exact. The best solution
    so far is the hint. An iteration is a conflict; ``stall`` does not apply.

    CP-SAT takes whole numbers. Costs become so exactly, times the least common multiple of the sizes, where no
    total then reaches 2**50; else they are rounded to digits after which the total is right to about a relative
    1e-10, and bounds are lowered by that error. *Optimal* is claimed where the search is closed and the error
    is at most a relative 1e-9.

    Parameters
    ----------
    with_presolve : whether CP-SAT's presolve is used. On the paper's windows it takes longer than it saves, and on
        large ones it does not look at the clock for seconds.

    References
    ----------
    Lan et al. (2023), section IV-A. Perron and Didier, CP-SAT, in OR-Tools (2024).
    """

    name: ClassVar[str] = "scas-cpsat"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    presolve: bool = False

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """Every static allocation."""
        return refused_rule(problem)

    def warm_up(self) -> None:
        """Import OR-Tools and compile what packs and unpacks."""
        import_back_end("ortools.sat.python.cp_model")
        warm_packing()
        run_deferred()

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        _solve(problem, budget, int(rng.integers(2**31)), self.presolve)


CspCpSat = on_paths(
    ScasCpSat, "The model of ``scas-cpsat`` on the constrained path: an interval for every operation arc."
)


def _solve(problem: Allocation | ConstrainedPath, budget: Budget, seed: int, with_presolve: bool) -> None:
    if presolve(problem, budget):
        return
    packed = packing.apply(problem)
    if has_no_arc(packed):
        budget.prove_infeasible()
        return
    cells = packed.costs.size + packed.length * int(packed.counts.sum())
    if budget.short(cells * _AT_LEAST):
        why = f"a model of {cells} costs takes longer to build than there is time"
        answer_greedily(problem, packed, budget, why)
        return
    first = None if budget.solution is None else sorted_blocks(problem, packed, budget.solution)[1]
    row = np.repeat(np.arange(len(packed.sizes)), packed.counts)  # of each job's size
    finite = np.isfinite(packed.costs)
    whole, scale = scaled(np.where(finite, packed.costs, 0.0), packed.counts, packed.sizes, packed.whole)
    with collector_paused():
        model = _build(packed, row, finite, whole, first, budget)
    if model is None or budget.done():
        answer_greedily(problem, packed, budget)  # building the model counts
        return

    def read(values: IntArray) -> Any:
        return packing.invert(problem, row, values[: len(row)])

    search_cpsat(model, budget, seed, read, scale, with_presolve)
    if not budget.infeasible:
        answer_greedily(problem, packed, budget)


def _build(packed: Packing, row: IntArray, finite: Any, whole: IntArray, first: IntArray | None, budget: Budget) -> Any:
    """The model, whose first variables are the starts by job; None when time is over before."""
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    n = packed.length
    domains = [cp_model.Domain.from_values(np.flatnonzero(of).tolist()) for of in finite]
    starts = [model.new_int_var_from_domain(domains[r], "") for r in row.tolist()]
    tables = whole.tolist()
    costs: list[Any] = []
    intervals: list[Any] = []
    defer_destructors(model, domains, starts, tables, costs, intervals)
    for job, r in enumerate(row.tolist()):
        size, table = int(packed.sizes[r]), tables[r]
        some = [table[i] for i in np.flatnonzero(finite[r]).tolist()]
        cost = model.new_int_var(min(some), max(some), "")
        model.add_element(starts[job], table, cost)
        costs.append(cost)
        intervals.append(model.new_fixed_size_interval_var(starts[job], size, ""))
        if packed.wrap and finite[r, n - size + 1 :].any():
            wraps = model.new_bool_var("")
            model.add(starts[job] > n - size).only_enforce_if(wraps)
            model.add(starts[job] <= n - size).only_enforce_if(~wraps)
            intervals.append(model.new_optional_fixed_size_interval_var(starts[job] - n, size, wraps, ""))
        if job and row[job - 1] == r:
            model.add(starts[job] >= starts[job - 1] + (0 if packed.wrap else size))
        if budget.done():
            return None
    model.add_no_overlap(intervals)
    model.minimize(cp_model.LinearExpr.sum(costs))
    if first is not None:
        for variable, value in zip(starts, first.tolist(), strict=True):
            model.add_hint(variable, value)
    return model
