"""CPU time that solvers of workflows use after their deadline, on workflows of up to 100,000 tasks.

    python -m benchmarks.overshoot_workflow
    python -m benchmarks.overshoot_workflow --tasks 20000 --seconds 0.1 --solver auto

Layers of 60 tasks, forks and joins, and tasks of up to 8 nodes without edges, on 16 nodes; budgets of 0.01, 0.1 and
1 s. A line for each solver, number of tasks and budget: the worst CPU time after the deadline, as
``python -m benchmarks.overshoot_allocation`` counts it, and the workflow on which that was. The exit status is 1 where
it is above 50 ms + 5 % of the budget, a solver fails, or it has no schedule.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.overshoot import allowance
from benchmarks.overshoot_allocation import Watch
from transom import Stop, registry, solve
from transom.generate.instances.workflows import random_workflow
from transom.models import Workflow
from transom.rng import stream
from transom.solvers.backends.native import run_deferred
from transom.solving import Solver, warm_up

SOLVERS = ("auto", "cpsat", "local-search", "heft", "longest-path", "lpt", "shortest-first")
NODES = 16


def problems(tasks: int) -> Iterator[Workflow]:
    """One of each kind."""
    for kind, family, width, largest in (
        ("layered", "layered", 60, 1), ("fork-join", "fork-join", 60, 1), ("apart", "layered", 60, 8),
    ):  # fmt: skip
        flow = random_workflow(stream(1, "overshoot", kind, tasks), family, tasks, width, largest=largest)
        yield replace(flow, name=kind, edges=() if kind == "apart" else flow.edges).on(NODES)
    # Many different requests: list scheduling asks for each kind whether it fits.
    rng = stream(1, "overshoot", "demanding", tasks)
    children = rng.integers(1, tasks, 2 * tasks)
    links = np.unique(np.column_stack(((children * rng.random(2 * tasks)).astype(np.int64), children)), axis=0)
    yield Workflow(
        "demanding", [f"t{i}" for i in range(tasks)], rng.integers(1, 1000, tasks), links,
        resources=["memory", "gpus"], demands=rng.integers(1, 101, (tasks, 2)),
    ).on(NODES, {"memory": 800, "gpus": 800})  # fmt: skip


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, SOLVERS)
    sys.exit(0 if measured(Workflow, options, problems, [1_000, 10_000, 20_000, 100_000]) else 1)


def arguments(about: str | None, solvers: Sequence[str]) -> argparse.Namespace:
    """What the command is asked for: numbers of tasks, budgets [s] and solvers, by default all."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, action="append")
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--solver", action="append", default=[], choices=solvers)
    options = parser.parse_args()
    options.solver = options.solver or list(solvers)
    return options


def measured(
    model: type, options: argparse.Namespace, problems: Callable[[int], Iterator[Any]], sizes: list[int]
) -> bool:
    """Print the worst overshoot of each solver, by tasks and budget; whether all are within what is allowed."""
    good = True
    print(f"{'solver':<16}{'tasks':>8}{'budget [s]':>11}{'after [s]':>11}{'allowed':>9}  worst on", flush=True)
    for tasks in options.tasks or sizes:
        each = list(problems(tasks))
        for name in options.solver:
            solver: Solver = registry.make(registry.SOLVERS, name, model)
            warm_up(solver, model)
            for seconds in options.seconds or [0.01, 0.1, 1.0]:
                worst, told = -seconds, ""
                for problem in each:
                    gc.collect()
                    watch = Watch(seconds)
                    result = solve(problem, solver, Stop(seconds=seconds), clock=watch)
                    over = watch.after()
                    run_deferred()
                    failed = result.error is not None or result.solution is None
                    good &= not failed
                    if over >= worst or failed:
                        where = problem.name if model is Workflow else ""
                        worst, told = over, f"{where}{' ' + str(result.error) if failed else ''}"
                late = worst > allowance(seconds)
                good &= not late
                row = f"{name:<16}{tasks:>8}{seconds:>11g}{worst:>11.3f}{allowance(seconds):>9.3f}  {told}"
                print(row + " !" * late, flush=True)
    return good


if __name__ == "__main__":
    main()
