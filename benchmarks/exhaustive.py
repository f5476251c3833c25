"""How long exhaustive takes to look at every choice, beside its estimate and beside another solver.

    python -m benchmarks.exhaustive [--jobs 16 20 24] [--resources 2 4 6 10] [--count 5] [--against pareto-dp]

Windows of jobs that all fit alone, by three laws: ``normal`` (deviation of 30 % of the mean) and ``uniform`` demands
before a machine on which half of the jobs fit together, which is the hardest share, and ``heavy`` ones (Pareto, 1.2)
before one that holds 40 %. Resources are the objectives. Times are processor time of the call, after warm-up, with
verification. The exit status is 1 where a front is not
complete, the other solver's front differs, 24 jobs with four resources take 0.5 s or more in the median, or a window
of at least 24 jobs takes longer than twice the estimate that sets the limit.
"""

from __future__ import annotations

import argparse
from time import thread_time
from typing import Any

import numpy as np

from transom import Stop, registry
from transom.models import Selection
from transom.rng import stream
from transom.solvers.selection.exhaustive import estimate, largest
from transom.solving import warm_up
from transom.stop import Budget

LAWS = ("normal", "uniform", "heavy")
PROMISE = (24, 4, 0.5)  # jobs, resources, seconds


def window(law: str, jobs: int, resources: int, rng: np.random.Generator) -> Selection:
    """A window by one of the laws, all of whose jobs fit alone."""
    if law == "normal":
        demands = np.maximum(rng.normal(1000, 300, (jobs, resources)), 1).astype(np.int64)
    elif law == "uniform":
        demands = rng.integers(1, 2000, (jobs, resources))
    else:
        demands = (300 * rng.pareto(1.2, (jobs, resources)) + 1).astype(np.int64)
    capacity = (demands.sum(axis=0) * (0.4 if law == "heavy" else 0.5)).astype(np.int64)
    return Selection(np.minimum(demands, capacity), capacity)


def timed(solver: Any, problem: Selection, seconds: float) -> tuple[float, Budget]:
    """Processor time of one call [s], and its budget."""
    budget = Stop(seconds=seconds).start(problem)
    began = thread_time()
    solver(problem, budget, stream(0, solver.name))
    return thread_time() - began, budget


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, nargs="+", default=[12, 16, 20, 24])
    parser.add_argument("--resources", type=int, nargs="+", default=[2, 4, 6, 10])
    parser.add_argument("--count", type=int, default=5, help="windows of each kind")
    parser.add_argument("--seconds", type=float, default=60.0, help="budget of one solve")
    parser.add_argument("--against", help="another exact solver of selections")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    solvers = [registry.make(registry.SOLVERS, "exhaustive:limit=60", Selection)]
    if arguments.against:
        solvers.append(registry.make(registry.SOLVERS, arguments.against, Selection))
    for solver in solvers:
        warm_up(solver, Selection)
    faults: list[str] = []
    names = "".join(f"{solver.name:>12} {'longest':>9}" for solver in solvers)
    print(
        f"{'law':<8} {'jobs':>4} {'resources':>9} {'points':>7} {'portions':>8} {'estimate':>9}{names}   [s], medians"
    )
    for law in LAWS:
        for resources in arguments.resources:
            for jobs in arguments.jobs:
                row(law, jobs, resources, solvers, arguments, faults)
    limits = ", ".join(f"{p}: {largest(p, 512)}" for p in (1, 2, 4, 6, 10, 20))
    print(f"limit of jobs by objectives, with 512 MiB and 30 s: {limits}")
    for fault in faults:
        print(f"WRONG: {fault}")
    raise SystemExit(1 if faults else 0)


def row(
    law: str, jobs: int, resources: int, solvers: list[Any], arguments: argparse.Namespace, faults: list[str]
) -> None:
    """Measure windows of one kind and print a line."""
    rng = np.random.default_rng((arguments.seed, jobs, resources))
    took: list[list[float]] = [[] for _ in solvers]
    points, portions = [], []
    what = f"{law}, {jobs} jobs, {resources} resources"
    for _ in range(arguments.count):
        problem = window(law, jobs, resources, rng)
        problem.warm_up()
        fronts = []
        for times, solver in zip(took, solvers, strict=True):
            seconds, budget = timed(solver, problem, arguments.seconds)
            times.append(seconds)
            if not budget.optimal:
                faults.append(f"{what}: {solver.name} is not complete after {seconds:.1f} s")
                continue
            fronts.append({tuple(value) for value in budget.solution.values.tolist()})
            if solver is solvers[0]:
                points.append(len(budget.solution))
                portions.append(budget.iterations)
        if len(fronts) == 2 and fronts[0] != fronts[1]:
            faults.append(f"{what}: the fronts differ")
    foreseen = estimate(jobs, resources)[0]
    if (jobs, resources) == PROMISE[:2] and np.median(took[0]) >= PROMISE[2]:
        faults.append(f"{what}: {np.median(took[0]):.3f} s in the median")
    if jobs >= PROMISE[0] and max(took[0]) > 2 * foreseen + 0.05:
        faults.append(f"{what}: {max(took[0]):.3f} s, the estimate is {foreseen:.3f} s")
    times_of = "".join(f"{np.median(times):>12.4f} {max(times):>9.4f}" for times in took)
    print(
        f"{law:<8} {jobs:>4} {resources:>9} {np.median(points or [0]):>7.0f} {np.median(portions or [0]):>8.0f}"
        f" {foreseen:>9.3f}{times_of}",
        flush=True,
    )


if __name__ == "__main__":
    main()
