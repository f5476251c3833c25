"""The dynamic rule's optimum: share proved, times, and how far below the static optimum it is.

    python -m benchmarks.dcas WINDOWS.jsonl.gz ... [--cost-model authors] [--seconds 10]
    python -m benchmarks.dcas WINDOWS.jsonl.gz ... --jobs 6 --load 0.6 --count 50 [--seed 0]

With ``--jobs`` windows of so many jobs are drawn: idle nodes of a random window of the files, sizes uniform from 2
to 40, again and again until they ask for at least ``--load`` of the idle nodes and not for more than all.

Times are of the call of ``dcas-exact`` alone, after warm-up. The exit status is 1 where an answer is not what it
claims to be, or costs more than the static optimum.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np

from transom import Stop
from transom.io.instances import ReadOptions, read_instances
from transom.models import Allocation
from transom.solvers.allocation.dcas.exact import DcasExact
from transom.solvers.allocation.scas_dp import static_optimum


def drawn(windows: Sequence[Allocation], jobs: int, load: float, count: int, seed: int) -> Iterator[Allocation]:
    """Windows of ``jobs`` jobs that ask for at least a share ``load`` of the idle nodes."""
    rng = np.random.default_rng(seed)
    found = 0
    while found < count:
        window = windows[int(rng.integers(len(windows)))]
        sizes = rng.integers(2, 41, jobs)
        if load * len(window.idle) <= sizes.sum() <= len(window.idle):
            yield Allocation(window.tree, window.idle, sizes, "dynamic", window.wrap, window.cost)
            found += 1


def run(problems: Sequence[Allocation], seconds: float) -> list[str]:
    """Solve all windows and print what the module says; what is wrong."""
    solver, rng = DcasExact(), np.random.default_rng(0)
    solver.warm_up()
    took: dict[str, list[float]] = {"wall clock": [], "this thread": []}
    below: list[float] = []
    wrong: list[str] = []
    proved = 0
    for number, problem in enumerate(problems, 1):
        static = static_optimum(problem, 512)
        budget = Stop(seconds=seconds).start(problem)
        began, worked = perf_counter(), thread_time()
        solver(problem, budget, rng)
        took["wall clock"].append(perf_counter() - began)
        took["this thread"].append(thread_time() - worked)
        proved += budget.optimal
        if budget.value is None or (budget.bound is not None and budget.bound > budget.value):
            wrong.append(f"window {number}: value {budget.value}, bound {budget.bound}")
        elif static is not None:
            below.append(1 - budget.value / static[1] if static[1] else 0.0)
            if below[-1] < -1e-12:
                wrong.append(f"window {number}: {budget.value} is above the static optimum, {static[1]}")
    print(f"{proved} of {len(problems)} proved")
    print(f"{'ms':<14}{'median':>10}{'90 %':>10}{'99 %':>10}{'max':>10}")
    for clock, times in took.items():
        cuts = (np.median(times), np.quantile(times, 0.9), np.quantile(times, 0.99), max(times))
        print(f"{clock:<14}" + "".join(f"{1000 * cut:>10.2f}" for cut in cuts))
    if below:
        better = np.array(below) > 1e-9
        print(f"below the static optimum: {100 * np.mean(below):.2f} % on average, in {100 * better.mean():.1f} %")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="windows of a topology-aware stream")
    parser.add_argument("--cost-model", default="authors")
    parser.add_argument("--seconds", type=float, default=10.0, help="limit of one call")
    parser.add_argument("--jobs", type=int, help="draw windows of so many jobs")
    parser.add_argument("--load", type=float, default=0.6, help="least share of the idle nodes they ask for")
    parser.add_argument("--count", type=int, default=50, help="how many to draw")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    wrong: list[str] = []
    windows: list[Allocation] = []
    for file in args.files:
        problems = [problem for _, problem in read_instances([file], ReadOptions("dcas", cost_model=args.cost_model))]
        problems = [problem for problem in problems if problem.trivial() is None]
        windows += problems
        if args.jobs is None:
            print(f"\n{file.name}, cost model {args.cost_model}")
            wrong += run(problems, args.seconds)
    if args.jobs is not None:
        if not any(2 * args.jobs <= len(window.idle) <= 40 * args.jobs / args.load for window in windows):
            parser.error("no window has idle nodes for so many jobs at this load")
        print(f"{args.count} windows of {args.jobs} jobs, load {args.load:g} to 1, cost model {args.cost_model}")
        wrong += run(list(drawn(windows, args.jobs, args.load, args.count, args.seed)), args.seconds)
    print(*wrong, sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
