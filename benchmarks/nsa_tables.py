"""Tables III and IV of papers/nsa, as measured here, with the true optima beside them.

    python -m benchmarks.nsa_tables WINDOWS.jsonl.gz [--epochs 1] [--scip-every 15] [--no-scip]

"Cost" is the paper's: the sum over the windows of an epoch divided by its 100 periods, so that a period without a
window counts as 0. Cost model ``authors``, wrap-around on, one thread. SA as coded (``walk``) goes on from rejected
moves, takes the first 100 idle nodes and the window's order, and counts states that no order of placing jobs reaches
("reachable": those left out); true Metropolis is what Algorithm 1 and Table I say. SCIP
solves the paper's model, with the authors' binaries that cancel a job, on every n-th window only, with ``scas-dp`` on
the same windows beside it; "unassigned" is the share of jobs that have no nodes when the time is out.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from transom import Stop, registry, solve
from transom.io import PeriodWindow, read_documents
from transom.models import AUTHORS, Allocation
from transom.models.allocation import Rule

PERIODS = 100
AS_CODED = "acceptance=walk,tmax=25000,first=100,order=window"
METHODS: tuple[tuple[str, Rule, str, float | None], ...] = (
    ("Seq.", "static", "sequential", None),
    ("SA-500 as coded", "free", f"sa:steps=500,{AS_CODED}", None),
    ("SA-1000 as coded", "free", f"sa:steps=1000,{AS_CODED}", None),
    ("SA-500 as coded, reachable", "dynamic", f"sa:steps=500,{AS_CODED}", None),
    ("SA-1000 as coded, reachable", "dynamic", f"sa:steps=1000,{AS_CODED}", None),
    ("SA-500 Metropolis, first 100", "dynamic", "sa:steps=500,first=100", None),
    ("SA-500 Metropolis", "dynamic", "sa:steps=500", None),
    ("SA-1000 Metropolis", "dynamic", "sa:steps=1000", None),
    ("scas-dp", "static", "scas-dp", 30.0),
    ("dp-polish", "dynamic", "dp-polish", None),
    ("dcas-exact", "dynamic", "dcas-exact", 30.0),
    ("free-exact", "free", "free-exact", 30.0),
)


class Measured(NamedTuple):
    """What a method did on some windows: cost and seconds of each, whether proved, jobs left without nodes."""

    cost: list[float]
    seconds: list[float]
    proved: list[bool]
    unassigned: int


def measure(problems: Sequence[Allocation], rule: Rule, spec: str, seconds: float | None) -> Measured:
    """Solve windows with one method."""
    solver = registry.make(registry.SOLVERS, spec, Allocation)
    solver.warm_up()
    costs, took, proved, unassigned = [], [], [], 0
    for window in problems:
        result = solve(window.with_rule(rule), solver, Stop(seconds=seconds))
        if result.error:
            raise RuntimeError(f"{spec}: {result.error}")
        costs.append(float("nan") if result.value is None else result.value)
        # Where SCIP's best so far cancels some of the jobs, it says how many; the cost is then unknown.
        unassigned += result.parameters.get("cancelled", len(window)) if result.value is None else 0
        took.append(result.seconds)
        proved.append(result.status == "optimal")
    return Measured(costs, took, proved, unassigned)


def line(title: str, measured: Measured, jobs: int, divisor: float) -> str:
    """One row of the table."""
    cost = np.nansum(measured.cost) / divisor
    return (
        f"{title:<30}{cost:>12,.1f}{np.mean(measured.seconds):>12.5f}{100 * np.mean(measured.proved):>10.1f}"
        f"{100 * measured.unassigned / max(jobs, 1):>12.2f}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--epochs", type=int, nargs="*", help="all by default")
    parser.add_argument("--scip-every", type=int, default=15)
    parser.add_argument("--no-scip", action="store_true")
    options = parser.parse_args()
    epochs: dict[int, list[Allocation]] = {}
    for where, document in read_documents(options.file):
        if not isinstance(document, PeriodWindow) or document.epoch is None:
            raise SystemExit(f"{where}: not a window of a stream with epochs")
        if options.epochs is None or document.epoch in options.epochs:
            epochs.setdefault(document.epoch, []).append(document.allocation("static", True, AUTHORS))
    problems = [problem for windows in epochs.values() for problem in windows]
    jobs = sum(map(len, problems))
    print(f"{options.file.name}: {len(epochs)} epochs, {len(problems)} windows, {jobs} jobs, cost model authors")
    head = f"{'method':<30}{'cost':>12}{'seconds':>12}{'proved %':>10}{'unassigned %':>12}"
    print(head)
    optimum = None
    for title, rule, spec, seconds in METHODS:
        measured = measure(problems, rule, spec, seconds)
        if spec == "scas-dp":
            optimum = measured
        print(line(title, measured, jobs, PERIODS * len(epochs)), flush=True)
    if options.no_scip or optimum is None:
        return 0
    subset = range(0, len(problems), options.scip_every)
    some = [problems[i] for i in subset]
    print(f"\nevery {options.scip_every}th window: {len(some)} windows; cost is the mean of a window")
    print(head)
    few = sum(map(len, some))
    cost, took, proved = optimum.cost, optimum.seconds, optimum.proved
    exact = Measured([cost[i] for i in subset], [took[i] for i in subset], [proved[i] for i in subset], 0)
    print(line("scas-dp", exact, few, len(some)))
    for title, seconds in (("SCIP, 30 s", 30.0), ("SCIP, no limit", None)):
        print(line(title, measure(some, "static", "scas-scip:cancel=yes", seconds), few, len(some)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
