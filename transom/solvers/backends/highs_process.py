"""A process that solves mixed-integer programmes with the HiGHS of OR-Tools, asked through its pipes.

Run as a script, without the rest of the package. A question is a header (:data:`QUESTION`) and arrays (see
:func:`pack`); an answer is :data:`ANSWER` and one byte per column, whether it is above one half.

HiGHS is called through its C interface, which OR-Tools' wheels carry as a library, since that can be interrupted: a
limit of CPU time is one, and HiGHS's own limit is of the wall clock. Where there is no such library, OR-Tools' MathOpt
calls it, which passes no interrupts on, and limits are of the wall clock.
"""

from __future__ import annotations

import ctypes
import datetime
import math
import signal
import struct
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

QUESTION = struct.Struct("<qqqqqqddd?")
"""Columns, rows, entries, whether there is a hint, node limit (-1: none), seed, gap, target (minus infinity: none),
seconds (infinite: none), whether they are of the wall clock or else of the CPU time of this process."""

ANSWER = struct.Struct("<cdq")
"""Status, bound (minus infinity: none), nodes."""

READY, NOTHING, FEASIBLE, OPTIMAL, INFEASIBLE = b"r", b"n", b"f", b"o", b"i"

_MARGIN = 0.005  # what HiGHS needs to end and we to answer [s]
_CALLBACK = ctypes.CFUNCTYPE(
    None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), ctypes.c_void_p
)
_INTERRUPTS = (1, 2, 6)  # kHighsCallback...Interrupt of simplex, interior points and MIP
_OPTIMAL, _INFEASIBLE = (7,), (8, 9)  # kHighsModelStatus...; what is bounded in each variable is not unbounded
_HAS_SOLUTION = 2  # kHighsSolutionStatusFeasible
_ERROR = -1  # kHighsStatusError
_MOST = 2**31 - 1  # that an option can be


class Programme(NamedTuple):
    """A question: minimise ``objective @ x`` over x in [0, 1] with ``A @ x == equals``.

    Parameters
    ----------
    objective : shape ``(columns,)``, float64.
    equals : shape ``(rows,)``, float64.
    row, column, value : the entries of A, shape ``(entries,)`` each, int64, int64 and float64.
    whole : which columns are integral, shape ``(columns,)``, bool.
    first : a feasible x to begin with, shape ``(columns,)``, bool; or None.
    nodes, seed, gap, target : limits, as in :data:`QUESTION`.
    """

    objective: Any
    equals: Any
    row: Any
    column: Any
    value: Any
    whole: Any
    first: Any
    nodes: int
    seed: int
    gap: float
    target: float


class Limit(NamedTuple):
    """When to stop: at a time of a clock [s], which may be infinite."""

    clock: Callable[[], float]
    end: float

    def left(self) -> float:
        """The time left [s]."""
        return self.end - self.clock()


Found = tuple[bytes, float, int, Any]
"""Status, bound, nodes, and which columns are chosen, shape ``(columns,)``, bool."""


