"""A process that solves mixed-integer programmes with HiGHS through OR-Tools' MathOpt, asked through its pipes.

Run as a script, without the rest of the package. A question is a header (:data:`QUESTION`) and arrays (see
:func:`pack`); an answer is :data:`ANSWER` and one byte per column, whether it is above one half.
"""

from __future__ import annotations

import ctypes
import datetime
import math
import signal
import struct
import sys
from time import perf_counter
from typing import Any

import numpy as np

QUESTION = struct.Struct("<qqqqqqddd")
"""Columns, rows, entries, whether there is a hint, node limit (-1: none), seed, gap, target (minus infinity: none),
seconds (infinite: none)."""

ANSWER = struct.Struct("<cdq")
"""Status, bound (minus infinity: none), nodes."""

READY, NOTHING, FEASIBLE, OPTIMAL, INFEASIBLE = b"r", b"n", b"f", b"o", b"i"

_MARGIN = 0.005  # what HiGHS needs to end and we to answer [s]


def main() -> None:
    """Answer until standard input ends."""
    from ortools.math_opt.python import mathopt

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
    _warm(mathopt)
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    stdout.write(READY)
    stdout.flush()
    while header := stdin.read(QUESTION.size):
        began = perf_counter()
        columns, rows, entries, hint, nodes, seed, gap, target, seconds = QUESTION.unpack(header)

        def numbers(count: int, kind: type) -> Any:
            return np.frombuffer(stdin.read(8 * count), kind)

        objective, equals = numbers(columns, np.float64), numbers(rows, np.float64)
        row, column, value = numbers(entries, np.int64), numbers(entries, np.int64), numbers(entries, np.float64)
        whole = np.frombuffer(stdin.read(columns), np.bool_)
        first = np.frombuffer(stdin.read(columns), np.bool_) if hint else None
        model = _model(mathopt, objective, equals, row, column, value, whole)
        parameters = mathopt.SolveParameters(
            random_seed=seed,
            relative_gap_tolerance=gap,
            absolute_gap_tolerance=0.0,
            node_limit=nodes if nodes >= 0 else None,
            highs=_options(target),
        )
        status, bound, used, chosen = NOTHING, -math.inf, 0, np.zeros(columns, np.bool_)
        left = seconds - (perf_counter() - began) - _MARGIN
        if math.isfinite(left):
            parameters.time_limit = datetime.timedelta(seconds=max(0.0, left))
        if left > 0:
            status, bound, used, chosen = _solve(mathopt, model, parameters, first, chosen)
        stdout.write(ANSWER.pack(status, bound, used) + chosen.tobytes())
        stdout.flush()


def _solve(mathopt: Any, model: Any, parameters: Any, first: Any, chosen: Any) -> tuple[bytes, float, int, Any]:
    variables = list(model.variables())
    hints = mathopt.ModelSolveParameters()
    if first is not None:
        values = dict(zip(variables, first.astype(float).tolist(), strict=True))
        hints.solution_hints = [mathopt.SolutionHint(variable_values=values)]
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters, model_params=hints)
    reason, used = result.termination.reason, result.solve_stats.node_count
    if reason in (mathopt.TerminationReason.INFEASIBLE, mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED):
        return INFEASIBLE, -math.inf, used, chosen  # what is bounded in each variable is not unbounded
    bound = result.termination.objective_bounds.dual_bound
    if not result.has_primal_feasible_solution():
        return NOTHING, bound, used, chosen
    chosen = np.array(result.variable_values(variables)) > 0.5
    return OPTIMAL if reason == mathopt.TerminationReason.OPTIMAL else FEASIBLE, bound, used, chosen


def _model(mathopt: Any, objective: Any, equals: Any, row: Any, column: Any, value: Any, whole: Any) -> Any:
    from ortools.math_opt import model_pb2

    proto = model_pb2.ModelProto()
    count = len(objective)
    proto.variables.ids.extend(range(count))
    proto.variables.lower_bounds.extend([0.0] * count)
    proto.variables.upper_bounds.extend([1.0] * count)
    proto.variables.integers.extend(whole.tolist())
    dear = np.flatnonzero(objective)
    proto.objective.linear_coefficients.ids.extend(dear.tolist())
    proto.objective.linear_coefficients.values.extend(objective[dear].tolist())
    proto.linear_constraints.ids.extend(range(len(equals)))
    proto.linear_constraints.lower_bounds.extend(equals.tolist())
    proto.linear_constraints.upper_bounds.extend(equals.tolist())
    order = np.lexsort((column, row))
    proto.linear_constraint_matrix.row_ids.extend(row[order].tolist())
    proto.linear_constraint_matrix.column_ids.extend(column[order].tolist())
    proto.linear_constraint_matrix.coefficients.extend(value[order].tolist())
    return mathopt.Model.from_model_proto(proto)


def _options(target: float = -math.inf) -> Any:
    """What MathOpt has no parameters of its own for, or does not pass on."""
    from ortools.math_opt.solvers import highs_pb2

    options = highs_pb2.HighsOptionsProto(int_options={"threads": 1}, string_options={"parallel": "off"})
    if math.isfinite(target):
        options.double_options["objective_target"] = target
    return options


def _warm(mathopt: Any) -> None:
    model = mathopt.Model()
    model.minimize(model.add_binary_variable())
    parameters = mathopt.SolveParameters(highs=_options())
    mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters)


def pack(
    objective: Any,
    equals: Any,
    row: Any,
    column: Any,
    value: Any,
    whole: Any,
    first: Any,
    nodes: int,
    seed: int,
    gap: float,
    target: float,
    seconds: float,
) -> bytes:
    """The question: minimise ``objective @ x`` over x in [0, 1] with ``A @ x == equals``.

    Parameters
    ----------
    objective : shape ``(columns,)``, float64.
    equals : shape ``(rows,)``, float64.
    row, column, value : the entries of A, shape ``(entries,)`` each, int64, int64 and float64.
    whole : which columns are integral, shape ``(columns,)``, bool.
    first : a feasible x to begin with, shape ``(columns,)``, bool; or None.
    nodes, seed, gap, target, seconds : limits, as in :data:`QUESTION`.
    """
    header = QUESTION.pack(len(objective), len(equals), len(row), first is not None, nodes, seed, gap, target, seconds)
    parts = [objective, equals, row, column, value, whole, *([] if first is None else [first])]
    return header + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


if __name__ == "__main__":
    main()
