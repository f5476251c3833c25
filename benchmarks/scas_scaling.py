"""How far ``scas-lagrangian`` gets with many jobs on large systems, and how fast it comes close to its bound.

    python -m benchmarks.scas_scaling [--seeds 20] [--seconds 5] [--figure FILE] [--scaling-seeds 3]
    python -m benchmarks.scas_scaling --early                           # 6,000 nodes at 95 % load, 0.1 s of CPU time

First the families of 20,000 nodes, 5,000 of them idle in fragments: seconds until the answer is within
0.01 % of the proved bound, the gap when time is up, the share that is proved. Then systems of 1,000 to
100,000 nodes, a quarter of them idle, with 5 to 200 jobs that ask for about 60 % of it. One thread, after
compilation; times are those of the solve's own curve, in CPU time with ``--cpu``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any, NamedTuple

import numpy as np

from transom import Stop, registry, solve
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.models import Allocation
from transom.plot.style import new_figure, policy_styles, save, styled, thousands
from transom.result import Result

FAMILIES: dict[str, dict[str, Any]] = {
    "50 jobs around 50, cap 256": {},
    "24 jobs around 120, cap 600": {"jobs": 24, "mean": 120.0, "cap": 600},
    "50 jobs, demand scaled to 95 %": {"mean": 100.0},
    "24 jobs up to 600, demand scaled to 94 %": {"jobs": 24, "mean": 260.0, "cap": 600, "load": 0.94},
}
NODES = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
JOBS = (5, 20, 50, 100, 200)
EARLY: dict[str, Any] = {"nodes": 6_000, "idle": 1_500, "jobs": 24, "mean": 100.0, "cap": 300, "load": 0.95}
EARLY_SOLVERS = ("scas-lagrangian", "auto", "dp-polish", "sa:repair=cheapest,restarts=yes")
Clock = Callable[[], float]
CLOSE = 1e-4  # of the cost: 0.01 %


class Row(NamedTuple):
    """What a group of solves came to: seconds to 0.01 % (median, worst), the worst gap, the share proved."""

    median: float
    worst: float
    gap: float
    proved: float


def close_at(result: Result) -> float:
    """Seconds until value and bound are within 0.01 %; infinite if they never were."""
    for seconds, value, bound in result.curve:
        if value is not None and bound is not None and value - bound <= CLOSE * abs(value):
            return seconds
    return math.inf


def measure(problems: Sequence[Allocation], seconds: float, clock: Clock = perf_counter) -> Row:
    """Solve each problem once."""
    results = [solve(problem, "scas-lagrangian", Stop(seconds=seconds), clock=clock) for problem in problems]
    for result in results:
        if result.error:
            raise RuntimeError(result.error)
    times = [close_at(result) for result in results]
    gaps = [result.gap or 0.0 for result in results]
    return Row(
        float(np.median(times)),
        max(times),
        max(gaps),
        sum(result.status == "optimal" for result in results) / len(results),
    )


def scaled(nodes: int, jobs: int, seed: int) -> Allocation | None:
    """A system of so many nodes and jobs, its median size chosen so that 60 % of the idle nodes are asked for."""
    idle = nodes // 4
    median = 0.6 * idle / jobs / math.exp(0.7**2 / 2)
    if median < 3:
        return None
    rng = np.random.default_rng((nodes, jobs, seed))
    cap = max(8, min(idle // 2, int(8 * median)))
    return fragmented_allocation(rng, Fragments(nodes, idle, jobs, median, cap))


def seconds_text(seconds: float) -> str:
    """Seconds for a table."""
    return "-" if math.isinf(seconds) else f"{seconds:.3f}"


def family_table(seeds: int, seconds: float, clock: Clock = perf_counter) -> list[str]:
    """The named families in Markdown."""
    rows = [
        f"20,000 nodes, 5,000 idle, {seeds} seeds, {seconds:g} s each",
        "",
        "| family | median to 0.01 % [s] | worst [s] | worst gap at the end | proved |",
        "|---|---:|---:|---:|---:|",
    ]
    for name, given in FAMILIES.items():
        drawn = [fragmented_allocation(np.random.default_rng(seed), Fragments(**given)) for seed in range(seeds)]
        row = measure(drawn, seconds, clock)
        rows.append(
            f"| {name} | {seconds_text(row.median)} | {seconds_text(row.worst)} | {row.gap:.1e} | {row.proved:.0%} |"
        )
    return rows


def early_table(seeds: int, seconds: float) -> list[str]:
    """Mean and worst distance from the best known after a short budget of CPU time, in Markdown."""
    problems = [fragmented_allocation(np.random.default_rng(seed), Fragments(**EARLY)) for seed in range(seeds)]
    values = {
        solver: [solve(problem, solver, Stop(seconds=seconds), clock=process_time).value for problem in problems]
        for solver in EARLY_SOLVERS
    }
    longer = [solve(problem, "scas-lagrangian", Stop(seconds=3.0), clock=process_time).value for problem in problems]
    best = np.min([*values.values(), longer], axis=0)
    rows = [
        f"6,000 nodes at 95 % load, {seeds} seeds, {seconds:g} s of CPU time: above the best known",
        "",
        "| solver | mean | worst |",
        "|---|---:|---:|",
    ]
    for solver, reached in values.items():
        above = np.array(reached) / best - 1
        rows.append(f"| {solver} | {above.mean():.2%} | {above.max():.2%} |")
    return rows


def scaling(seeds: int, seconds: float) -> dict[tuple[int, int], Row]:
    """Measurements by nodes and jobs; combinations whose jobs would be smaller than three nodes are left out."""
    measured = {}
    for nodes in NODES:
        for jobs in JOBS:
            problems = [problem for seed in range(seeds) if (problem := scaled(nodes, jobs, seed)) is not None]
            if problems:
                measured[nodes, jobs] = measure(problems, seconds)
    return measured


def scaling_table(measured: dict[tuple[int, int], Row], seeds: int, seconds: float) -> list[str]:
    """The scaling in Markdown: median seconds to 0.01 %, and the worst gap where some never came so close."""
    rows = [
        f"Median seconds to 0.01 %, {seeds} seeds, {seconds:g} s each; the worst gap where one did not come so close",
        "",
        "| nodes | " + " | ".join(f"{jobs} jobs" for jobs in JOBS) + " |",
        "|---:|" + "---:|" * len(JOBS),
    ]
    for nodes in NODES:
        cells = []
        for jobs in JOBS:
            row = measured.get((nodes, jobs))
            cell = "" if row is None else seconds_text(row.median)
            cells.append(cell if row is None or row.gap <= CLOSE else f"{cell} ({row.gap:.1e})")
        rows.append(f"| {nodes:,} | " + " | ".join(cells) + " |")
    return rows


@styled
def draw(measured: dict[tuple[int, int], Row], path: Path) -> None:
    """Median seconds to 0.01 % against nodes, a line for each number of jobs."""
    figure = new_figure(3.0, 4.6)
    axes = figure.add_subplot()
    styles = policy_styles([str(jobs) for jobs in JOBS])
    for jobs in JOBS:
        points = [(nodes, row.median) for (nodes, of), row in measured.items() if of == jobs and row.median < math.inf]
        if points:
            axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=f"{jobs} jobs", **styles[str(jobs)])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks(NODES)
    axes.minorticks_off()
    thousands(axes.xaxis)
    thousands(axes.yaxis)
    axes.set_xlabel("nodes, a quarter of them idle")
    axes.set_ylabel("seconds to 0.01 % of the bound")
    axes.grid(True, axis="y")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(JOBS), columnspacing=1.0, handlelength=1.5)
    save(figure, path)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="instances of each named family")
    parser.add_argument("--seconds", type=float, default=5.0, help="budget of one solve of a named family")
    parser.add_argument("--scaling-seeds", type=int, default=3, help="instances of each size; 0 leaves scaling out")
    parser.add_argument("--scaling-seconds", type=float, default=10.0, help="budget of one solve of the scaling")
    parser.add_argument("--figure", type=Path, help="PNG, PDF or SVG of the scaling")
    parser.add_argument("--cpu", action="store_true", help="budgets and times of the families in CPU time")
    parser.add_argument("--early", action="store_true", help="only what 0.1 s are worth")
    arguments = parser.parse_args()
    if arguments.early:
        print("\n".join(early_table(arguments.seeds, 0.1)))
        return
    registry.make(registry.SOLVERS, "scas-lagrangian", Allocation).warm_up()
    print("\n".join(family_table(arguments.seeds, arguments.seconds, process_time if arguments.cpu else perf_counter)))
    if arguments.scaling_seeds:
        measured = scaling(arguments.scaling_seeds, arguments.scaling_seconds)
        print("\n" + "\n".join(scaling_table(measured, arguments.scaling_seeds, arguments.scaling_seconds)))
        if arguments.figure:
            draw(measured, arguments.figure)


if __name__ == "__main__":
    main()
