"""What Dask adds to a run, and how much faster several workers are.

    python -m benchmarks.scale_out
    python -m benchmarks.scale_out --runs 2000 --iterations 100000 --workers 1 2 3 8

First short runs (5 ms) on as many workers of either engine: runs a second, and what of a worker's time is not the run
itself. Then runs under an iteration budget on a Dask cluster of one worker and of several: runs a second, and the
speed-up. The start of workers, their imports and first compilations are left out: the clock starts with the row after
the first twenty of each worker. Times are on this machine at this moment.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator

import msgspec

from benchmarks.bench_overhead import tasks
from transom.bench.plan.task import Row, Task
from transom.bench.run.dask_cluster import Cluster
from transom.bench.run.dask_engine import DaskEngine
from transom.bench.run.engine import Engine
from transom.bench.run.local_engine import LocalEngine
from transom.stop import Stop

_WARM = 20  # rows of each worker before the clock starts


def measured(engine: Engine, runs: Iterator[Task], workers: int) -> tuple[float, float]:
    """Runs a second, and the mean time of a worker for each run beside the run itself [s]."""
    rows: list[Row] = []
    begun = 0.0
    for count, row in enumerate(engine.run(runs), 1):
        if row.outcome != "ok":
            raise SystemExit(f"a run failed: {row.cause}")
        if count > _WARM * workers:
            rows.append(row)
        elif count == _WARM * workers:
            begun = time.perf_counter()
    seconds = time.perf_counter() - begun
    used = sum(row.wall or 0.0 for row in rows)
    return len(rows) / seconds, (seconds * workers - used) / len(rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", type=int, default=200, help="short runs")
    parser.add_argument("--runs", type=int, default=200, help="runs under an iteration budget")
    parser.add_argument("--iterations", type=int, default=20_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 3])
    options = parser.parse_args()

    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    most = 2
    engines: dict[str, Engine] = {"local": LocalEngine(most), "dask": DaskEngine(Cluster("dask", most))}
    for name, engine in engines.items():
        rate, beside = measured(engine, tasks(options.short, 0.005), most)
        print(f"{name}, {most} workers, runs of 5 ms: {rate:,.0f} a second, {beside * 1e3:.1f} ms beside each run")
    one = 0.0
    for workers in options.workers:
        plan = (
            msgspec.structs.replace(each, stop=Stop(iterations=options.iterations)) for each in tasks(options.runs, 1.0)
        )
        rate, beside = measured(DaskEngine(Cluster("dask", workers)), plan, workers)
        one = one or rate / workers
        print(f"dask, {workers} workers, {options.iterations:,} iterations: {rate:,.1f} a second, x {rate / one:.2f}")


if __name__ == "__main__":
    main()
