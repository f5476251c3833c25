"""Static allocation and the constrained path as one unit of flow, with a count row for each size."""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from transom.models.allocation import Allocation
from transom.models.arrays import BoolArray, IntArray
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.flow import Flow, as_flow
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
from transom.solvers.backends.float_bounds import close, prove
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred, run_native
from transom.solving import presolve
from transom.stop import Budget

_MOST = 20_000  # columns, beyond which HiGHS is late by more than a tenth of a second
_PER_COLUMN = 1e-5  # what HiGHS takes at least before it knows anything: to build the model, and its presolve [s]
_MARGIN = 0.003  # what it takes to end and to read its answer [s]


@dataclass(frozen=True, slots=True)
class ScasFlow:
    r"""The path polytope: one unit of flow along transition and operation arcs, so many of each size.

    With :math:`f_a \in [0, 1]` on transition arcs, binary on operation arcs of finite cost,

    .. math:: \min \sum_a l_a f_a \quad \text{s. t.} \quad \sum_{a \text{ leaves } i} f_a = \sum_{a \text{ enters } i}
              f_a, \quad \sum_{a \text{ of size } r} f_a = \epsilon_r, \quad \sum_{a \text{ spans } n - 1} f_a = 1

    Nodes 0 and n are one, so that the flow is a circulation on the circle of entries; the last row says that
    exactly one arc, a transition or a block, spans the last entry, hence each entry: it goes around once.
    Wrap-around is exact: blocks that go on at the head are arcs like the others, of which the last row
    lets at most one be used. Two entries of the matrix an arc, besides counts and the last row; its linear
    programme is nearly integral.

    Bounds are lowered by a relative 1e-9 and by what the tolerance of linear programmes may add up to, and
    rounded up where costs are whole; where they are not, *optimal* means that the search is closed and its
    bound within that slack of the value. An iteration is a node of the search; one thread.

    HiGHS, which comes with OR-Tools, is asked through MathOpt. It cannot be interrupted, hence ends by its own limit
    of the wall clock, and its answer and bound come at the end (``stall`` does not apply). Models of more columns than
    it can end in time are refused.

    References
    ----------
    Lan et al. (2023), section IV-B. Huangfu and Hall, Parallelizing the dual revised simplex method (2018).
    """

    name: ClassVar[str] = "scas-flow"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """None for a static allocation or a path whose model is not too large."""
        if refused := refused_rule(problem):
            return refused
        # Without a kernel: lists of solvers ask, and compile nothing.
        if isinstance(problem, ConstrainedPath):
            columns = problem.length * (1 + len(problem.sizes))
        else:
            kinds = problem.classes[1] if problem.limited else set(problem.sizes.tolist())
            columns = len(problem.idle) * (1 + len(kinds))
        return None if columns <= _MOST else f"its model would have up to {columns} columns, more than {_MOST}"

    def warm_up(self) -> None:
        """Import MathOpt, and compile what packs and unpacks."""
        import_back_end("ortools.math_opt.python.mathopt")
        warm_packing()
        run_deferred()

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        _solve(problem, budget, int(rng.integers(2**31)))


CspFlow = on_paths(ScasFlow, "The model of ``scas-flow`` on the constrained path, without arcs that wrap around.")


def _solve(problem: Allocation | ConstrainedPath, budget: Budget, seed: int) -> None:
    if presolve(problem, budget):
        return
    packed = packing.apply(problem)
    if has_no_arc(packed):
        budget.prove_infeasible()
        return
    columns = packed.length + int(np.isfinite(packed.costs).sum())
    if budget.done() or budget.short(columns * _PER_COLUMN + _MARGIN):
        why = f"a model of {columns} columns takes longer to presolve than there is time"
        answer_greedily(problem, packed, budget, None if budget.reason == "time" else why)
        return
    unit = cost_unit(packed.costs)
    flow = as_flow(packed, unit)
    first = None if budget.solution is None else _values(packed, flow, *sorted_blocks(problem, packed, budget.solution))
    found: list[Any] = []

    def search() -> None:
        found.append(_by_highs(packed, flow, first, budget, seed, unit))

    run_native(search, lambda: None, budget)
    if found:
        _hand_over(problem, packed, flow, found[0], budget, unit)
    if not budget.infeasible:
        answer_greedily(problem, packed, budget)


