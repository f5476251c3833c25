"""How long scoring takes and how much memory: ``python -m benchmarks.score [RUNS]`` (100,000 by default)."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np

from transom.bench.plan.task import Row
from transom.bench.score.profiles import gap_curves, performance_profile, target_ecdf
from transom.bench.score.score import references, scored
from transom.bench.score.statistics import TOLERANCE, pairs
from transom.bench.score.summaries import figures, summaries
from transom.bench.store.frame import to_frame
from transom.stop import Stop

SOLVERS, SEEDS, POINTS = 8, 5, 20


def made(runs: int) -> Iterator[Row]:
    """Runs of eight solvers on random walks towards 100, with 20 steps each."""
    rng = np.random.default_rng(0)
    for number in range(runs):
        instance, which = divmod(number, SOLVERS * SEEDS)
        solver, seed = divmod(which, SEEDS)
        seconds = np.sort(rng.random(POINTS))
        values = 100 - (10 + solver) * np.sort(rng.random(POINTS))[::-1]
        yield Row(
            key=str(number), set="made", label=f"{instance}", instance=f"{instance}", problem="knapsack",
            name=f"s{solver}", spec=f"s{solver}", stop=Stop(seconds=1.0), seed=seed, threads=1, sense="max", size=10,
            outcome="ok", status="feasible", reason="time", value=values[-1], seconds=1.0, wall=1.0,
            curve=tuple((float(t), float(v), None) for t, v in zip(seconds, values, strict=True)),
        )  # fmt: skip


def main() -> None:
    """Print the seconds of each step."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    frame = to_frame(made(runs))
    print(f"{runs:,} runs, {POINTS} points each; {resident():,.0f} MiB before")
    known = told("references", lambda: references(frame))
    table = told("scored", lambda: scored(frame, known))
    told("summaries", lambda: summaries(table))
    told("pairs", lambda: [pairs(each, TOLERANCE["primal_gap"]) for _, each in figures(table, "primal_gap")])
    told("performance profile", lambda: performance_profile(frame, known, 0.01))
    told("ECDF over targets", lambda: target_ecdf(frame, known))
    told("curves", lambda: gap_curves(frame, known))
    print(f"{resident():,.0f} MiB at most")


def told(what: str, work: Callable[[], Any]) -> Any:
    """Do it, and print how long it took."""
    begun = perf_counter()
    done = work()
    print(f"{what:<20} {perf_counter() - begun:6.2f} s")
    return done


def resident() -> float:
    """The most resident memory so far [MiB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
