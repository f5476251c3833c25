"""How fast free allocation is solved to a proved optimum.

    python -m benchmarks.free WINDOWS.jsonl.gz ... [--cost-model authors]   # the windows of a topology-aware stream
    python -m benchmarks.free WINDOWS.jsonl.gz ... --family scaled          # as many jobs, that ask for 90-100 %
    python -m benchmarks.free WINDOWS.jsonl.gz ... --family full            # jobs of up to 40 nodes until 90-100 %
    python -m benchmarks.free --family dense                                # 160 random nodes of 400, 90-100 %
    python -m benchmarks.free --family alike                                # the same with 5 to 8 jobs of like sizes

Every window is solved by ``free-exact`` for up to ``--seconds``. Printed are the shares proved within 0.1, 1 and 5
seconds, median, 99th percentile and maximum of the call, on this machine at this moment; with ``--cpu`` in seconds
of this thread instead of the clock, for a machine that others use as well. The exit status is 1 where an answer is
not what it claims to be or costs more than the best contiguous one.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from transom import Stop, check, registry, solve
from transom.io.instances import ReadOptions, read_instances
from transom.models import Allocation, FatTree, HopCost
from transom.rng import stream
from transom.solvers.allocation.free.exact import FreeExact
from transom.solvers.allocation.scas_dp import static_optimum


def windows(files: list[Path], cost: str, every: int) -> Iterator[Allocation]:
    """The windows of the files that have something to be searched for."""
    for path in files:
        for i, (_, problem) in enumerate(read_instances([path], ReadOptions("free", cost_model=cost))):
            if i % every == 0 and isinstance(problem, Allocation) and problem.trivial() is None:
                yield problem


def scaled(problem: Allocation, rng: np.random.Generator) -> Allocation | None:
    """The idle nodes of a window and as many jobs, of random shares of 90 to 100 % of the nodes."""
    idle, shares = len(problem.idle), rng.random(len(problem)) + 0.15
    wanted = int(rng.integers(-(-9 * idle // 10), idle + 1))
    sizes = np.maximum(2, np.floor(shares / shares.sum() * wanted)).astype(np.int64)
    return Allocation(problem.tree, problem.idle, sizes, "free", True, problem.cost) if sizes.sum() <= idle else None


def full(problem: Allocation, rng: np.random.Generator, largest: int = 40) -> Allocation | None:
    """The idle nodes of a window, with sizes drawn anew until 90 to 100 % of them are asked for."""
    idle, sizes = len(problem.idle), []
    wanted = int(rng.integers(-(-9 * idle // 10), idle + 1))
    while wanted >= 2:
        size = min(int(rng.integers(2, largest + 1)), wanted)
        sizes.append(size if wanted - size != 1 else max(2, size - 1))
        wanted -= sizes[-1]
    return Allocation(problem.tree, problem.idle, sizes, "free", True, problem.cost) if sizes else None


def dense(count: int, cost: HopCost) -> Iterator[Allocation]:
    """160 random nodes of 400 below leaves of 10, in pods of 40 and of 100 by turns; 90 to 100 % asked for."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        tree = FatTree.uniform(400, 10, (40, 100)[seed % 2])
        idle = np.sort(rng.choice(400, 160, replace=False))
        problem = full(Allocation(tree, idle, [], "free", True, cost), rng)
        if problem is not None:
            yield problem


def alike(count: int, cost: HopCost) -> Iterator[Allocation]:
    """160 random nodes of 400, in pods of 40 and of 100 by turns; 5 to 8 jobs of like sizes ask for 90 to 100 %."""
    for seed in range(count):
        rng = np.random.default_rng((seed, 7))
        idle = np.sort(rng.choice(400, 160, replace=False))
        jobs, wanted = int(rng.integers(5, 9)), int(rng.integers(144, 161))
        sizes = np.maximum(2, np.floor(rng.dirichlet([10.0] * jobs) * wanted)).astype(np.int64)
        sizes[0] += max(0, wanted - sizes.sum())
        tree = FatTree.uniform(400, 10, (40, 100)[seed % 2])
        yield Allocation(tree, idle, sizes, "free", True, cost)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--cost-model", default="authors")
    parser.add_argument("--family", choices=("windows", "scaled", "full", "dense", "alike"), default="windows")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--every", type=int, default=1, help="take every so many windows")
    parser.add_argument("--count", type=int, default=100, help="windows of the families dense and alike")
    parser.add_argument("--cpu", action="store_true", help="time of this thread instead of the clock")
    options = parser.parse_args()
    cost = registry.make(registry.COST_MODELS, options.cost_model)
    if options.family in ("dense", "alike"):
        problems = list((dense if options.family == "dense" else alike)(options.count, cost))
    else:
        problems = list(windows(options.files, options.cost_model, options.every))
        if options.family in ("scaled", "full"):
            enlarge = scaled if options.family == "scaled" else full
            drawn = (enlarge(problem, np.random.default_rng(seed)) for seed, problem in enumerate(problems))
            problems = [problem for problem in drawn if problem is not None]
    if not problems:
        parser.error("no windows: name files that hold some, or --family dense or alike")
    return report(problems, options.seconds, time.thread_time if options.cpu else time.perf_counter)


def report(problems: list[Allocation], seconds: float, clock: Callable[[], float]) -> int:
    """Solve all and print shares and times; the exit status."""
    solver = FreeExact()
    solver.warm_up()
    took, gaps, faults = [], [], []
    for number, problem in enumerate(problems, 1):
        budget = Stop(seconds=seconds).start(problem)
        began = clock()
        solver(problem, budget, stream(0, solver.name))
        lasted = clock() - began
        took.append(lasted if budget.optimal else np.inf)
        value, bound = budget.value, budget.bound
        if value is None or bound is None:
            faults.append(f"window {number}: no answer or no bound")
            continue
        if not budget.optimal:
            gaps.append((number, len(problem), (value - bound) / value))
        contiguous = static_optimum(problem)
        if contiguous is not None and value > contiguous[1] * (1 + 1e-9):
            faults.append(f"window {number}: {value} is more than {contiguous[1]}, the best contiguous cost")
    for number, problem in list(enumerate(problems, 1))[::10]:
        result = solve(problem, solver, Stop(seconds=seconds))
        faults += [f"window {number}: {wrong}" for wrong in check(problem, result)]
    times = np.array(took)
    shares = "  ".join(f"{limit:g} s {np.mean(times <= limit):.2%}" for limit in (0.1, 1.0, 5.0))
    known = np.where(np.isfinite(times), times, np.maximum(seconds, 0.0))
    print(f"{len(problems)} windows, proved within {shares}")
    print("median {:.2f} ms, 90 % {:.2f} ms, 99 % {:.1f} ms, longest {:.1f} ms".format(
        *(1000 * np.quantile(known, q) for q in (0.5, 0.9, 0.99, 1.0))
    ))  # fmt: skip
    for number, jobs, gap in gaps:
        print(f"  left: window {number} of {jobs} jobs, gap {gap:.3%}")
    print("\n".join(faults))
    return int(bool(faults))


if __name__ == "__main__":
    raise SystemExit(main())
