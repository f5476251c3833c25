"""The best selection under few constraints, by CP-SAT."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import BoolArray
from transom.solvers.backends.cpsat import cpsat_solver
from transom.solvers.backends.native import run_native
from transom.solvers.selection.program import Best, Program
from transom.stop import Budget


def maximise_cpsat(program: Program, budget: Budget, above: int = -1, enough: int | None = None, seed: int = 0) -> Best:
    """Solve a program with CP-SAT, in integers throughout; an iteration is a conflict.

    Parameters
    ----------
    above : only choices worth more are looked for.
    enough : no choice is worth more, as is known.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in program.weights]
    for row, limit in zip(program.rows.tolist(), program.limits.tolist(), strict=True):
        model.add(cp_model.LinearExpr.weighted_sum(chosen, row) <= limit)
    for job, other in program.relations.pairs.tolist():
        model.add_implication(chosen[job], chosen[other])
    most = int(program.weights.sum()) if enough is None else enough
    if above >= most:
        return Best((), above, True)
    objective = cp_model.LinearExpr.weighted_sum(chosen, program.weights.tolist())
    model.add_linear_constraint(objective, above + 1, most)
    model.maximize(objective)
    solver = cpsat_solver(budget, seed)
    found: list[BoolArray] = []
    bounds = [most]

    class Incumbents(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            proto = self.response_proto
            found.append(np.array(proto.solution, dtype=bool))
            bounds.append(-int(proto.inner_objective_lower_bound))
            if budget.done():
                self.stop_search()

    proved = []

    def search() -> None:
        solver.solve(model, Incumbents())
        response = solver.response_proto
        budget.spend(int(response.num_conflicts))
        if response.status in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            bounds.append(-int(response.inner_objective_lower_bound))
        if response.status in (cp_model.OPTIMAL, cp_model.INFEASIBLE):
            proved.append(True)

    if not budget.done():  # building the model counts
        run_native(search, solver.stop_search, budget)
    known = tuple(found)  # a search that was left behind may still add to it
    value = int(program.weights @ known[-1]) if known else above
    return Best(known, value if proved else max(value, min(bounds)), bool(proved))
