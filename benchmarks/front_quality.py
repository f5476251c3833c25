"""How near the heuristics on fronts come to the true front within a tenth of a second and 0.6 s.

    python -m benchmarks.front_quality                        # random windows of every family
    python -m benchmarks.front_quality TRACE                  # and windows of a replay with further resources
    python -m benchmarks.front_quality TRACE --cpu            # processor time, on a machine that others use too

Windows have 12 to 24 jobs that fit alone and are not decided in advance, 2 to 6 resources, and a true front, by
`exhaustive`, of at least 10 points. Random ones are of all families of `transom generate selection`, capacities a fifth
to three fifths of what all jobs ask for. Those of the trace are the first 50 jobs of the queue and what was free, as
FCFS with EASY backfilling met them; the further resources have truncated normal demands (deviation half the mean) and
the load of the nodes.

The hypervolume is exact, as a share of that of the true front, above the componentwise minimum of the true front minus
1. `bbsched-ga` runs as published (50 generations), and to the end of the time with its last population or with all that
it met as the answer. The exit status is 1 where `nsga2` has less than 98 % of the true hypervolume in the median at the
longest time, or is behind a `bbsched-ga` in the median at any time, or an answer is no front.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from transom import read_swf, registry, simulate, solve
from transom.bench import FrontQuality, quality
from transom.cli.output.console import print_table
from transom.generate import FAMILIES, family_selection, replayed_selections, with_resources
from transom.models import ParetoFront, Selection
from transom.models.selection_reduction import reduce_selection
from transom.rng import stream
from transom.solving import warm_up
from transom.stop import Budget, Stop
from transom.traces import cut

LEAST, MOST = 12, 24
POINTS = 10
RESOURCES = (2, 6)
PROMISED = 0.98
OURS = "nsga2"
THEIRS = ("bbsched-ga", "bbsched-ga:generations=none", "bbsched-ga:generations=none,archive=yes")
HEAD = 50  # jobs of the queue that stand in a window of the trace
EVERY = 6 * 3600  # seconds between two of them at least

Case = tuple[Selection, ParetoFront]


def random_windows(rng: np.random.Generator) -> Iterator[Selection]:
    """Windows of all families in turn, without end."""
    while True:
        for family in FAMILIES:
            jobs = int(rng.integers(LEAST, MOST, endpoint=True))
            resources = int(rng.integers(*RESOURCES, endpoint=True))
            tightness = float(rng.uniform(0.2, 0.6))
            yield family_selection(family, rng, jobs, resources, int(rng.choice([100, 1000])), tightness)


def trace_windows(path: Path, jobs: int, seed: int) -> Iterator[Selection]:
    """Windows of replays with 1 to 5 further resources, in turn."""
    trace = read_swf(path)
    if jobs:
        trace = cut(trace, jobs=jobs)
    replays = []
    for further in range(RESOURCES[0] - 1, RESOURCES[1]):
        laws = ",".join(f"r{r}=[normal:mean=100,deviation=50]" for r in range(1, further + 1))
        workload = with_resources(trace, laws, seed)
        replays.append(replayed_selections(simulate(workload, "fcfs-easy"), EVERY, HEAD, LEAST))
    while replays:
        for replay in list(replays):
            window = next(replay, None)
            if window is None:
                replays.remove(replay)
            else:
                yield window


def cases(windows: Iterator[Selection]) -> Iterator[Case]:
    """Those windows that the promises are about, and their fronts."""
    for problem in windows:
        reduced = reduce_selection(problem)
        if reduced is None or not LEAST <= len(reduced.jobs) <= MOST or problem.trivial() is not None:
            continue
        result = solve(problem, "exhaustive", Stop(seconds=60))
        if result.status == "optimal" and len(result.solution) >= POINTS:
            yield problem, result.solution


def answer(solver: Any, problem: Selection, seconds: float, seed: int, cpu: bool) -> ParetoFront | None:
    """What a solver has to say after so many seconds."""
    budget = Budget(Stop(seconds=seconds), problem, clock=time.process_time if cpu else time.perf_counter)
    solver(problem, budget, stream(seed, solver.name))
    front: ParetoFront | None = budget.solution
    return front


def measure(chosen: Sequence[Case], spec: str, seconds: float, seed: int, cpu: bool) -> list[FrontQuality]:
    """The quality of a solver's answer to each window; an answer that is no front ends the program."""
    solver = registry.make(registry.SOLVERS, spec, Selection)
    warm_up(solver, Selection)
    measured = []
    for number, (problem, true) in enumerate(chosen):
        front = answer(solver, problem, seconds, seed + number, cpu)
        broken = ["there is none"] if front is None else problem.violations(front)
        if front is None or broken:
            sys.exit(f"{spec}, window {number + 1}: its answer is no front: {'; '.join(broken)}")
        measured.append(quality(front, true))
    return measured


