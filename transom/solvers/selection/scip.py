"""The best selection under few constraints, by SCIP."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from transom._system.collector import collector_paused
from transom.models.arrays import BoolArray
from transom.solvers.backends.native import defer_cleanup, run_native
from transom.solvers.backends.scip import interrupt, scip_model
from transom.solvers.selection.program import Best, Program
from transom.stop import Budget

_PROVABLE = 1e10  # up to which sums rounding errors of linear programmes are far below a unit
_AGAIN = 20  # how often a solution that breaks a condition by SCIP's tolerance is excluded


def maximise_scip(program: Program, budget: Budget, above: int = -1, enough: int | None = None, seed: int = 0) -> Best:
    """Solve a program with SCIP, in floating point; an iteration is a node.

    A solution that breaks a constraint, or is worth too little, by no more than SCIP's tolerance is excluded, and the
    search begins again. A bound is raised by the tolerance before it is rounded down. Nothing is proved where the
    numbers of a row or the weights add up to more than 1e10.

    Parameters
    ----------
    above : only choices worth more are looked for.
    enough : no choice is worth more, as is known.
    """
    total = int(program.weights.sum())
    most = total if enough is None else enough
    if above >= most:
        return Best((), above, True)
    excluded: list[BoolArray] = []
    known, bound, proved = None, most, False
    while len(excluded) <= _AGAIN and not budget.done():
        solutions, limit, ended = _search(program, budget, above, seed, excluded)
        fits = [chosen for chosen in solutions if _fine(program, chosen, above)]
        if fits:
            known = max((known, *fits) if known is not None else fits, key=lambda x: int(program.weights @ x))
        bound = min(bound, limit)
        value = above if known is None else int(program.weights @ known)
        proved = ended and bound <= value
        if proved or not ended or not solutions or _fine(program, solutions[0], above):
            break
        excluded.append(solutions[0])
    value = above if known is None else int(program.weights @ known)
    return Best(() if known is None else (known,), value if proved else max(value, bound), proved)


def _search(
    program: Program, budget: Budget, above: int, seed: int, excluded: list[BoolArray]
) -> tuple[list[BoolArray], int, bool]:
    """Choices, best first, a bound on the value, and whether the search came to its end."""
    model = scip_model(seed)
    total = int(program.weights.sum())
    tolerance = min(1e-9, max(1e-11, 0.1 / max(total, 1)))
    provable = max(total, int(np.abs(program.rows).sum(axis=1).max(initial=0))) <= _PROVABLE
    with collector_paused():
        chosen = [model.addVar("", vtype="B", obj=float(weight)) for weight in program.weights.tolist()]
        model.setMaximize()
        for row, limit in zip(program.rows.tolist(), program.limits.tolist(), strict=True):
            model.addCons(_sum(chosen, row) <= limit)
        if above >= 0:
            model.addCons(_sum(chosen, program.weights.tolist()) >= above + 1)
        for job, other in program.relations.pairs.tolist():
            model.addCons(chosen[job] <= chosen[other])
        for choice in excluded:
            model.addCons(_sum(chosen, np.where(choice, -1, 1).tolist()) >= 1 - int(choice.sum()))
    model.setParam("numerics/epsilon", tolerance)
    model.setParam("numerics/feastol", 1e-7)
    # Beside a small epsilon it can end the process (SCIP 10.0, numbers from 2**30 on).
    model.setParam("constraints/linear/simplifyinequalities", False)
    if (left := budget.iterations_left()) is not None:
        model.setParam("limits/totalnodes", left)
    if (seconds := budget.wall_seconds_left()) < math.inf:
        model.setParam("limits/time", seconds + 0.001)
    ended: list[tuple[list[BoolArray], int, bool]] = []

    def search() -> None:
        model.optimizeNogil()
        status = model.getStatus()
        read = [np.array([model.getSolVal(solution, x) for x in chosen]) > 0.5 for solution in model.getSols()]
        bound = above if status == "infeasible" and provable else total
        if status == "optimal" and provable:
            known = model.getDualbound()
            bound = math.floor(known + tolerance * abs(known))
        budget.spend(max(0, int(model.getNTotalNodes())))
        ended.append((read, min(bound, total), status in ("optimal", "infeasible")))

    if not budget.done():  # building the model counts
        try:
            run_native(search, lambda: interrupt(model), budget)
        finally:
            defer_cleanup(model.freeTransform)
    return ended[0] if ended else ([], total, False)


def _sum(chosen: list[Any], factors: list[int]) -> Any:
    from pyscipopt import quicksum

    return quicksum(factor * variable for factor, variable in zip(factors, chosen, strict=True) if factor)


def _fine(program: Program, chosen: BoolArray, above: int) -> bool:
    below = int(program.weights @ chosen) > above and bool(np.all(program.rows @ chosen <= program.limits))
    return below and not bool((program.relations.needs & chosen[:, None] & ~chosen[None, :]).any())
