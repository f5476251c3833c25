"""Where each solver stops proving knapsacks within a second as they grow.

    python -m benchmarks.knapsack_scaling [--range 1000] [--seconds 1] [--instances 3] [--cpu] [--out docs/TABLE.md]
    python -m benchmarks.knapsack_scaling --hard [--seconds 1] [--solvers primal-dual] [--seeds 1 2 3] [--classes NAME]

For each class and solver, items are doubled or so from 50 to 10,000; a cell is the largest number
at which every instance was proved within the budget, and the solver is asked no further. The
longest call shows that budgets are kept. With ``--hard``: CPU time of proofs at 1,000 and 10,000 items with
R = 10^3 and 10^6, for capacities from 3/101 to 95/101 of the total weight.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time

import numpy as np

from benchmarks._hard_knapsacks import hard_table
from transom import Stop, registry, solve
from transom._system.files import atomic_write
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.models import Knapsack
from transom.solving import warm_up

SIZES = (50, 100, 200, 500, 1000, 2000, 5000, 10_000)
SOLVERS = (
    "auto",
    "primal-dual",
    "dp",
    "cpsat",
    "scip",
)


def reach(
    spec: str, problems: Sequence[Sequence[Knapsack]], seconds: float, clock: Callable[[], float]
) -> tuple[str, float]:
    """How far a solver gets.

    Parameters
    ----------
    spec : the solver.
    problems : for each of :data:`SIZES` the instances.
    seconds : budget of one solve.
    clock : what it is read from.

    Returns
    -------
    The cell of the table, and the longest call [s].
    """
    solver = registry.make(registry.SOLVERS, spec)
    warm_up(solver, Knapsack)
    last, longest = 0, 0.0
    for size, instances in zip(SIZES, problems, strict=True):
        for problem in instances:
            if solver.supports(problem):
                return f"{last:,} (refuses {size:,})" if last else f"refuses {size:,}", longest
            result = solve(problem, solver, Stop(seconds=seconds), clock=clock)
            longest = max(longest, result.seconds)
            if result.error:
                raise RuntimeError(f"{spec}: {result.error}")
            if result.status != "optimal":
                return f"{last:,}" if last else "-", longest
        last = size
    return f"{last:,}", longest


def table(
    value_range: int, instances: int, seconds: float, solvers: Sequence[str], clock: Callable[[], float]
) -> list[str]:
    """The rows of the table in Markdown."""
    rows = [f"| class, R = {value_range:,} | " + " | ".join(f"`{spec}`" for spec in solvers) + " |"]
    rows.append("|---|" + "---:|" * len(solvers))
    longest = dict.fromkeys(solvers, 0.0)
    for number, klass in enumerate(CLASSES):
        problems = [
            [
                generate_knapsack(klass, size, value_range, np.random.default_rng((number, size, i)))
                for i in range(instances)
            ]
            for size in SIZES
        ]
        cells = []
        for spec in solvers:
            cell, took = reach(spec, problems, seconds, clock)
            longest[spec] = max(longest[spec], took)
            cells.append(cell)
        rows.append(f"| {klass} | " + " | ".join(cells) + " |")
        print(rows[-1], file=sys.stderr, flush=True)
    rows.append("| longest call [s] | " + " | ".join(f"{longest[spec]:.3f}" for spec in solvers) + " |")
    return rows


def main() -> None:
    """Read the command line, measure, print or write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--range", type=int, nargs="+", default=[1000], help="R, the range of the coefficients")
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--instances", type=int, default=3, help="instances per class and size")
    parser.add_argument("--solvers", nargs="+")
    parser.add_argument("--cpu", action="store_true", help="count CPU time of this process")
    parser.add_argument("--hard", action="store_true", help="CPU time of proofs instead, by default of primal-dual")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="of the instances of --hard")
    parser.add_argument("--classes", nargs="+", choices=list(CLASSES), default=[], help="of --hard, by default all")
    parser.add_argument("--out", type=Path, help="Markdown file; printed by default")
    arguments = parser.parse_args()
    if arguments.hard:
        for spec in arguments.solvers or ["primal-dual"]:
            print("\n".join(hard_table(spec, arguments.seconds, arguments.seeds, arguments.classes)))
        return
    lines = [
        f"Largest number of items, up to {SIZES[-1]:,}, at which all {arguments.instances} instances of a class "
        f"were proved optimal within {arguments.seconds:g} s each, one thread. Capacity: half of the total weight.",
    ]
    clock = process_time if arguments.cpu else perf_counter
    solvers = arguments.solvers or list(SOLVERS)
    for value_range in arguments.range:
        lines += ["", *table(value_range, arguments.instances, arguments.seconds, solvers, clock)]
    text = "\n".join(lines) + "\n"
    if arguments.out:
        with atomic_write(arguments.out) as file:
            file.write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
