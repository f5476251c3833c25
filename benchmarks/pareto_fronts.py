"""Whether pareto-dp reproduces published fronts, and how long it takes for them and for windows of a trace.

    python -m benchmarks.pareto_fronts --mokp FOLDER             # *.dat, compared with *.front.txt where there is one
    python -m benchmarks.pareto_fronts --trace TRACE.swf.gz      # windows with further resources
    python -m benchmarks.pareto_fronts --random 20               # fresh knapsacks, against the full recursion

Windows are jobs that follow each other in the trace, with the normal law for further resources. ``idle`` ones stand
before an idle machine of which each resource covers half of what the window asks for: every job that is no larger than
that undecided. ``cut`` ones stand before one on which earlier jobs run. The exit status is 1 where a front differs.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from transom import Stop, check, read_swf, registry, solve
from transom.generate.demands.resources import with_resources
from transom.generate.instances.windows import random_windows
from transom.io.mokp import read_mokp
from transom.models import Selection
from transom.models.pareto_front import nondominated
from transom.models.selection_reduction import reduce_selection
from transom.solving import warm_up
from transom.traces import Workload

LIMITS = (0.6, 5.0, 30.0)


def published(folder: Path, spec: str) -> bool:
    """Solve the files of a folder and compare with published fronts beside them; values in those are negated.

    Files with two capacities are left out: the solver takes one.
    """
    right, took = True, []
    print(f"{'instance':<20} {'jobs':>5} {'terms':>5} {'points':>6} {'seconds':>8}")
    for path in sorted(folder.glob("*.dat")):
        problem = read_mokp(path)
        if len(problem.capacity) > 1:
            continue
        result = solve(problem, spec, Stop(seconds=600))
        took.append(result.seconds)
        right &= result.status == "optimal" and not check(problem, result)
        verdict = "complete" if result.status == "optimal" else "not complete"
        if (beside := path.with_suffix(".front.txt")).exists():
            lines = beside.read_text(encoding="utf-8").splitlines()
            expected = {tuple(abs(int(float(number))) for number in line.split()) for line in lines if line.strip()}
            equal = {tuple(value) for value in result.solution.values.tolist()} == expected
            right &= equal
            verdict += ", equal" if equal else ", DIFFERS"
        print(
            f"{path.stem:<20} {len(problem):>5} {len(problem.terms):>5} {len(result.solution):>6}"
            f" {result.seconds:>8.3f} {verdict}",
            flush=True,
        )
    print(f"{len(took)} instances: median {np.median(took):.3f} s, longest {max(took):.3f} s\n")
    return right


def recursion(problem: Selection) -> set[tuple[int, ...]]:
    """The front of a knapsack by the plain recursion over the jobs, filtered by moocore after each of them."""
    rest, labels = problem.demands.sum(), np.zeros((1, len(problem.terms) + 1), np.int64)
    capacity = int(problem.capacity[0])
    ratio = problem.objectives / problem.demands
    for job in np.argsort(-ratio.sum(axis=1)).tolist():
        rest -= problem.demands[job, 0]
        more = labels + np.append(problem.objectives[job], problem.demands[job, 0])
        labels = np.concatenate((labels, more[more[:, -1] <= capacity]))
        keys = np.column_stack((labels[:, :-1], np.minimum(capacity - labels[:, -1], rest)))
        labels = labels[nondominated(keys)]
    return {tuple(value) for value in labels[:, :-1].tolist()}


def fresh(count: int, spec: str, rng: np.random.Generator) -> bool:
    """Knapsacks of the published kind (numbers from 1 to 1,000, half of the demand fits) with numbers of their own."""
    right = True
    for jobs, terms in ((30, 3), (50, 3), (30, 4), (40, 4), (20, 5)):
        took, equal = [], 0
        for _ in range(count):
            demands = rng.integers(1, 1000, (jobs, 1), endpoint=True)
            problem = Selection(demands, demands.sum(axis=0) // 2, rng.integers(1, 1000, (jobs, terms), endpoint=True))
            result = solve(problem, spec, Stop(seconds=60))
            took.append(result.seconds)
            equal += {tuple(value) for value in result.solution.values.tolist()} == recursion(problem)
        right &= equal == count
        print(
            f"{jobs} jobs, {terms} objectives: {equal} of {count} equal, "
            f"median {np.median(took):.3f} s, longest {max(took):.3f} s"
        )
    return right


def windows(workload: Workload, kind: str, size: int, resources: int, count: int, seed: int) -> Iterable[Selection]:
    """Windows in which not everything fits."""
    rng = np.random.default_rng(seed)
    names = ",".join(f"r{r}=normal" for r in range(1, resources))
    found = 0
    for window in random_windows(with_resources(workload, names, seed), 50 * count, size, rng):
        if kind == "idle":
            asked = window.requests()
            problem = Selection(asked, asked.sum(axis=0) // 2)
        else:
            problem = Selection.from_window(window)
        if found < count and problem.trivial() is None:
            found += 1
            yield problem


def measured(title: str, problems: Iterable[Selection], spec: str, limits: tuple[float, ...]) -> None:
    """Print how many fronts are complete within each limit, and the time of those that are."""
    took, points, undecided = [], [], []
    for problem in problems:
        result = solve(problem, spec, Stop(seconds=limits[-1]))
        assert not check(problem, result)
        took.append(result.seconds if result.status == "optimal" else np.inf)
        points.append(len(result.solution))
        reduced = reduce_selection(problem)
        undecided.append(0 if reduced is None else len(reduced.jobs))
    shares = "  ".join(f"{np.mean(np.array(took) <= limit):>7.0%}" for limit in limits)
    print(
        f"{title:<28} {np.median(undecided):>9.0f} {np.median(points):>7.0f} {max(points):>7} "
        f"{np.median(took):>8.3f} {max(took):>8.3f}  {shares}",
        flush=True,
    )


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mokp", type=Path, help="folder with published knapsacks and fronts")
    parser.add_argument("--random", type=int, default=0, help="fresh knapsacks per size")
    parser.add_argument("--trace", type=Path, help="trace to cut windows out of")
    parser.add_argument("--count", type=int, default=50, help="windows per line")
    parser.add_argument("--resources", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 15, 20, 25, 30])
    parser.add_argument("--limits", type=float, nargs="+", default=list(LIMITS), help="seconds, rising")
    parser.add_argument("--solver", default="pareto-dp")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    warm_up(registry.make(registry.SOLVERS, arguments.solver, Selection), Selection)
    right = True
    if arguments.mokp:
        right &= published(arguments.mokp, arguments.solver)
    if arguments.random:
        right &= fresh(arguments.random, arguments.solver, np.random.default_rng(arguments.seed))
    if arguments.trace:
        workload = read_swf(arguments.trace)
        limits = tuple(arguments.limits)
        within = "  ".join(f"{limit:>5g} s" for limit in limits)
        print(f"{'windows':<28} {'undecided':>9} {'points':>7} {'most':>7} {'median':>8} {'longest':>8}  {within}")
        for resources in arguments.resources:
            for kind in ("cut", "idle"):
                for size in arguments.sizes:
                    problems = windows(workload, kind, size, resources, arguments.count, arguments.seed)
                    title = f"{size} jobs, {resources} resources, {kind}"
                    measured(title, problems, arguments.solver, limits)
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