def main() -> None:
    """Answer until standard input ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
    solve = solver()
    one, none = np.ones(1), np.zeros(0, np.int64)
    solve(Programme(one, none, none, none, none, one > 0, None, -1, 0, 0.0, -math.inf), Limit(perf_counter, math.inf))
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    stdout.write(READY)
    stdout.flush()
    while header := stdin.read(QUESTION.size):
        columns, rows, entries, hint, nodes, seed, gap, target, seconds, wall = QUESTION.unpack(header)
        clock = perf_counter if wall else process_time
        limit = Limit(clock, clock() + seconds - _MARGIN)

        def numbers(count: int, kind: type) -> Any:
            return np.frombuffer(stdin.read(8 * count), kind)

        objective, equals = numbers(columns, np.float64), numbers(rows, np.float64)
        row, column, value = numbers(entries, np.int64), numbers(entries, np.int64), numbers(entries, np.float64)
        whole = np.frombuffer(stdin.read(columns), np.bool_)
        first = np.frombuffer(stdin.read(columns), np.bool_) if hint else None
        programme = Programme(objective, equals, row, column, value, whole, first, nodes, seed, gap, target)
        status, bound, used, chosen = solve(programme, limit)
        stdout.write(ANSWER.pack(status, bound, used) + chosen.tobytes())
        stdout.flush()


def solver() -> Callable[[Programme, Limit], Found]:
    """What asks HiGHS: through its library if there is one, else through MathOpt."""
    for folder in getattr(find_spec("ortools"), "submodule_search_locations", None) or ():
        for path in sorted(Path(folder, ".libs").glob("libhighs.so*")):
            try:
                library = ctypes.CDLL(str(path))
                library.Highs_startCallback.restype = ctypes.c_int
                if library.Highs_getSizeofHighsInt(None) != ctypes.sizeof(ctypes.c_int):
                    continue
            except (OSError, AttributeError):
                continue
            return lambda programme, limit: by_library(library, programme, limit)
    return by_mathopt


def by_library(library: Any, programme: Programme, limit: Limit) -> Found:
    """Ask HiGHS through its C interface; it is interrupted at the limit."""
    library.Highs_create.restype = ctypes.c_void_p
    highs = ctypes.c_void_p(library.Highs_create())
    try:
        return _run(library, highs, programme, limit)
    finally:
        library.Highs_destroy(highs)


def _run(library: Any, highs: Any, programme: Programme, limit: Limit) -> Found:
    p, columns, rows = programme, len(programme.objective), len(programme.equals)
    library.Highs_setBoolOptionValue(highs, b"output_flag", 0)
    for name, number in (
        ("threads", 1),
        ("random_seed", p.seed),
        *((("mip_max_nodes", min(p.nodes, _MOST)),) * (p.nodes >= 0)),
    ):
        library.Highs_setIntOptionValue(highs, name.encode(), number)
    library.Highs_setStringOptionValue(highs, b"parallel", b"off")
    gaps = [("mip_rel_gap", p.gap), ("mip_abs_gap", 0.0)]
    for name, level in [*gaps, *([("objective_target", p.target)] if math.isfinite(p.target) else [])]:
        library.Highs_setDoubleOptionValue(highs, name.encode(), ctypes.c_double(level))

    order = np.lexsort((p.column, p.row))
    start = np.searchsorted(p.row[order], np.arange(rows))
    lower, upper = np.zeros(columns), np.ones(columns)
    arrays = [
        np.ascontiguousarray(each, kind)
        for each, kind in (
            *((each, np.float64) for each in (p.objective, lower, upper, p.equals, p.equals)),
            *((each, np.int32) for each in (start, p.column[order])),
            (p.value[order], np.float64),
            (p.whole, np.int32),
        )
    ]
    by_rows, minimise = 2, 1  # kHighsMatrixFormatRowwise, kHighsObjSenseMinimize
    sizes = (columns, rows, len(p.value), by_rows, minimise)
    pointers = [ctypes.c_void_p(each.ctypes.data) for each in arrays]
    if library.Highs_passMip(highs, *sizes, ctypes.c_double(0.0), *pointers) == _ERROR:
        raise RuntimeError("HiGHS does not take the programme")  # what it then solves is another one
    if p.first is not None:
        hint = p.first.astype(np.float64)
        library.Highs_setSolution(highs, ctypes.c_void_p(hint.ctypes.data), None, None, None)
    left = limit.left()
    if left <= 0:
        return NOTHING, -math.inf, 0, np.zeros(columns, np.bool_)
    if limit.clock is perf_counter and math.isfinite(left):
        library.Highs_setDoubleOptionValue(highs, b"time_limit", ctypes.c_double(left))

    @_CALLBACK
    def look(kind: int, message: Any, event: Any, answer: Any, data: Any) -> None:
        if limit.left() <= 0:
            answer[0] = 1  # user_interrupt

    if limit.clock is not perf_counter:
        library.Highs_setCallback(highs, look, None)
        for kind in _INTERRUPTS:
            library.Highs_startCallback(highs, kind)
    library.Highs_run(highs)
    return _read(library, highs, columns)


def _read(library: Any, highs: Any, columns: int) -> Found:
    status, nodes = library.Highs_getModelStatus(highs), ctypes.c_int64()
    bound, has = ctypes.c_double(-math.inf), ctypes.c_int()
    library.Highs_getInt64InfoValue(highs, b"mip_node_count", ctypes.byref(nodes))
    used = max(0, nodes.value)
    if status in _INFEASIBLE:
        return INFEASIBLE, -math.inf, used, np.zeros(columns, np.bool_)
    library.Highs_getDoubleInfoValue(highs, b"mip_dual_bound", ctypes.byref(bound))
    library.Highs_getIntInfoValue(highs, b"primal_solution_status", ctypes.byref(has))
    if has.value != _HAS_SOLUTION:
        return NOTHING, bound.value, used, np.zeros(columns, np.bool_)
    values = np.zeros(columns)
    library.Highs_getSolution(highs, ctypes.c_void_p(values.ctypes.data), None, None, None)
    return OPTIMAL if status in _OPTIMAL else FEASIBLE, bound.value, used, values > 0.5


def by_mathopt(programme: Programme, limit: Limit) -> Found:
    """Ask HiGHS through OR-Tools' MathOpt; what is left until the limit is taken for wall-clock time."""
    from ortools.math_opt.python import mathopt

    p, chosen = programme, np.zeros(len(programme.objective), np.bool_)
    model = _model(mathopt, p)
    variables = list(model.variables())
    hints = mathopt.ModelSolveParameters()
    if p.first is not None:
        values = dict(zip(variables, p.first.astype(float).tolist(), strict=True))
        hints.solution_hints = [mathopt.SolutionHint(variable_values=values)]
    parameters = mathopt.SolveParameters(
        random_seed=p.seed,
        relative_gap_tolerance=p.gap,
        absolute_gap_tolerance=0.0,
        node_limit=p.nodes if p.nodes >= 0 else None,
        highs=_options(p.target),
    )
    left = limit.left()
    if left <= 0:
        return NOTHING, -math.inf, 0, chosen
    if math.isfinite(left):
        parameters.time_limit = datetime.timedelta(seconds=left)
    result = mathopt.solve(model, mathopt.SolverType.HIGHS, params=parameters, model_params=hints)
    reason, used = result.termination.reason, result.solve_stats.node_count
    if reason in (mathopt.TerminationReason.INFEASIBLE, mathopt.TerminationReason.INFEASIBLE_OR_UNBOUNDED):
        return INFEASIBLE, -math.inf, used, chosen
    bound = result.termination.objective_bounds.dual_bound
    if not result.has_primal_feasible_solution():
        return NOTHING, bound, used, chosen
    chosen = np.array(result.variable_values(variables)) > 0.5
    return OPTIMAL if reason == mathopt.TerminationReason.OPTIMAL else FEASIBLE, bound, used, chosen


