"""How fast this machine proves what another one proved, and whether the probe of ``auto`` says the same.

    python -m benchmarks.machine_speed [--results benchmarks/results/knapsack.parquet]

Solves the knapsacks of ``benchmarks/portfolio/test-knapsack.toml`` again that took ``primal-dual`` or ``dp`` between
3 ms and 0.5 s there, and prints the median ratio of that CPU time to the one here, with quartiles, and the ratio of
the probe that the table states to the probe here. The exit status is 1 where the two differ by more than a factor of
1.5. Run it on a machine with nothing else to do.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import thread_time

import numpy as np

from transom import registry
from transom.bench.plan.plan import read_plan
from transom.bench.plan.tasks import read_set
from transom.bench.store.store import read_results
from transom.models import Knapsack
from transom.solvers.auto.machine_speed import seconds_of_a_probe
from transom.solvers.auto.table import packaged
from transom.solving import warm_up
from transom.stop import Stop

SHORTEST, LONGEST = 0.003, 0.5
"""CPU times that are compared [s]: shorter ones are mostly overhead."""

APART = 1.5


def main() -> int:
    """Read the command line, solve, compare."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--results", type=Path, default=Path("benchmarks/results/knapsack.parquet"))
    given = words.parse_args()
    then: dict[tuple[str, str], float] = {}
    for row in read_results(given.results).iter_rows(named=True):
        if row["status"] == "optimal" and row["budget_seconds"] == 1 and SHORTEST < row["seconds"] < LONGEST:
            then[row["instance"], row["spec"]] = row["seconds"]
    ratios = []
    for spec in ("primal-dual", "dp"):
        solver = registry.make(registry.SOLVERS, spec, Knapsack)
        warm_up(solver, Knapsack)
        for each in read_plan(Path(__file__).parent / "portfolio" / "test-knapsack.toml").instances:
            for instance in read_set(each):
                problem = instance.problem
                if (took := then.get((problem.digest(), spec))) is None:
                    continue
                budget = Stop(seconds=5).start(problem, clock=thread_time)
                solver(problem, budget, np.random.default_rng(0))
                if budget.optimal:
                    ratios.append(took / budget.seconds())
    low, middle, high = np.quantile(ratios, (0.25, 0.5, 0.75))
    probe = packaged().made.probe / seconds_of_a_probe()
    print(f"{len(ratios)} proofs: times there over times here {middle:.2f} ({low:.2f} to {high:.2f})")
    print(f"probe there over probe here {probe:.2f}")
    return int(max(probe / middle, middle / probe) > APART)


if __name__ == "__main__":
    sys.exit(main())
