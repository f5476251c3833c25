"""Whether epsilon reproduces published fronts of two objectives and two capacities, and how long it takes.

    python -m benchmarks.epsilon_fronts --mokp FOLDER            # hadi_*.dat beside hadi_*.front.txt
    python -m benchmarks.epsilon_fronts --random 3               # fresh instances of the same kind
    python -m benchmarks.epsilon_fronts --windows 10             # windows of 30 jobs, both back ends

Fresh instances are checked with CP-SAT: the small ones as a whole; of the large ones, at a few points drawn at random,
that nothing lies between a point and the next one. The exit status is 1 where a front differs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from transom import Stop, check, solve
from transom.io.mokp import read_hadi
from transom.models import Selection
from transom.models.arrays import IntArray
from transom.solvers.selection.cpsat import maximise_cpsat
from transom.solvers.selection.program import Program, relations


def published(folder: Path, names: str, spec: str, seconds: float) -> bool:
    """Solve the files of a folder and compare with their published fronts, point for point."""
    right = True
    print(f"{'instance':<12} {'jobs':>5} {'points':>6} {'programmes':>10} {'seconds':>8}")
    for path in sorted(folder.glob(f"{names}.dat")):
        problem = read_hadi(path)
        expected = np.loadtxt(path.with_suffix(".front.txt"), dtype=np.int64, ndmin=2)
        result = solve(problem, spec, Stop(seconds=seconds))
        values = result.solution.values
        order = np.lexsort(-expected.T[::-1])
        equal = np.array_equal(values, expected[order]) and not check(problem, result)
        verdict = ("equal" if equal else "DIFFERS") + ("" if result.status == "optimal" else ", not complete")
        right &= equal and result.status == "optimal"
        programmes = result.parameters.get("programmes", 0)
        print(
            f"{path.stem:<12} {len(problem):>5} {len(values):>6} {programmes:>10} {result.seconds:>8.1f} {verdict}",
            flush=True,
        )
    return right


def fresh(count: int, spec: str, rng: np.random.Generator, seconds: float) -> bool:
    """Instances of the same kind (numbers from 10 to 100, half of the demand fits) with numbers of their own."""
    right = True
    for jobs in (50, 375, 500):
        for _ in range(count):
            demands = rng.integers(10, 100, (jobs, 2), endpoint=True)
            problem = Selection(demands, demands.sum(axis=0) // 2, rng.integers(10, 100, (jobs, 2), endpoint=True))
            result = solve(problem, spec, Stop(seconds=seconds))
            values = result.solution.values
            if jobs == 50:
                other = solve(problem, "epsilon:by=cpsat", Stop(seconds=seconds))
                equal = other.status == "optimal" and np.array_equal(other.solution.values, values)
            else:
                equal = all(_next_is(problem, values, at) for at in rng.integers(0, len(values) - 1, 5).tolist())
            right &= equal and result.status == "optimal"
            print(
                f"{jobs:>5} jobs: {len(values):>5} points in {result.seconds:.1f} s, {result.status}, "
                f"{'agrees with' if equal else 'DIFFERS from'} CP-SAT",
                flush=True,
            )
    return right


def _next_is(problem: Selection, values: IntArray, at: int) -> bool:
    """Whether CP-SAT finds nothing between a point and the next one."""
    jobs = len(problem)
    program = Program(
        weights=np.ascontiguousarray(problem.objectives[:, 0]),
        rows=np.ascontiguousarray(np.vstack((problem.demands.T, -problem.objectives[:, 1]))),
        limits=np.array([*problem.capacity, -values[at, 1] - 1]),
        relations=relations(np.zeros((jobs, jobs), bool), problem.demands, problem.objectives),
    )
    best = maximise_cpsat(program, Stop(seconds=120).start(problem, threads=2), int(values[at + 1, 0]))
    return best.proved and not best.found


def windows(count: int, rng: np.random.Generator) -> bool:
    """Windows of 30 jobs that ask for nodes and further resources, of which a fifth to a half is free."""
    right = True
    for resources in (2, 3):
        took: dict[str, list[float]] = {"core": [], "cpsat": []}
        points = []
        for _ in range(count):
            nodes = np.clip(rng.lognormal(6, 1, 30) / 8, 16, 512).astype(np.int64) * 8
            others = np.maximum(rng.normal(50, 25, (30, resources - 1)), 0).astype(np.int64)
            demands = np.column_stack((nodes, others))
            problem = Selection(demands, (demands.sum(axis=0) * rng.uniform(0.2, 0.5, resources)).astype(np.int64))
            results = {by: solve(problem, f"epsilon:by={by}", Stop(seconds=60)) for by in took}
            for by, result in results.items():
                took[by].append(result.seconds if result.status == "optimal" else np.inf)
            points.append(len(results["core"].solution))
            if all(result.status == "optimal" for result in results.values()):
                right &= np.array_equal(results["core"].solution.values, results["cpsat"].solution.values)
        shown = ", ".join(f"{by} median {np.median(t):.3f} s, longest {max(t):.3f} s" for by, t in took.items())
        print(f"30 jobs, {resources} resources: {np.median(points):.0f} points in the median; {shown}", flush=True)
    return right


def main() -> None:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mokp", type=Path, help="folder with hadi_*.dat and hadi_*.front.txt")
    parser.add_argument("--names", default="hadi_*", help="which of them (default: all)")
    parser.add_argument("--random", type=int, default=0, help="so many fresh instances of each size")
    parser.add_argument("--windows", type=int, default=0, help="so many windows with each number of resources")
    parser.add_argument("--solver", default="epsilon", help="what solves them")
    parser.add_argument("--seconds", type=float, default=600, help="for each instance")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    right, rng = True, np.random.default_rng(options.seed)
    if options.mokp is not None:
        right &= published(options.mokp, options.names, options.solver, options.seconds)
    if options.random:
        right &= fresh(options.random, options.solver, rng, options.seconds)
    if options.windows:
        right &= windows(options.windows, rng)
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
