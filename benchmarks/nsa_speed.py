"""What steps of learned and plain annealing take, the network included.

    python -m benchmarks.nsa_speed [WINDOWS.jsonl.gz] [--steps 500] [--every 1] [--model nsa]

Solves every window once with each solver, on one thread, without reading weights and compiling. Prints the median and
the 99th percentile of the milliseconds of a search, how many times the median of ``sa`` that is, and the mean cost.
Without a file the windows are those of an epoch of our own on the cluster of the authors' code.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transom import Stop, registry, solve
from transom.io import PeriodWindow, read_documents
from transom.learned.repair.pool import CLUSTERS, stream_windows
from transom.models import AUTHORS, Allocation

AGREED = 150.0
"""What 500 steps of ``nsa`` may take at the paper's size, in the median [ms]; the paper states 1,540."""


def solvers(steps: int, model: str) -> dict[str, str]:
    """Specification of each search by its title."""
    return {
        "sa": f"sa:steps={steps}",
        "sa, cheapest start": f"sa:steps={steps},repair=cheapest",
        "nsa, drawn": f"nsa:steps={steps},model={model}",
        "nsa, likeliest": f"nsa:steps={steps},model={model},choose=best",
        "nsa-cost": f"nsa-cost:steps={steps}",
    }


def milliseconds(problems: Sequence[Allocation], spec: str) -> tuple[list[float], float]:
    """Time of each search [ms], and the mean cost that it ends with."""
    solver = registry.make(registry.SOLVERS, spec, Allocation)
    solver.warm_up()
    took, costs = [], []
    for problem in problems:
        result = solve(problem, solver, Stop())
        if result.error:
            raise SystemExit(f"{spec}: {result.error}")
        took.append(1000 * result.seconds)
        costs.append(float(result.value or 0))
    return took, float(np.mean(costs))


def windows(file: Path | None, every: int) -> list[Allocation]:
    """The windows under the dynamic rule, cost model ``authors``."""
    if file is None:
        model, cost = CLUSTERS["authors"]
        problems = stream_windows(model, cost, 0, "nsa speed", 1)
    else:
        documents = [document for _, document in read_documents(file)]
        problems = [each.allocation("dynamic", True, AUTHORS) for each in documents if isinstance(each, PeriodWindow)]
    return [problem.with_rule("dynamic") for problem in problems if problem.trivial() is None][::every]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--every", type=int, default=1, help="take only every so many windows")
    parser.add_argument("--model", default="nsa", help="checkpoint of nsa")
    options = parser.parse_args()
    problems = windows(options.file, options.every)
    if not problems:
        raise SystemExit(f"{options.file}: no window of a stream to solve")
    nodes = np.mean([len(problem.idle) for problem in problems])
    jobs = np.mean([len(problem) for problem in problems])
    print(f"{len(problems)} windows, {nodes:.0f} idle nodes and {jobs:.1f} jobs on average, {options.steps} steps")
    print(f"{'search':<20}{'median ms':>12}{'99th pct':>12}{'x sa':>8}{'mean cost':>14}")
    medians: dict[str, float] = {}
    for title, spec in solvers(options.steps, options.model).items():
        took, cost = milliseconds(problems, spec)
        medians[title] = float(np.median(took))
        ratio = medians[title] / medians["sa"]
        print(
            f"{title:<20}{medians[title]:>12.2f}{np.quantile(took, 0.99):>12.2f}{ratio:>8.1f}{cost:>14,.0f}", flush=True
        )
    if options.steps == 500:
        held = "held" if medians["nsa, drawn"] < AGREED else "not held"
        print(f"nsa: at most {AGREED:.0f} ms in the median {held}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
