"""Whether the exact solvers prove the same optima, and how long they take.

    python -m benchmarks.knapsack                                # 1,000 random knapsacks, and dp on 50-job windows
    python -m benchmarks.knapsack --trace TRACE.swf.gz           # and 1,000 windows cut out of a replay of a trace
    python -m benchmarks.knapsack --files WINDOWS.jsonl.gz ...   # and windows or knapsacks out of files
    python -m benchmarks.knapsack --kplib FOLDER                 # and published instances with their optima.csv

The exit status is 1 where two solvers prove different optima or an answer is not what it claims to be.
Times are of ``solve`` with its preparation of the problem, on this machine at this moment.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from transom import Stop, check, read_swf, registry, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack
from transom.io.instances import read_instances
from transom.models import Knapsack
from transom.models.reduction import reduce
from transom.simulation import simulate
from transom.simulation.snapshots import snapshots
from transom.solving import warm_up
from transom.traces import Workload

SOLVERS = ("dp", "primal-dual", "auto", "cpsat", "scip")
OBJECTIVES = ("nodes", "wait", "dras-capability", "dras-capacity")


def compare(title: str, problems: Iterable[Knapsack], solvers: Sequence[str], seconds: float) -> bool:
    """Solve every problem with every solver and print what they proved.

    Returns
    -------
    Whether all that was proved and claimed is consistent.
    """
    times: dict[str, list[float]] = {spec: [] for spec in solvers}
    proved = dict.fromkeys(solvers, 0)
    faults: list[str] = []
    count = sound = 0
    for count, problem in enumerate(problems, 1):
        results = {spec: solve(problem, spec, Stop(seconds=seconds)) for spec in solvers}
        optima = {result.value for result in results.values() if result.status == "optimal"}
        sound += len(optima) == 1
        if len(optima) > 1:
            faults.append(f"problem {count}: proved optima {sorted(map(str, optima))}")
        for spec, result in results.items():
            times[spec].append(result.seconds)
            proved[spec] += result.status == "optimal"
            faults += [f"problem {count}: {spec}: {wrong}" for wrong in check(problem, result)]
            if result.error:
                faults.append(f"problem {count}: {spec}: {result.error}")
    print(f"\n{title}: {count} problems, one proved optimum on {sound}")
    print(f"{'solver':<36} {'proved':>7} {'median':>11} {'95 %':>11} {'longest':>11}")
    for spec, took in times.items():
        if took:
            columns = " ".join(f"{1000 * t:>8.3f} ms" for t in (np.median(took), np.quantile(took, 0.95), max(took)))
            print(f"{spec:<36} {proved[spec]:>7} {columns}")
    for fault in faults:
        print(f"WRONG: {fault}")
    return not faults


def random_knapsacks(count: int, rng: np.random.Generator) -> Iterator[Knapsack]:
    """Knapsacks of all classes in turn, 10 to 60 items, R from 10 to 1,000."""
    for i in range(count):
        klass = list(CLASSES)[i % len(CLASSES)]
        yield generate_knapsack(klass, int(rng.integers(10, 61)), int(10 ** rng.uniform(1, 3)), rng)


def windows_of(workload: Workload, count: int) -> Iterator[Knapsack]:
    """Knapsacks that a replay under fcfs-easy meets, evenly spread, the objectives in turn."""
    schedule = simulate(workload, "fcfs-easy")
    worth = [registry.make(registry.OBJECTIVES, name) for name in OBJECTIVES]
    windows = list(snapshots(schedule, every=600, minimum=2))
    undecided = [window for window in windows if len(reduce(Knapsack.from_window(window)).items) > 1]
    places = np.linspace(0, len(undecided) - 1, min(count, len(undecided))).astype(int)
    for i, place in enumerate(places):
        yield Knapsack.from_window(undecided[place], worth[i % len(worth)])


def fifty_jobs(rounds: int, rng: np.random.Generator) -> None:
    """Print what ``dp`` and ``auto`` take for 50 jobs on 4,360 nodes, all of them free."""
    for spec in ("dp", "primal-dual", "auto"):
        for name in ("nodes", "wait", "uniform"):
            inside, whole = [], []
            for _ in range(rounds):
                nodes = np.minimum(128 * 2 ** rng.integers(0, 6, 50) - rng.integers(0, 2, 50), 4360)
                if name == "uniform":
                    nodes = rng.integers(1, 4361, 50)
                values = nodes * rng.integers(1, 86_401, 50) if name == "wait" else nodes
                problem = Knapsack(values, nodes, 4360)
                began = time.perf_counter()
                inside.append(solve(problem, spec).seconds)
                whole.append(time.perf_counter() - began)
            medians = f"{1000 * np.median(inside):.3f} ms, with digest and result {1000 * np.median(whole):.3f} ms"
            print(f"{spec:<12} 50 jobs on 4,360 nodes, {name:<8} median {medians}")


def published(folder: Path, seconds: float) -> bool:
    """Solve instances in kplib's format and compare with the optima in ``optima.csv``."""
    with (folder / "optima.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    right = True
    for spec in ("auto", "primal-dual", "dp", "cpsat", "scip"):
        took, proved, wrong = [], 0, []
        for row in rows:
            ((_, problem),) = read_instances([folder / row["instance"].replace("/", "_")])
            if registry.make(registry.SOLVERS, spec).supports(problem):
                continue
            result = solve(problem, spec, Stop(seconds=seconds))
            took.append(result.seconds)
            proved += result.status == "optimal"
            if result.status == "optimal" and result.value != int(row["optimum"]):
                wrong.append(row["instance"])
        right &= not wrong
        times = f"median {1000 * np.median(took):.2f} ms, longest {1000 * max(took):.1f} ms"
        print(
            f"{spec:<12} {len(took)} of {len(rows)} taken, {proved} proved within {seconds:g} s, {times} {wrong or ''}"
        )
    return right


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="knapsacks per set")
    parser.add_argument("--seconds", type=float, default=20.0, help="budget of one solve")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--solvers", nargs="+", default=list(SOLVERS))
    parser.add_argument("--trace", type=Path, nargs="*", default=[], help="traces to cut windows out of")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="windows or knapsacks")
    parser.add_argument("--kplib", type=Path, help="folder with instances and optima.csv")
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    for spec in arguments.solvers:
        warm_up(registry.make(registry.SOLVERS, spec), Knapsack)
    fifty_jobs(min(arguments.count, 1000), rng)
    right = compare("random", random_knapsacks(arguments.count, rng), arguments.solvers, arguments.seconds)
    for path in arguments.trace:
        windows = windows_of(read_swf(path), arguments.count)
        right &= compare(f"windows of {path.name}", windows, arguments.solvers, arguments.seconds)
    for path in arguments.files:
        problems = islice((problem for _, problem in read_instances([path])), arguments.count)
        right &= compare(str(path), problems, arguments.solvers, arguments.seconds)
    if arguments.kplib:
        print()
        right &= published(arguments.kplib, min(arguments.seconds, 1.0))
    raise SystemExit(0 if right else 1)


if __name__ == "__main__":
    main()
