"""Static allocation and the constrained path as one unit of flow, with a count row for each size."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from transom._system.collector import collector_paused
from transom.errors import SpecError
from transom.models.allocation import Allocation
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.packing import Packing
from transom.solvers.allocation.packing_search import (
    answer_greedily,
    cost_unit,
    float_slack,
    has_no_arc,
    refused_rule,
    sorted_blocks,
    warm_packing,
)
from transom.solvers.backends import highs_process as worker
from transom.solvers.backends.float_bounds import close, prove
from transom.solvers.backends.native import defer_destructors, import_back_end, run_deferred
from transom.solvers.backends.scip import scip_model, search_scip
from transom.solvers.backends.worker_process import WorkerProcess, borrowed_worker
from transom.solving import presolve
from transom.stop import Budget

BackEnd = Literal["highs", "scip"]

_PER_COLUMN, _PER_ENTRY = 4e-6, 3e-7  # what it takes PySCIPOpt to make one, about [s]
_AT_LEAST = 6e-6  # what HiGHS takes at least, for each column, before it knows anything: mostly its presolve [s]
_GRACE = 0.02  # how long past the budget an answer may take that HiGHS' own limit brought about [s]


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

    Parameters
    ----------
    backend : ``highs``, the HiGHS that comes with OR-Tools. As it cannot be interrupted everywhere, it runs in a
        worker process that is started once, reused, and killed when the budget ends or
        the user interrupts; its answer and bound come at the end, by its own time limit at the latest
        (``stall`` does not apply). ``scip``: SCIP through PySCIPOpt, which reports on the way.

    Raises
    ------
    SpecError : the back end is unknown.

    References
    ----------
    Lan et al. (2023), section IV-B. Huangfu and Hall, Parallelizing the dual revised simplex method (2018).
    """

    name: ClassVar[str] = "scas-flow"
    solves: ClassVar[type] = Allocation
    needs: ClassVar[tuple[str, ...]] = ("ortools", "pyscipopt")

    backend: BackEnd = "highs"

    def __post_init__(self) -> None:
        if self.backend not in get_args(BackEnd):
            raise SpecError(f"{self.name}: unknown back end {self.backend!r}. Known: {', '.join(get_args(BackEnd))}")

    def supports(self, problem: Allocation | ConstrainedPath, /) -> str | None:
        """Every static allocation."""
        return refused_rule(problem)

    def warm_up(self) -> None:
        """Start a worker or import SCIP, and compile what packs and unpacks."""
        if self.backend == "highs":
            with _worker():
                pass
        else:
            import_back_end("pyscipopt")
        warm_packing()
        run_deferred()

    def __call__(
        self, problem: Allocation | ConstrainedPath, budget: Budget, rng: np.random.Generator, /, start: Any = None
    ) -> None:
        _solve(problem, budget, int(rng.integers(2**31)), self.backend)


@dataclass(frozen=True, slots=True)
class CspFlow(ScasFlow):
    """The model of ``scas-flow`` on the constrained path, without arcs that wrap around.

    Parameters
    ----------
    backend : as there.

    Raises
    ------
    SpecError : the back end is unknown.

    References
    ----------
    Lan et al. (2023), section IV-B.
    """

    name: ClassVar[str] = "csp-flow"
    solves: ClassVar[type] = ConstrainedPath


class _Flow(NamedTuple):
    """The programme: columns are the n transitions, then operation arcs by row of their size, then start."""

    row: IntArray  # of each operation arc's size, (arcs,)
    start: IntArray  # its first entry, (arcs,)
    costs: FloatArray  # of each column
    equals: FloatArray  # n nodes, the last entry, each size
    where: IntArray  # row of the matrix of each entry, (entries,)
    column: IntArray
    value: FloatArray


def _worker() -> AbstractContextManager[WorkerProcess]:
    return borrowed_worker(Path(worker.__file__))


def _solve(problem: Allocation | ConstrainedPath, budget: Budget, seed: int, backend: str) -> None:
    if presolve(problem, budget):
        return
    began = budget.seconds()
    packed = packing.apply(problem)
    if has_no_arc(packed):
        budget.prove_infeasible()
        return
    if budget.done():
        answer_greedily(problem, packed, budget)  # building the model counts
        return
    columns = packed.length + int(np.isfinite(packed.costs).sum())
    if backend == "highs" and budget.short(columns * _AT_LEAST):
        why = f"a model of {columns} columns takes longer to presolve than there is time"
        answer_greedily(problem, packed, budget, why)
        return
    if backend == "scip" and budget.short(columns * _PER_COLUMN):
        why = f"a model of {columns} columns takes longer to build than there is time"
        answer_greedily(problem, packed, budget, why)
        return
    unit = cost_unit(packed.costs)
    flow = _flow(packed, unit)
    first = None if budget.solution is None else _values(packed, flow, *sorted_blocks(problem, packed, budget.solution))
    defer_destructors(flow)
    # To hand the model over, which cannot be cut short, takes about as long as to build it.
    if budget.done() or budget.short(budget.seconds() - began):
        why = f"a model of {columns} columns takes longer to hand over than there is time"
        answer_greedily(problem, packed, budget, None if budget.reason == "time" else why)
        return

    def read(used: BoolArray) -> Any:
        arcs = np.flatnonzero(used[packed.length :])
        return packing.invert(problem, flow.row[arcs], flow.start[arcs])

    search = _by_highs if backend == "highs" else _by_scip
    search(packed, flow, first, read, budget, seed, unit)
    if not budget.infeasible:
        answer_greedily(problem, packed, budget)


