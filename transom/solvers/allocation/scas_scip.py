"""The paper's integer programme in SCIP: static allocation and the constrained path, as printed."""

from __future__ import annotations

from collections.abc import Callable
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
    cost_unit,
    float_slack,
    has_no_arc,
    on_paths,
    refused_rule,
    sorted_blocks,
    warm_packing,
)
from transom.solvers.backends.float_bounds import close
from transom.solvers.backends.native import import_back_end, run_deferred
from transom.solvers.backends.scip import scip_model, search_scip
from transom.solving import presolve
from transom.stop import Budget

CANCEL = 1e9
"""What a job that gets no nodes costs in the authors' model."""

_AT_LEAST = 2e-6  # what a variable or row of the model takes to make [s]


@dataclass(frozen=True, slots=True)
class ScasScip:
    r"""The paper's model of static allocation, literally: the reference, not the way to solve it.

    Binary :math:`y_{j,i}`: job j begins at entry i of Q; :math:`x_{j,i}`: it gets entry i.

    .. math:: \min \sum_{j,i} l_{j,i} y_{j,i} \quad \text{s. t.} \quad \sum_i y_{j,i} = 1, \quad
              y_{j,i} \le x_{j,k} \;\; \forall k \in D(i, n_j), \quad \sum_j x_{j,i} \le 1

    with one row for each j, i and k, and the capacity row, the last one, that print omits. A block that
    reaches the end of Q goes on at its head where the problem says so. An iteration is a node; one thread.

    SCIP computes in floating point. Its bounds are lowered by a relative 1e-9 and by what the tolerance of
    its linear programmes may add up to, and rounded up where costs are whole; where they are not, *optimal*
    means that its search is closed and its bound within that slack of the value.

    Parameters
    ----------
    cancel : the authors' model: a binary :math:`z_j` at cost 1e9 lets a job go without nodes,
        :math:`\sum_i y_{j,i} + z_j = 1` and :math:`\sum_i x_{j,i} = n_j (1 - z_j)`. An answer with
        cancelled jobs is no solution and is not handed over; ``cancelled`` in the notes says how many SCIP's
        best one has. The model is a relaxation of ours, so that its bounds below 1e9 hold as they are, with a
        slack of one thousandth more; at 1e9 or above, or when the search closes with a job cancelled, there
        is no solution (only claimed where all costs together are far below 1e9).

    References
    ----------
    Lan et al. (2023), section IV-A, eq. (2)-(5).
    """

    name: ClassVar[str] = "scas-scip"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("pyscipopt",)

    cancel: bool = False

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """Every constrained path and every static allocation."""
        return refused_rule(problem)

    def warm_up(self) -> None:
        """Import SCIP and compile what packs and unpacks."""
        import_back_end("pyscipopt")
        warm_packing()
        run_deferred()

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        _solve(problem, budget, int(rng.integers(2**31)), self.cancel)


CspScip = on_paths(
    ScasScip, "The model of ``scas-scip`` on the constrained path: one job for every operation arc wanted."
)


def _solve(problem: Allocation | ConstrainedPath, budget: Budget, seed: int, cancel: bool) -> None:
    if presolve(problem, budget):
        return
    packed = packing.apply(problem)
    if has_no_arc(packed):
        budget.prove_infeasible()
        return
    rows = int(np.isfinite(packed.costs).sum(axis=1) @ (packed.sizes * packed.counts))  # eq. (4)
    if budget.short(rows * _AT_LEAST):
        answer_greedily(problem, packed, budget, f"a model of {rows} rows takes longer to build than there is time")
        return
    first = None if budget.solution is None else sorted_blocks(problem, packed, budget.solution)
    row = np.repeat(np.arange(len(packed.sizes)), packed.counts)  # of each job's size
    unit = 1.0 if cancel else cost_unit(packed.costs)
    model = scip_model(seed)
    with collector_paused():
        begins = _build(model, packed, row, unit, cancel, first, budget.done)
    if begins is None:
        answer_greedily(problem, packed, budget)  # building the model counts
        return

    def read(value: Callable[[Any], float]) -> Any:
        chosen = [[i for i, variable in of.items() if value(variable) > 0.5] for of in begins]
        cancelled = sum(not starts for starts in chosen)
        if cancel:
            budget.notes["cancelled"] = cancelled
        return None if cancelled else packing.invert(problem, row, np.array([starts[0] for starts in chosen]))

    slack = float_slack(packed, unit) + (1e-3 if cancel else 0)
    status, bound = search_scip(model, budget, read, packed.whole, slack, unit, CANCEL / 2 if cancel else None)
    dearest = np.where(np.isfinite(packed.costs), packed.costs, 0).max(axis=1) @ packed.counts
    if bound is not None and not cancel:
        close(budget, bound, packed.whole, slack)
    elif bound is not None and dearest < CANCEL / 4 and bound >= CANCEL / 2:
        budget.prove_infeasible()
    elif bound is not None and not budget.notes.get("cancelled"):
        close(budget, bound, packed.whole, slack)
    elif status == "infeasible":
        budget.prove_infeasible()


def _build(
    model: Any,
    packed: Packing,
    row: IntArray,
    unit: float,
    cancel: bool,
    first: tuple[IntArray, IntArray] | None,
    done: Callable[[], bool],
) -> list[dict[int, Any]] | None:
    """Fill the model; the start variables of each job by entry, or None when time is over before."""
    from pyscipopt import quicksum

    begins: list[dict[int, Any]] = []
    holds: list[list[Any]] = []
    model.data = begins, holds  # freed with the model, outside the budget
    for r in row.tolist():
        finite = np.flatnonzero(np.isfinite(packed.costs[r])).tolist()
        costs = (packed.costs[r] / unit).tolist()
        begins.append({i: model.addVar("", vtype="B", obj=costs[i]) for i in finite})
        holds.append([model.addVar("", vtype="B") for _ in range(packed.length)])
        if done():
            return None
    goes = [model.addVar("", vtype="B", obj=CANCEL) for _ in begins] if cancel else []
    for job, of in enumerate(begins):  # eq. (3)
        model.addCons(quicksum(of.values()) + (goes[job] if cancel else 0) == 1)
        if cancel:
            size = int(packed.sizes[row[job]])
            model.addCons(quicksum(holds[job]) == size * (1 - goes[job]))
    for i in range(packed.length):  # the capacity of each node, implied
        model.addCons(quicksum(of[i] for of in holds) <= 1)
        if done():
            return None
    for job, of in enumerate(begins):  # eq. (4)
        size = int(packed.sizes[row[job]])
        for i, variable in of.items():
            for k in range(i, i + size):
                model.addCons(variable <= holds[job][k % packed.length])
            if done():
                return None
    if first is not None:
        solution = model.createSol()
        for job, start in enumerate(first[1].tolist()):
            model.setSolVal(solution, begins[job][start], 1.0)
            for k in range(start, start + int(packed.sizes[row[job]])):
                model.setSolVal(solution, holds[job][k % packed.length], 1.0)
        model.addSol(solution)
    return begins
