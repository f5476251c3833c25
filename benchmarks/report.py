"""The report of a large store: seconds, size of the page, memory.

``python -m benchmarks.report [RUNS]`` makes up so many runs (100,800 by default) and prints one line.
"""

from __future__ import annotations

import resource
import sys
from time import perf_counter

from tests.report.rows import solves
from transom.bench.store.frame import to_frame
from transom.report import render

_INSTANCES, _PROBLEMS, _BUDGETS = 100, 3, (0.1, 1.0)
_CURVE = tuple((0.001 * step, 900.0 + step, 2000.0 - step) for step in range(1, 30))


def main() -> None:
    """Make the rows, then the page, and measure the second."""
    import polars as pl

    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 100_800
    seeds = max(1, wanted // (_INSTANCES * _PROBLEMS * len(_BUDGETS) * 3))
    # One problem at a time: as objects, the rows are many times as large as their table.
    frame = pl.concat(
        [to_frame(solves(_INSTANCES, seeds, _BUDGETS, f"kind{i}", curve=_CURVE)) for i in range(_PROBLEMS)]
    )
    begun = perf_counter()
    page = render(frame)
    seconds = perf_counter() - begun
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = len(page.html.encode()) / 2**20
    print(f"{len(frame):,} runs: page of {size:.1f} MiB in {seconds:.0f} s, {memory:.0f} MiB of memory")


if __name__ == "__main__":
    main()