def _values(packed: Packing, flow: Flow, row: IntArray, start: IntArray) -> BoolArray:
    """Which columns a solution uses."""
    n = packed.length
    number = np.full(packed.costs.shape, -1)
    number[flow.row, flow.start] = np.arange(n, n + len(flow.row))
    used = np.zeros(len(flow.costs), np.bool_)
    used[:n] = True
    for r, i in zip(row.tolist(), start.tolist(), strict=True):
        used[np.arange(i, i + packed.sizes[r]) % n] = False
        used[number[r, i]] = True
    return used


def _by_highs(
    packed: Packing, flow: Flow, first: BoolArray | None, budget: Budget, seed: int, unit: float
) -> tuple[Any, BoolArray | None]:
    """What HiGHS says, and which columns it chose, if it has a solution."""
    from ortools.math_opt.python import mathopt
    from ortools.math_opt.solvers import highs_pb2

    model = mathopt.Model.from_model_proto(_programme(packed, flow))
    variables = list(model.variables())
    hints = mathopt.ModelSolveParameters()
    if first is not None:
        values = dict(zip(variables, first.astype(float).tolist(), strict=True))
        hints.solution_hints = [mathopt.SolutionHint(variable_values=values)]
    options = highs_pb2.HighsOptionsProto(int_options={"threads": 1}, string_options={"parallel": "off"})
    if budget.stop.target is not None:
        options.double_options["objective_target"] = budget.stop.target / unit
    limits = mathopt.SolveParameters(
        random_seed=seed,
        relative_gap_tolerance=budget.stop.gap or 0.0,
        absolute_gap_tolerance=0.0,
        node_limit=budget.iterations_left(),
        highs=options,
    )
    left = budget.seconds_left() - _MARGIN
    if math.isfinite(left):
        limits.time_limit = datetime.timedelta(seconds=max(1e-3, left))
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=limits, model_params=hints)
    defer_destructors(model, variables, result)
    has = result.has_primal_feasible_solution()
    return result, np.array(result.variable_values(variables)) > 0.5 if has else None


def _programme(packed: Packing, flow: Flow) -> Any:
    from ortools.math_opt import model_pb2

    proto, count = model_pb2.ModelProto(), len(flow.costs)
    proto.variables.ids.extend(range(count))
    proto.variables.lower_bounds.extend([0.0] * count)
    proto.variables.upper_bounds.extend([1.0] * count)
    proto.variables.integers.extend((np.arange(count) >= packed.length).tolist())
    dear = np.flatnonzero(flow.costs)
    proto.objective.linear_coefficients.ids.extend(dear.tolist())
    proto.objective.linear_coefficients.values.extend(flow.costs[dear].tolist())
    proto.linear_constraints.ids.extend(range(len(flow.equals)))
    proto.linear_constraints.lower_bounds.extend(flow.equals.tolist())
    proto.linear_constraints.upper_bounds.extend(flow.equals.tolist())
    order = np.lexsort((flow.column, flow.where))
    proto.linear_constraint_matrix.row_ids.extend(flow.where[order].tolist())
    proto.linear_constraint_matrix.column_ids.extend(flow.column[order].tolist())
    proto.linear_constraint_matrix.coefficients.extend(flow.value[order].tolist())
    return proto


def _hand_over(
    problem: Allocation | ConstrainedPath,
    packed: Packing,
    flow: Flow,
    found: tuple[Any, BoolArray | None],
    budget: Budget,
    unit: float,
) -> None:
    from ortools.math_opt.python.mathopt import TerminationReason

    result, used = found
    reason, slack = result.termination.reason, float_slack(packed, unit)
    budget.spend(result.solve_stats.node_count)
    if reason in (TerminationReason.INFEASIBLE, TerminationReason.INFEASIBLE_OR_UNBOUNDED):
        budget.prove_infeasible()
        return
    if used is not None:
        arcs = np.flatnonzero(used[packed.length :])
        budget.found(packing.invert(problem, flow.row[arcs], flow.start[arcs]))
    bound = result.termination.objective_bounds.dual_bound
    if math.isfinite(bound):
        optimal = reason == TerminationReason.OPTIMAL
        (close if optimal else prove)(budget, bound * unit, packed.whole, slack)
    if reason != TerminationReason.OPTIMAL and not budget.done():
        budget.notes["ended"] = "by its own time limit"  # which it meets with a margin