def row(spec: str, seconds: float, measured: Sequence[FrontQuality]) -> list[str]:
    """One line of the table."""
    ratio = np.array([each.ratio for each in measured])
    share = np.array([each.share for each in measured])
    return [
        spec,
        f"{seconds:g}",
        *(f"{100 * cut:.2f}" for cut in (np.median(ratio), np.quantile(ratio, 0.1), ratio.min())),
        *(f"{100 * cut:.0f}" for cut in (np.median(share), share.min())),
        f"{np.median([each.epsilon for each in measured]):.4f}",
        f"{np.median([each.igd_plus for each in measured]):.5f}",
    ]


def run(name: str, chosen: Sequence[Case], arguments: argparse.Namespace) -> list[str]:
    """Measure all solvers on some windows and print the table; the promises that do not hold."""
    if not chosen:
        return [f"{name}: there is no such window"]
    sizes = [len(true) for _, true in chosen]
    middle = f"{np.median(sizes):g} in the median"
    title = f"{name}: {len(chosen)} windows, fronts of {min(sizes)} to {max(sizes)} points, {middle}"
    rows, medians = [], {}
    for seconds in arguments.seconds:
        for spec in (OURS, *THEIRS):
            measured = measure(chosen, spec, seconds, arguments.seed, arguments.cpu)
            rows.append(row(spec, seconds, measured))
            medians[spec, seconds] = float(np.median([each.ratio for each in measured]))
    heads = ("solver", "seconds", "hypervolume %", "10 %", "worst", "points found %", "worst", "epsilon", "IGD+")
    print_table(title, heads, rows)
    longest = max(arguments.seconds)
    broken = []
    if medians[OURS, longest] < PROMISED:
        broken.append(f"{name}: {OURS} has {medians[OURS, longest]:.2%} of the hypervolume in {longest:g} s")
    for spec in THEIRS:
        for seconds in arguments.seconds:
            if medians[OURS, seconds] < medians[spec, seconds]:
                broken.append(f"{name}: {OURS} is behind {spec} in {seconds:g} s")
    return broken


def main() -> int:
    """Make the windows, measure, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0] if __doc__ else "", formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("trace", nargs="?", type=Path, help="trace in SWF whose windows are measured too")
    parser.add_argument("--windows", type=int, default=60, help="how many of each kind")
    parser.add_argument("--jobs", type=int, default=5000, help="jobs of the trace, 0 for all")
    parser.add_argument("--seconds", type=float, nargs="+", default=[0.1, 0.6])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", action="store_true", help="seconds of processor time")
    arguments = parser.parse_args()
    warm_up(registry.make(registry.SOLVERS, "exhaustive", Selection))
    kinds = {"random": random_windows(stream(arguments.seed, "front-quality"))}
    if arguments.trace is not None:
        kinds["trace"] = trace_windows(arguments.trace, arguments.jobs, arguments.seed)
    broken: list[str] = []
    for name, windows in kinds.items():
        broken += run(name, list(islice(cases(windows), arguments.windows)), arguments)
    print("\n" + ("\n".join(broken) if broken else "All promises hold."))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
