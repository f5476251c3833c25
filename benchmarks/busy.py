"""What other work on the machine costs solvers that have a budget of CPU time: nothing, or they read another clock.

    python -m benchmarks.busy                                  # solvers that ask a worker or a library with a limit
    python -m benchmarks.busy --loops 4 --windows 6 --solver scas-flow

Every window is solved without and with loops beside it that do nothing but work, in turn. Prints of each solver and
budget how many windows are proved without and with them, the share of the budget that runs without a proof used
(their median, CPU time of workers included), and the mean gap of the values to the best known of the window.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import process_time
from typing import Any

import numpy as np

from transom import Stop, solve
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Allocation, ConstrainedPath, Knapsack
from transom.result import Result

CASES = {"scas-flow": (0.2, 0.5), "csp-flow": (0.2, 0.5), "ortools-knapsack": (0.2, 0.5)}


@contextmanager
def company(loops: int) -> Iterator[None]:
    """So many busy processes beside the block."""
    ready = "import sys; sys.stdout.write('r'); sys.stdout.flush()\nwhile True: pass"
    beside = [subprocess.Popen([sys.executable, "-c", ready], stdout=subprocess.PIPE) for _ in range(loops)]
    try:
        for each in beside:
            assert each.stdout is not None
            each.stdout.read(1)
        yield
    finally:
        for each in beside:
            each.kill()
            each.wait()


def windows(solver: str, count: int) -> Iterator[Any]:
    """Problems of which some take longer than the budgets."""
    for seed in range(count):
        rng = np.random.default_rng((51, seed))
        if solver == "ortools-knapsack":
            yield generate_knapsack("strongly-correlated", 30 + 3 * seed, 1000, rng)
        else:
            window = fragmented_allocation(rng, Fragments(1200 + 100 * seed, 400 + 30 * seed, 12, 18.0, 90))
            yield window if solver == "scas-flow" else ConstrainedPath.from_allocation(window)


def line(solver: str, seconds: float, alone: list[Result], busy: list[Result]) -> str:
    """A row of the table."""
    maximise = solver == "ortools-knapsack"
    told = []
    for runs in (alone, busy):
        proved = sum(each.status == "optimal" for each in runs)
        used = [each.seconds / seconds for each in runs if each.status != "optimal"]
        gaps = []
        for each, pair in zip(runs, zip(alone, busy, strict=True), strict=True):
            values = [one.value for one in pair if one.value is not None]
            if each.value is not None:
                best = max(values) if maximise else min(values)
                gaps.append(100 * abs(each.value - best) / max(abs(best), 1e-9))
        share = f"{np.median(used):.2f}" if used else "-"
        told.append(f"{proved:>3} of {len(runs):<3} {share:>5} {np.mean(gaps) if gaps else np.nan:>9.3f} %")
    return f"{solver:<18}{seconds:>6g}   {told[0]}     {told[1]}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loops", type=int, default=2)
    parser.add_argument("--windows", type=int, default=12)
    parser.add_argument("--solver", action="append", choices=list(CASES))
    arguments = parser.parse_args()
    print(f"{'':<18}{'budget':>6}   {'alone: proved, used, gap':<27}    with {arguments.loops} busy loops")
    for solver in arguments.solver or CASES:
        problems: list[Allocation | ConstrainedPath | Knapsack] = list(windows(solver, arguments.windows))
        for seconds in CASES[solver]:
            found = []
            for loops in (0, arguments.loops):
                with company(loops):
                    runs = [solve(each, solver, Stop(seconds=seconds), clock=process_time) for each in problems]
                found.append(runs)
            print(line(solver, seconds, *found), flush=True)


if __name__ == "__main__":
    main()
