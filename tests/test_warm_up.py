"""What is prepared before the clock starts is all that a search needs: nothing is left to compile in its time."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import gc, sys
import numpy as np
from transom import Allocation, ConstrainedPath, FatTree, Knapsack, Selection, Stop, registry, solve
from transom._system.compiling import compiled
from transom.solving import warm_up

def kernels():
    made = [each for each in gc.get_objects() if isinstance(each, compiled)]
    entries = [(each, entry) for each in made for entry in (each._dispatcher, each._called) if entry is not None]
    return {
        (each.__module__, each.__qualname__, entry is each._called, str(given))
        for each, entry in entries
        for given in entry.signatures
    }

def problems(kind, rng):
    tree = FatTree.uniform(120, 5, 20)
    for _ in range(int(many)):
        if kind == "knapsack":
            yield Knapsack(rng.integers(1, 900, 60), rng.integers(1, 900, 60), 9000)
        elif kind == "selection":
            yield Selection(rng.integers(0, 90, (14, 3)), [200] * 3)
        else:
            idle, sizes = np.sort(rng.choice(120, 90, replace=False)), rng.integers(2, 16, rng.integers(3, 9))
            if sizes.sum() <= 90:
                yield Allocation(tree, idle, sizes, kind)

name, kind, many, seconds = sys.argv[1:]
rng = np.random.default_rng(7)
model = {"knapsack": Knapsack, "selection": Selection}.get(kind, Allocation)
solver = registry.make(registry.SOLVERS, name, model)
warm_up(solver, model)
first = next(problems(kind, rng))
warm_up(first)
solve(first, "greedy" if kind == "knapsack" else "fcfs" if kind == "selection" else "best-fit" , Stop(iterations=1))
before = kernels()
for problem in problems(kind, rng):
    solve(problem, solver, Stop(seconds=float(seconds)))
print(sorted(kernels() - before))
"""


@pytest.mark.parametrize(("many", "seconds"), [(4, 0.15), pytest.param(12, 0.3, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("solver", "kind"),
    [
        ("free-exact", "free"),
        ("dcas-exact", "dynamic"),
        ("scas-dp", "static"),
        ("scas-lagrangian", "static"),
        ("count-search", "free"),
        ("dp-polish", "dynamic"),
        ("sa", "free"),
        ("primal-dual", "knapsack"),
        ("dp", "knapsack"),
        ("pareto-dp", "selection"),
        ("exhaustive", "selection"),
        ("nsga2", "selection"),
    ],
)
def test_nothing_is_compiled_in_the_time_of_a_search(solver: str, kind: str, many: int, seconds: float) -> None:
    run = [sys.executable, "-c", PROGRAM, solver, kind, str(many), str(seconds)]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"
