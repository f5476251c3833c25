"""A problem as an integer linear programme, and as a file that other solvers read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

from transom._system.files import atomic_write
from transom.errors import UnsupportedError
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.knapsack import Knapsack
from transom.models.placement import Placement
from transom.models.selection import Selection
from transom.models.shortest_path import ConstrainedPath
from transom.reductions import packing
from transom.reductions.flow import as_flow

SUFFIXES = (".mps", ".lp")
"""What files of programmes end in."""

_DIGITS = 10**15  # numbers in such files have 15 digits


class Row(NamedTuple):
    """A condition: ``factors`` of the ``columns`` add up to a number from ``least`` to ``most``."""

    name: str
    columns: IntArray
    factors: IntArray | FloatArray
    least: float
    most: float


class IntegerProgram(NamedTuple):
    """What is minimised or maximised under linear conditions.

    Parameters
    ----------
    sense : ``min`` or ``max``.
    names : of the variables, distinct, without blanks.
    costs : of each variable in the objective, whose optimum is that of the problem, shape ``(variables,)``.
    least, most : limits of each variable, shape ``(variables,)``.
    whole : how many variables at the end are integers; the others take any number.
    rows : the conditions.
    """

    sense: str
    names: Sequence[str]
    costs: IntArray | FloatArray
    least: IntArray
    most: IntArray
    whole: int
    rows: Sequence[Row]


def integer_program(problem: Any, jobs: Sequence[int] | None = None) -> IntegerProgram:
    """The integer programme of a problem.

    Parameters
    ----------
    problem : a knapsack, a selection, a placement, a static allocation or a constrained path. Of a selection the first
        objective is maximised; the others are rows that limits can be set to.
    jobs : ids of the items, which name the variables; by default positions from 0 do.

    Raises
    ------
    UnsupportedError : the problem is of another type, or has numbers of more than 15 digits.
    """
    make = _MAKERS.get(type(problem))
    if make is None or getattr(problem, "rule", "static") != "static":
        raise UnsupportedError(f"a {problem.kind} has no integer programme; {_KNOWN} have one")
    program = make(problem, jobs)
    numbers = [program.costs, *(row.factors for row in program.rows), *(row[-2:] for row in program.rows)]
    for array in numbers:
        finite = np.asarray(array, dtype=np.float64)
        if (np.abs(finite[np.isfinite(finite)]) >= _DIGITS).any():
            raise UnsupportedError(f"this {problem.kind} has numbers of more than 15 digits, which a file would round")
    return program


def _items(jobs: Sequence[int] | None, count: int) -> list[str]:
    return [f"item{i}" for i in range(count)] if jobs is None else [f"job{job}" for job in jobs]


def _knapsack(problem: Knapsack, jobs: Sequence[int] | None) -> IntegerProgram:
    n = len(problem.values)
    zero, one = np.zeros(n, np.int64), np.ones(n, np.int64)
    row = Row("capacity", np.arange(n), problem.weights, -np.inf, problem.capacity)
    return IntegerProgram("max", _items(jobs, n), problem.values, zero, one, n, [row])


def _selection(problem: Selection, jobs: Sequence[int] | None) -> IntegerProgram:
    n, every = len(problem), np.arange(len(problem))
    names = _items(jobs, n)
    rows = [
        Row(f"capacity_{name}", every, problem.demands[:, r], -np.inf, int(problem.capacity[r]))
        for r, name in enumerate(problem.resources)
    ]
    rows += [
        Row(f"{names[job]}_requires_{names[other]}", np.array([job, other]), np.array([1, -1]), -np.inf, 0)
        for job, other in problem.requires
    ]
    rows += [
        Row(f"objective_{term}", every, problem.objectives[:, k], 0, np.inf)
        for k, term in enumerate(problem.terms)
        if k > 0
    ]
    least, most = problem.forced.astype(np.int64), (~problem.excluded).astype(np.int64)
    return IntegerProgram("max", names, problem.objectives[:, 0], least, most, n, rows)


def _placement(problem: Placement, jobs: Sequence[int] | None) -> IntegerProgram:
    fits = np.minimum(problem.fitting(problem.free), problem.waiting[:, None])
    tasks, machines = np.nonzero(fits)
    tasks_of, names = _items(jobs, len(problem)), []
    for task, machine in zip(tasks.tolist(), machines.tolist(), strict=True):
        names.append(f"{tasks_of[task]}_on_machine{machine}")
    rows = [
        Row(f"waiting_{tasks_of[task]}", at, np.ones(len(at), np.int64), -np.inf, int(problem.waiting[task]))
        for task in range(len(problem))
        if len(at := np.flatnonzero(tasks == task))
    ]
    rows += [
        Row(f"{name}_of_machine{machine}", at, problem.demands[tasks[at], r], -np.inf, int(problem.free[machine, r]))
        for machine in range(len(problem.free))
        if len(at := np.flatnonzero(machines == machine))
        for r, name in enumerate(problem.resources)
    ]
    none = np.zeros(len(names), np.int64)
    return IntegerProgram("max", names, problem.values[tasks], none, fits[tasks, machines], len(names), rows)


def _path(problem: Allocation | ConstrainedPath, jobs: Sequence[int] | None) -> IntegerProgram:
    packed = packing.apply(problem)
    flow = as_flow(packed)
    n, arcs = packed.length, len(flow.row)
    # Sizes may stand twice, for jobs that take other nodes: the row tells them apart.
    names = [f"over_entry{i}" for i in range(n)]
    for row, start in zip(flow.row.tolist(), flow.start.tolist(), strict=True):
        names.append(f"size{packed.sizes[row]}_row{row}_at_entry{start}")
    called = [*(f"node{i}" for i in range(n)), "around_once", *(f"jobs_of_row{r}" for r in range(len(packed.sizes)))]
    order = np.argsort(flow.where, kind="stable")
    cuts = np.searchsorted(flow.where[order], np.arange(len(called) + 1))
    rows = [
        Row(name, flow.column[at], flow.value[at], flow.equals[k], flow.equals[k])
        for k, name in enumerate(called)
        if len(at := order[cuts[k] : cuts[k + 1]]) or flow.equals[k]
    ]
    none, one = np.zeros(n + arcs, np.int64), np.ones(n + arcs, np.int64)
    return IntegerProgram("min", names, flow.costs, none, one, arcs, rows)


_MAKERS: dict[type, Callable[[Any, Sequence[int] | None], IntegerProgram]] = {
    Knapsack: _knapsack,
    Selection: _selection,
    Placement: _placement,
    Allocation: _path,
    ConstrainedPath: _path,
}
_KNOWN = "knapsacks, selections, placements, static allocations (scas) and constrained paths (csp)"


def write_program(program: IntegerProgram, path: str | os.PathLike[str]) -> None:
    """Write a programme by SCIP, as an MPS or an LP file, as the name ends (:data:`SUFFIXES`).

    Raises
    ------
    OSError : it cannot be written.
    """
    from pyscipopt import Model, quicksum

    model = Model("transom")
    model.hideOutput()
    free = len(program.names) - program.whole
    columns = [
        model.addVar(name, vtype="I" if k >= free else "C", lb=low, ub=high, obj=cost)
        for k, (name, low, high, cost) in enumerate(
            zip(program.names, program.least.tolist(), program.most.tolist(), program.costs.tolist(), strict=True)
        )
    ]
    (model.setMaximize if program.sense == "max" else model.setMinimize)()
    for row in program.rows:
        terms = zip(row.factors.tolist(), row.columns.tolist(), strict=True)
        total = quicksum(factor * columns[column] for factor, column in terms if factor)
        model.addCons(row.least <= (total <= row.most), name=row.name)
    with TemporaryDirectory() as folder:
        written = Path(folder) / Path(path).name  # SCIP tells the form by the ending
        model.writeProblem(str(written), verbose=False)
        with atomic_write(path) as file:
            file.write(written.read_text())