def _model(mathopt: Any, programme: Programme) -> Any:
    from ortools.math_opt import model_pb2

    p, proto = programme, model_pb2.ModelProto()
    count = len(p.objective)
    proto.variables.ids.extend(range(count))
    proto.variables.lower_bounds.extend([0.0] * count)
    proto.variables.upper_bounds.extend([1.0] * count)
    proto.variables.integers.extend(p.whole.tolist())
    dear = np.flatnonzero(p.objective)
    proto.objective.linear_coefficients.ids.extend(dear.tolist())
    proto.objective.linear_coefficients.values.extend(p.objective[dear].tolist())
    proto.linear_constraints.ids.extend(range(len(p.equals)))
    proto.linear_constraints.lower_bounds.extend(p.equals.tolist())
    proto.linear_constraints.upper_bounds.extend(p.equals.tolist())
    order = np.lexsort((p.column, p.row))
    proto.linear_constraint_matrix.row_ids.extend(p.row[order].tolist())
    proto.linear_constraint_matrix.column_ids.extend(p.column[order].tolist())
    proto.linear_constraint_matrix.coefficients.extend(p.value[order].tolist())
    return mathopt.Model.from_model_proto(proto)


def _options(target: float = -math.inf) -> Any:
    """What MathOpt has no parameters of its own for, or does not pass on."""
    from ortools.math_opt.solvers import highs_pb2

    options = highs_pb2.HighsOptionsProto(int_options={"threads": 1}, string_options={"parallel": "off"})
    if math.isfinite(target):
        options.double_options["objective_target"] = target
    return options


def pack(programme: Programme, seconds: float, wall: bool) -> bytes:
    """A programme as the worker reads it, with its limit of time as in :data:`QUESTION`."""
    p = programme
    hint = p.first is not None
    sizes = len(p.objective), len(p.equals), len(p.row), hint
    header = QUESTION.pack(*sizes, p.nodes, p.seed, p.gap, p.target, seconds, wall)
    parts = [p.objective, p.equals, p.row, p.column, p.value, p.whole, *([p.first] if hint else [])]
    return header + b"".join(np.ascontiguousarray(part).tobytes() for part in parts)


if __name__ == "__main__":
    main()
