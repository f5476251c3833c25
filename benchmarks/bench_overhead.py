"""What the bench costs beside the runs themselves.

    python -m benchmarks.bench_overhead                       # 200 runs of 5 ms on 2 workers
    python -m benchmarks.bench_overhead --rows 1000 --milliseconds 1
    python -m benchmarks.bench_overhead --handing             # what it costs to hand answers over while a run goes on

Prints the time before the first row, the parts of a row: the run, its warm-up (imports, kernels) and the overhead (its
process, decoding, judging), the time of everything, and the resident memory of the bench after 100, 1,000 and 10,000
rows. Times are on this machine at this moment.
With ``--handing``: CPU time of a solve that hands over what it finds, over that of one that does not, for solvers that
find a little and those that find very much.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import psutil

from transom.bench.plan.task import Task
from transom.bench.run.incumbents import Incumbents, handed_over
from transom.bench.run.local_engine import LocalEngine
from transom.generate.instances.knapsacks import generate_knapsack
from transom.io.documents import encode
from transom.models import Selection
from transom.rng import stream
from transom.solving import solve
from transom.stop import Stop

RUNS_OF_ONE = 10


def tasks(rows: int, seconds: float) -> Iterator[Task]:
    """Runs of annealing, which uses up its budget, ten on each knapsack of 100 items."""
    for i in range(0, rows, RUNS_OF_ONE):
        problem = generate_knapsack("strongly-correlated", 100, 1000, stream(i, "overhead"))
        document = msgspec.Raw(encode(problem))
        for seed in range(min(RUNS_OF_ONE, rows - i)):
            yield Task(
                set="overhead",
                label=f"overhead:{i}",
                document=document,
                instance=problem.digest(),
                problem=problem.kind,
                name="sa",
                spec="sa",
                stop=Stop(seconds=seconds),
                seed=seed,
            )


def handing(pairs: int) -> None:
    """Solve the same instances with and without handing over, in turn, and print the ratio of CPU times."""
    cases: list[tuple[str, Any, Stop]] = [
        ("sa", generate_knapsack("strongly-correlated", 100, 1000, stream(0, "overhead")), Stop(iterations=20_000)),
        ("ga", generate_knapsack("strongly-correlated", 2000, 1000, stream(1, "overhead")), Stop(iterations=200)),
        ("nsga2", generate_selection(60), Stop(iterations=60)),
    ]
    for solver, problem, stop in cases:
        ratios, found, written = [], 0, 0
        for seed in range(pairs + 1):
            times = []
            with tempfile.TemporaryDirectory() as folder:
                for report in (None, Incumbents(Path(folder)).report):
                    begun = time.process_time()
                    result = solve(problem, solver, stop, seed, report=report)
                    times.append(time.process_time() - begun)
                curve = handed_over(Path(folder)).curve
            if seed:  # the first pair compiles
                ratios.append(times[1] / times[0])
                found, written = found + len(result.curve), written + len(curve)
        print(
            f"{solver:<6} CPU time x {np.median(ratios):.3f} (median of {pairs} pairs), {found / pairs:,.0f} steps "
            f"of a curve, {written / pairs:,.0f} of them handed over by the end of the call",
            flush=True,
        )


def generate_selection(jobs: int) -> Selection:
    """A selection of so many jobs with three objectives."""
    rng = stream(2, "overhead")
    return Selection(rng.integers(1, 100, (jobs, 3)), np.full(3, 25 * jobs))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--milliseconds", type=float, default=5.0, help="budget of a run")
    parser.add_argument("--handing", action="store_true", help="measure what handing answers over costs")
    parser.add_argument("--pairs", type=int, default=15, help="solves with and without it")
    options = parser.parse_args()
    if options.handing:
        handing(options.pairs)
        return

    me = psutil.Process()
    parts: dict[str, list[float]] = {"wall": [], "cold": [], "overhead": []}
    failed = 0
    begun = time.perf_counter()
    first = 0.0
    for done, row in enumerate(
        LocalEngine(options.workers).run(tasks(options.rows, options.milliseconds / 1000)), start=1
    ):
        if done == 1:
            first = time.perf_counter() - begun
        failed += row.outcome != "ok"
        for part, times in parts.items():
            times.append(1000 * (getattr(row, part) or 0.0))
        if done in (100, 1000, 10_000):
            print(f"after {done:>6,} rows: {me.memory_info().rss / 2**20:7.1f} MiB resident in the bench", flush=True)
    took = time.perf_counter() - begun
    print(f"{options.rows:,} runs on {options.workers} workers: {took:.1f} s, {failed} failed; first row {first:.1f} s")
    for name, times in parts.items():
        middle, high, worst = np.percentile(times, (50, 99, 100))
        print(f"{name:<9} median {middle:6.2f} ms, 99th percentile {high:6.2f} ms, worst {worst:6.2f} ms")


if __name__ == "__main__":
    main()
