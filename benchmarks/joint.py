"""Joint choices: value against time of each solver, as a share of the best proved bound, and overrun of the limit.

``python -m benchmarks.joint [COUNT [SEED]]`` draws so many problems of each size (3), by a seed (1). For those of the
smaller size it also says how many ``joint-cpsat`` proves in 5 s, and the gaps of the others.
"""

from __future__ import annotations

import sys

import numpy as np

from transom import Stop, solve
from transom.generate.recipes import recipe

SIZES = (
    {"nodes": 256, "jobs": 20, "limited": 0.2},
    {"nodes": 10_000, "leaf_nodes": 32, "pod_nodes": 512, "jobs": 100, "cap": 400},
)
SECONDS = (0.01, 0.1, 1.0)
SOLVERS = ("joint-greedy", "joint-search", "joint-cpsat", "auto")


def main(count: int, seed: int) -> None:
    """Print a line for each size and solver."""
    for size in SIZES:
        problems = list(recipe("joint", size).make(seed, count))
        runs = {
            (spec, seconds): [solve(problem, spec, Stop(seconds=seconds)) for problem in problems]
            for spec in SOLVERS
            for seconds in SECONDS
        }
        bounds = [min(row[i].bound or np.inf for row in runs.values()) for i in range(count)]
        print(f"{size['nodes']} nodes, {size['jobs']} jobs, {count} problems: % of the bound; longest overrun [ms]")
        for spec in SOLVERS:
            shares = [
                np.mean([100 * (r.value or 0) / b for r, b in zip(runs[spec, s], bounds, strict=True)]) for s in SECONDS
            ]
            late = max(1000 * (r.seconds - s) for s in SECONDS for r in runs[spec, s])
            told = "  ".join(f"{s:g} s {share:6.2f}" for s, share in zip(SECONDS, shares, strict=True))
            print(f"  {spec:13} {told}  {late:5.1f}")
        if size is SIZES[0]:
            results = [solve(problem, "joint-cpsat", Stop(seconds=5)) for problem in problems]
            gaps = [
                100 * (r.bound - r.value) / r.value for r in results if r.status != "optimal" and r.bound and r.value
            ]
            told = ", ".join(f"{gap:.2f} %" for gap in gaps) or "none"
            print(f"  joint-cpsat in 5 s: {sum(r.status == 'optimal' for r in results)} proved; gaps of others: {told}")


if __name__ == "__main__":
    given = [int(each) for each in sys.argv[1:]]
    main(*given, *(3, 1)[len(given) :])
