"""CP-SAT at work on a model whose objective stands for costs: limits, reports on the way, the end."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.backends.native import Handover, run_native
from transom.stop import Budget

_MOST = 2**50  # of an objective: with room to add and multiply in 64 bits, and exact as a double
_RELATIVE = 1e-9
_FINE = 1e-10
_NOISE, _ULPS = 1e-6, 16  # of a bound that CP-SAT reports on the way


@dataclass(frozen=True, slots=True)
class Scale:
    """Costs as whole numbers: ``whole * unit`` is the cost, right to ``error`` in total.

    Parameters
    ----------
    unit : cost of one, > 0.
    error : by how much the total cost of a solution may differ from its objective times ``unit``.
    floored : whether total costs are whole numbers.
    negated : whether costs are negated values of a problem that is maximised; bounds are then on the values.
    """

    unit: float
    error: float
    floored: bool
    negated: bool = False

    def bound(self, objective: int) -> float:
        """The bound on costs (on values, where these are negated) that follows from a bound on the objective."""
        cost = objective * self.unit
        safe = cost - self.error - _RELATIVE * abs(cost)
        safe = math.ceil(safe) if self.floored and abs(safe) < 2**53 else safe
        return -safe if self.negated else safe


def scaled(costs: FloatArray, most: IntArray, sizes: IntArray, floored: bool) -> tuple[IntArray, Scale]:
    r"""Whole numbers for costs, exactly where that is possible.

    Parameters
    ----------
    costs : finite costs, shape ``(rows, columns)``.
    most : how much of each row a solution may take, shape ``(rows,)``: the total is at most
        :math:`\sum_r most_r \max_c |cost_{rc}|`.
    sizes : of the jobs, of whose least common multiple costs are likely to be fractions, shape ``(any,)``.
    floored : whether total costs are whole numbers, though perhaps not these.

    Returns
    -------
    The whole numbers, of the shape of ``costs``, and what they mean. Exact if costs, or costs times that
    multiple, are whole, to rounding, and no total reaches 2**50; else costs times a power of ten, rounded, and
    the error stated: about a relative 1e-10 of the largest total if that many digits fit.
    """
    total = float(np.abs(costs).max(axis=1, initial=0.0) @ most)
    if total == 0:
        return np.zeros(costs.shape, np.int64), Scale(1.0, 0.0, floored)
    for factor in (1, _multiple(sizes)):
        if total * factor < _MOST:
            exact = np.rint(costs * factor)
            if (np.abs(costs * factor - exact) <= 1e-11 * np.abs(exact)).all():
                common = max(1, int(np.gcd.reduce(exact.astype(np.int64), axis=None)))
                return exact.astype(np.int64) // common, Scale(common / factor, 0.0, floored)
    pieces = float(most.sum())
    digits = math.ceil(math.log10(0.5 * pieces / (_FINE * total)))
    digits = min(digits, math.floor(math.log10(_MOST / total)))
    power = 10.0**digits
    return np.rint(costs * power).astype(np.int64), Scale(1 / power, 0.5 * pieces / power, floored)


def _multiple(sizes: IntArray) -> int:
    """The least common multiple, or 2**50 if it is beyond."""
    multiple = 1
    for size in sizes.tolist():
        multiple = min(_MOST, math.lcm(multiple, size))
    return multiple


def cpsat_solver(budget: Budget, seed: int) -> Any:
    """A CP-SAT that leaves Ctrl-C alone and keeps the limits of a budget; an iteration is a conflict."""
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = budget.threads
    solver.parameters.random_seed = seed
    solver.parameters.catch_sigint_signal = False
    # With it, presolve takes away best solutions of linear constraints (google/or-tools issue 5293, 9.15).
    solver.parameters.presolve_inclusion_work_limit = 0
    if (left := budget.iterations_left()) is not None:
        solver.parameters.max_number_of_conflicts = left
    if (seconds := budget.wall_seconds_left()) < math.inf:
        # Only a backstop: CP-SAT leaves a margin before its own limit, up to a quarter of a second.
        solver.parameters.max_time_in_seconds = 1 + 2 * seconds
    return solver


def search_cpsat(
    model: Any,
    budget: Budget,
    seed: int,
    read: Callable[[IntArray], Any],
    scale: Scale,
    presolve: bool = True,
    probing: bool = True,
    parameters: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Let CP-SAT minimise until the budget is done; an iteration is a conflict.

    Parameters
    ----------
    model : its objective is meant as ``scale`` says.
    read : makes the problem's solution out of the values of all variables.
    presolve, probing : whether CP-SAT's presolve and, in it, probing is used.
    parameters : further ones of CP-SAT, by name.
    """
    solver = cpsat_solver(budget, seed)
    solver.parameters.cp_model_presolve = presolve
    if not probing:
        solver.parameters.cp_model_probing_level = 0
    for name, value in parameters.items():
        setattr(solver.parameters, name, value)

    def capped(objective: int) -> float:
        safe = scale.bound(objective)
        return safe if budget.value is None else (max if scale.negated else min)(safe, budget.value)

    ended = run_cpsat(solver, model, budget, read, capped)
    if ended == "infeasible":
        budget.prove_infeasible()
    elif ended and budget.value is not None and scale.error <= _RELATIVE * abs(budget.value):
        budget.prove(budget.value)


def run_cpsat(
    solver: Any,
    model: Any,
    budget: Budget,
    read: Callable[[IntArray], Any],
    bounded: Callable[[int], float | None],
    negated: bool = False,
) -> Literal["closed", "infeasible"] | None:
    """Let CP-SAT search until the budget is done; solutions and bounds are handed over as they come.

    Parameters
    ----------
    solver : of :func:`cpsat_solver`.
    read : makes the problem's solution out of the values of all variables, or None if it is none.
    bounded : makes the problem's bound out of one on the model's objective, which is whole, or None.
    negated : whether the model maximises; CP-SAT minimises the negated objective.

    Returns
    -------
    How the search ended by itself; None where it was ended.
    """
    from ortools.sat.python import cp_model

    report = Handover(budget)

    def found(response: Any) -> tuple[Any, float | None]:
        lower = response.inner_objective_lower_bound  # an integer
        return read(np.array(response.solution, np.int64)), bounded(-lower if negated else lower)

    class Incumbents(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            if not report(*found(self.response_proto)):
                self.stop_search()

    def on_bound(bound: float) -> None:
        if not report(bound=bounded(whole_bound(bound, negated))):
            solver.stop_search()

    solver.best_bound_callback = on_bound
    ended: list[Literal["closed", "infeasible"]] = []

    def search() -> None:
        solver.solve(model, Incumbents())
        response = solver.response_proto
        has = response.status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
        solution, bound = found(response) if has else (None, None)
        report(solution, bound, int(response.num_conflicts))
        if response.status == cp_model.OPTIMAL:
            ended.append("closed")
        elif response.status == cp_model.INFEASIBLE:
            ended.append("infeasible")

    run_native(search, solver.stop_search, budget)
    report.close()
    return ended[0] if ended else None


def whole_bound(bound: float, upper: bool) -> int:
    """The bound on a whole objective that follows from one that CP-SAT reports on the way.

    CP-SAT multiplies it out in doubles: what comes may be some units in the last place on the wrong side.
    """
    noise = max(_NOISE, _ULPS * math.ulp(bound))
    return math.floor(bound + noise) if upper else math.ceil(bound - noise)
