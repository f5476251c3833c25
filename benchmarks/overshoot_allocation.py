"""CPU time that solvers of allocations and paths use after their deadline, on systems of up to 100,000 nodes.

    python -m benchmarks.overshoot_allocation
    python -m benchmarks.overshoot_allocation --nodes 100000 --seconds 0.01 --solver csp-flow --solver auto

A quarter of the nodes is idle, in fragments; ``--jobs`` jobs ask for up to 95 % of them, under each rule and as a
path. Every solver that takes the problem gets the budgets; ``--all`` prints every run, else the worst of each solver,
number of nodes and budget. Budgets are of CPU time, that of worker processes included. The exit status is 1 where
the CPU time after the deadline is above 50 ms + 5 % of the budget, a solver fails, or a result says that its time was
up before 95 % of it.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from benchmarks.overshoot import allowance
from transom import Stop, registry, solve
from transom._system.cpu_clock import cpu_time
from transom.errors import SpecError
from transom.generate.instances.fragmented import Fragments, fragmented_allocation
from transom.models import Allocation, ConstrainedPath
from transom.result import Result
from transom.solvers.backends.native import run_deferred
from transom.solving import Solver, refusal, warm_up


class Watch:
    """A clock of CPU time, that of workers included, which knows how much is used after the deadline.

    Parameters
    ----------
    seconds : the budget [s].
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._deadline: float | None = None

    def __call__(self) -> float:
        """The time [s]; the first call starts the budget."""
        now = cpu_time()
        if self._deadline is None:
            self._deadline = now + self._seconds
        return now

    def after(self) -> float:
        """CPU time used after the deadline [s], negative where the run ended before."""
        assert self._deadline is not None
        return cpu_time() - self._deadline


class Run(NamedTuple):
    """One run: CPU time after the deadline [s], that of searches left behind and of freeing, and what came out."""

    over: float
    left: float
    result: Result

    @property
    def early(self) -> bool:
        """Whether the result says that the time was up before 95 % of it."""
        return self.result.reason == "time" and self.result.seconds < 0.95 * (self.result.stop.seconds or 0.0)


def problems(nodes: int, jobs: int) -> list[Allocation | ConstrainedPath]:
    """One window under each rule, and as a path."""
    rng = np.random.default_rng((nodes, jobs))
    idle = nodes // 4
    median = 1.2 * idle / jobs / np.exp(0.7**2 / 2)
    system = Fragments(nodes, idle, jobs, median, max(8, min(idle // 2, int(8 * median))))
    static = fragmented_allocation(rng, system)
    return [static, static.with_rule("dynamic"), static.with_rule("free"), ConstrainedPath.from_allocation(static)]


def solvers(problem: Allocation | ConstrainedPath, only: list[str]) -> list[Solver]:
    """The solvers that take a problem; those whose packages are missing are left out."""
    found = []
    for name in registry.names(registry.SOLVERS):
        if only and name not in only:
            continue
        try:
            solver: Solver = registry.make(registry.SOLVERS, name, type(problem))
        except SpecError:
            continue
        if refusal(solver, problem) is None:
            found.append(solver)
    return found


def run(solver: Solver, problem: Allocation | ConstrainedPath, seconds: float) -> Run:
    """Solve under a watch."""
    warm_up(solver, Allocation)
    gc.collect()  # garbage of the runs before is not this one's
    watch = Watch(seconds)
    result = solve(problem, solver, Stop(seconds=seconds), clock=watch)
    over = watch.after()
    run_deferred()
    return Run(over, watch.after() - over if over > 0 else 0.0, result)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, action="append")
    parser.add_argument("--jobs", type=int, action="append")
    parser.add_argument("--seconds", type=float, action="append")
    parser.add_argument("--solver", action="append", default=[])
    parser.add_argument("--rule", action="append", default=[], choices=("scas", "dcas", "free", "csp"))
    parser.add_argument("--all", action="store_true", help="print every run")
    options = parser.parse_args()
    worst: dict[tuple[str, int, float], list[Run]] = defaultdict(list)
    good = True
    title = f"{'solver':<16}{'nodes':>8}{'budget [s]':>11}{'after [ms]':>11}{'allowed':>8}{'left [ms]':>10}  problem"
    print(title, flush=True)
    for nodes in options.nodes or [1_000, 10_000, 100_000]:
        for jobs in options.jobs or [20, 100]:
            for problem in problems(nodes, jobs):
                if options.rule and problem.kind not in options.rule:
                    continue
                for solver in solvers(problem, options.solver):
                    for seconds in options.seconds or [0.01, 0.1, 1.0, 5.0]:
                        found = run(solver, problem, seconds)
                        worst[solver.name, nodes, seconds].append(found)
                        broken = found.over > allowance(seconds) or found.early or found.result.error is not None
                        good &= not broken
                        if options.all or broken:
                            print(f"{line(found, nodes)}, {jobs} jobs", flush=True)
    print(f"\nworst of each\n{title}")
    for (_, nodes, _), of in worst.items():
        print(line(max(of, key=lambda run: run.over), nodes))
    sys.exit(0 if good else 1)


def line(run: Run, nodes: int) -> str:
    """A run as a line of the table."""
    result, seconds = run.result, run.result.stop.seconds or 0.0
    marks = " !" * (run.over > allowance(seconds)) + " early" * run.early
    if result.error is not None:
        marks += f" {result.error}"
    text = f"{result.problem}, {result.status}, {result.reason} after {result.seconds:.3f} s{marks}"
    times = f"{1000 * run.over:>11.1f}{1000 * allowance(seconds):>8.0f}{1000 * run.left:>10.1f}"
    return f"{result.solver:<16}{nodes:>8}{seconds:>11g}{times}  {text}"


if __name__ == "__main__":
    main()