def _flow(packed: Packing, unit: float) -> _Flow:
    n = packed.length
    row, start = np.nonzero(np.isfinite(packed.costs))
    tail = np.concatenate((np.arange(n), start))
    end = np.concatenate((np.arange(1, n + 1), start + packed.sizes[row]))  # of a column's span
    columns = np.arange(len(tail))
    moves = np.flatnonzero(tail != end % n)  # a block of all entries comes back to where it begins
    spans = np.flatnonzero(end >= n)
    where = np.concatenate((tail[moves], end[moves] % n, np.full(len(spans), n), n + 1 + row))
    column = np.concatenate((moves, moves, spans, columns[n:]))
    value = np.ones(len(where))
    value[len(moves) : 2 * len(moves)] = -1
    costs = np.concatenate((np.zeros(n), packed.costs[row, start] / unit))
    equals = np.concatenate((np.zeros(n), [1.0], packed.counts.astype(float)))
    return _Flow(row, start, costs, equals, where, column, value)


def _values(packed: Packing, flow: _Flow, row: IntArray, start: IntArray) -> BoolArray:
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
    packed: Packing,
    flow: _Flow,
    first: BoolArray | None,
    read: Callable[[BoolArray], Any],
    budget: Budget,
    seed: int,
    unit: float,
) -> None:
    nodes = budget.iterations_left()
    count = len(flow.costs)
    whole = np.arange(count) >= packed.length
    slack = float_slack(packed, unit)
    programme = worker.Programme(
        flow.costs,
        flow.equals,
        flow.where,
        flow.column,
        flow.value,
        whole,
        first,
        -1 if nodes is None else nodes,
        seed,
        budget.stop.gap or 0.0,
        -math.inf if budget.stop.target is None else budget.stop.target / unit,
    )
    question = worker.pack(programme, budget.seconds_left(), budget.wall)
    defer_destructors(question)
    with _worker() as process:
        answer = process.ask(question, worker.ANSWER.size + count, budget, _GRACE)
    if not answer:
        return
    status, bound, used = worker.ANSWER.unpack_from(answer)
    budget.spend(used)
    if status == worker.INFEASIBLE:
        budget.prove_infeasible()
        return
    if status in (worker.OPTIMAL, worker.FEASIBLE):
        budget.found(read(np.frombuffer(answer, np.bool_, count, worker.ANSWER.size)))
    if math.isfinite(bound):
        (close if status == worker.OPTIMAL else prove)(budget, bound * unit, packed.whole, slack)
    if status != worker.OPTIMAL and not budget.done():
        budget.notes["ended"] = "by its own time limit"  # which it meets with a margin


def _by_scip(
    packed: Packing,
    flow: _Flow,
    first: BoolArray | None,
    read: Callable[[BoolArray], Any],
    budget: Budget,
    seed: int,
    unit: float,
) -> None:
    if budget.short(len(flow.costs) * _PER_COLUMN + len(flow.where) * _PER_ENTRY):
        budget.notes["ended"] = f"a model of {len(flow.costs)} columns takes longer to build than there is time"
        return
    model = scip_model(seed)
    with collector_paused():
        variables = _scip_columns(model, packed, flow, first, budget)
    if variables is None:
        return
    n = packed.length
    slack = float_slack(packed, unit)

    def values(value: Callable[[Any], float]) -> Any:
        used = np.zeros(len(variables), np.bool_)
        used[n:] = [value(variable) > 0.5 for variable in variables[n:]]
        return read(used)

    status, bound = search_scip(model, budget, values, packed.whole, slack, unit)
    if bound is not None:
        close(budget, bound, packed.whole, slack)
    elif status == "infeasible":
        budget.prove_infeasible()


def _scip_columns(
    model: Any, packed: Packing, flow: _Flow, first: BoolArray | None, budget: Budget
) -> list[Any] | None:
    """Fill the model; its variables, or None when time is over before."""
    from pyscipopt import quicksum

    n, costs = packed.length, flow.costs.tolist()
    variables = [model.addVar("", vtype="C", lb=0.0, ub=1.0) for _ in range(n)]
    model.data = variables  # freed with the model, outside the budget
    for begin in range(n, len(costs), 1000):
        variables.extend(model.addVar("", vtype="B", obj=cost) for cost in costs[begin : begin + 1000])
        if budget.done():
            return None
    order = np.argsort(flow.where, kind="stable")
    ends = np.searchsorted(flow.where[order], np.arange(len(flow.equals) + 1)).tolist()
    column, value = flow.column[order].tolist(), flow.value[order].tolist()
    for at, equals in enumerate(flow.equals.tolist()):
        terms = (value[k] * variables[column[k]] for k in range(ends[at], ends[at + 1]))
        model.addCons(quicksum(terms) == equals)
        if budget.done():
            return None
    if first is not None:
        solution = model.createSol()
        for k in np.flatnonzero(first).tolist():
            model.setSolVal(solution, variables[k], 1.0)
        model.addSol(solution)
    return variables
