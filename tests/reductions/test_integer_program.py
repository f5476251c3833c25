"""Integer programmes: written, read back and solved by another solver, they have the optimum of the problem."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transom import Stop, solve
from transom.errors import UnsupportedError
from transom.models import Allocation, ConstrainedPath, FatTree, Knapsack, Placement, Selection
from transom.reductions.integer_program import SUFFIXES, integer_program, write_program


def optimum(path: Path) -> float:
    """The optimum of a file: of MPS by HiGHS, which did not write it, of LP by SCIP."""
    if path.suffix == ".lp":
        from pyscipopt import Model

        model = Model()
        model.hideOutput()
        model.readProblem(str(path))
        model.optimize()
        return float(model.getObjVal())
    from ortools.linear_solver.python import model_builder

    read, solver = model_builder.Model(), model_builder.Solver("HIGHS")
    assert read.import_from_mps_file(str(path))
    assert solver.solve(read) == model_builder.SolveStatus.OPTIMAL
    return float(solver.objective_value)


def random_problem(kind: str, rng: np.random.Generator) -> Any:
    if kind == "knapsack":
        return Knapsack(rng.integers(-3, 100, 12), rng.integers(0, 50, 12), 150)
    if kind == "selection":
        marks = [True] + [False] * 7
        demands, values = rng.integers(0, 9, (8, 2)), rng.integers(1, 9, (8, 1))
        return Selection(demands, [25, 25], values, forced=marks, excluded=marks[::-1], requires=[(2, 3), (4, 2)])
    if kind == "placement":
        free, demands = rng.integers(4, 20, (3, 2)), rng.integers(1, 9, (5, 2))
        return Placement(free, demands, rng.integers(1, 4, 5), rng.integers(1, 20, 5))
    idle = np.sort(rng.choice(32, 16, replace=False))
    allocation = Allocation(FatTree.uniform(32, 4, 16), idle, rng.integers(2, 4, 4), wrap=kind == "scas")
    return allocation if kind == "scas" else ConstrainedPath.from_allocation(allocation)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", ["knapsack", "selection", "placement", "scas", "csp"])
def test_another_solver_finds_the_same_optimum(tmp_path: Path, kind: str, suffix: str) -> None:
    rng = np.random.default_rng(7)
    for number in range(5):
        problem, path = random_problem(kind, rng), tmp_path / f"{number}{suffix}"
        write_program(integer_program(problem), path)
        result = solve(problem, stop=Stop(seconds=30))
        assert result.status == "optimal"
        known = float(result.solution.values[0, 0]) if kind == "selection" else result.value
        assert optimum(path) == pytest.approx(known, abs=1e-6)


def test_further_objectives_are_rows(tmp_path: Path) -> None:
    problem = Selection([[4], [5], [6]], [10], [[5, 1], [6, 0], [7, 9]])
    program = integer_program(problem, [17, 4, 9])
    assert (list(program.names), [row.name for row in program.rows]) == (
        ["job17", "job4", "job9"],
        ["capacity_r0", "objective_o1"],
    )
    for suffix in SUFFIXES:
        write_program(program, path := tmp_path / f"model{suffix}")
        assert "objective_o1" in path.read_text()


def test_what_has_no_programme_is_refused() -> None:
    tree = FatTree.uniform(8, 2, 4)
    with pytest.raises(UnsupportedError, match="a dcas has no integer programme; knapsacks, selections"):
        integer_program(Allocation(tree, np.arange(8), np.array([2, 3]), "dynamic"))
    with pytest.raises(UnsupportedError, match="numbers of more than 15 digits"):
        integer_program(Knapsack([10**16], [1], 1))
