"""What planning and keeping 100,000 runs cost, without the runs themselves.

    python -m benchmarks.store_rate
    python -m benchmarks.store_rate --rows 20000

Carries out a plan over generated knapsacks with an engine that answers at once, each row with a curve of 20 points.
Prints the rows kept a second, with the resident memory of the process after 1,000, 10,000 and 100,000 rows; then how
long the same command takes to find that nothing is left to do, how long reading takes, and the bytes of a row.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from transom.bench.plan.plan import InstanceSet, Plan
from transom.bench.plan.provenance import provenance
from transom.bench.plan.task import Row, Task
from transom.bench.run.running import Summary, run_plan
from transom.bench.store.store import read_results

SEEDS = 100
CURVE = tuple((0.05 * i, 1000.0 + i, None) for i in range(20))


class Instant:
    """An engine whose runs take no time."""

    workers = 1

    def run(self, tasks: Iterator[Task]) -> Iterator[Row]:
        """A row for each task."""
        for task in tasks:
            yield Row(
                **provenance(task), sense="max", size=50, outcome="ok", status="feasible", value=1019.0, curve=CURVE
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows

    instances = InstanceSet(generate="knapsack", count=max(1, rows // SEEDS))
    plan = Plan(instances=(instances,), solvers=("greedy",), seeds=tuple(range(SEEDS)), seconds=(1.0,))
    me, begun = psutil.Process(), time.perf_counter()

    def tell(summary: Summary) -> None:
        if summary.done in (0, 1_000, 10_000, summary.todo):
            seconds, memory = time.perf_counter() - begun, me.memory_info().rss / 2**20
            print(f"{summary.done:,} rows after {seconds:.1f} s: {memory:.0f} MiB resident", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        summary = run_plan(plan, folder, Instant(), progress=tell)
        seconds = time.perf_counter() - begun
        print(f"{summary.done:,} rows in {seconds:.1f} s: {1000 * seconds / summary.done:.3f} ms a row")
        begun = time.perf_counter()
        assert run_plan(plan, folder, Instant()).done == 0
        print(f"nothing left to do: found out in {time.perf_counter() - begun:.1f} s")
        begun = time.perf_counter()
        table = read_results(folder)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())
        print(f"{len(table):,} rows read in {time.perf_counter() - begun:.2f} s; {size / len(table):.0f} bytes a row")


if __name__ == "__main__":
    main()
