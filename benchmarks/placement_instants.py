"""How much of the scheduling instants of a file of tasks is proved, and how fast.

    python -m benchmarks.placement_instants TASKS.csv.gz --seconds 0.1 --solver placement-exact --solver cpsat

Chunks of ten consecutive jobs are replayed first-fit on machines that are empty at first, as DeepJS was. Each instant
at which something waits and something fits is a window; of all of them a sample is solved for the area that it places,
with the CPU time of the process as the clock. ``settled`` are windows that need no solver: everything fits. Gaps are to
the best bound that a solver of the same run proves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import numpy as np

from transom import Stop, check, registry, solve
from transom.generate.instances.placements import replayed_windows
from transom.models import Placement
from transom.result import Result
from transom.solving import warm_up
from transom.traces.tasks import parse_machines, read_tasks

SOLVERS = ("placement-exact", "cpsat", "scip", "local-search", "greedy", "first-fit", "tetris", "longest-first")


def instants(path: Path, machines: str, every: int) -> list[Placement]:
    """The windows of every so many chunks."""
    workload = read_tasks(path, parse_machines(machines.split()))
    chunks = list(workload.chunks(10))[::every]
    return [window.placement("area", False) for chunk in chunks for window in replayed_windows(chunk, "first-fit")]


def solved(problems: Sequence[Placement], spec: str, seconds: float) -> tuple[list[Result], list[float]]:
    """What a solver makes of each window, and its CPU time [s]."""
    solver = registry.make(registry.SOLVERS, spec, Placement)
    warm_up(solver)
    found, took = [], []
    for problem in problems:
        began = process_time()
        result = solve(problem, solver, Stop(seconds=seconds), clock=process_time)
        took.append(process_time() - began)
        if wrong := check(problem, result):
            raise SystemExit(f"{spec}: {wrong[0]}")
        found.append(result)
    return found, took


def main() -> None:
    """Solve a sample and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("--machines", default="count=5,cpu=64,memory=1")
    parser.add_argument("--every", type=int, default=10, help="one of so many chunks")
    parser.add_argument("--sample", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--solver", action="append")
    given = parser.parse_args()
    windows = instants(given.tasks, given.machines, given.every)
    open_ = [problem for problem in windows if problem.trivial() is None]
    chosen = np.random.default_rng(0).choice(len(open_), min(given.sample, len(open_)), replace=False)
    problems = [open_[i] for i in sorted(chosen.tolist())]
    tasks = np.array([len(problem) for problem in problems])
    print(
        f"{len(windows):,} instants, {len(windows) - len(open_):,} settled; {len(problems):,} of the others, with "
        f"{np.median(tasks):.0f} tasks in the median, {tasks.max()} at most; {given.seconds} s of CPU time each\n"
    )
    runs = {spec: solved(problems, spec, given.seconds) for spec in given.solver or SOLVERS}
    bounds = np.min(
        [[np.inf if each.bound is None else each.bound for each in found] for found, _ in runs.values()], axis=0
    )
    print("| solver | proved | median [ms] | 95 % [ms] | 99 % [ms] | mean gap [%] | largest gap [%] |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for spec, (found, took) in runs.items():
        proved = np.mean([each.status == "optimal" for each in found])
        gaps = 100 * (bounds - [each.value for each in found]) / bounds
        times = " | ".join(f"{1000 * time:.1f}" for time in np.percentile(took, (50, 95, 99)))
        print(f"| `{spec}` | {100 * proved:.1f} % | {times} | {gaps.mean():.3f} | {gaps.max():.2f} |")


if __name__ == "__main__":
    main()
