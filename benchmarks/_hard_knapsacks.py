"""How long one solver takes to prove each class, by items, range and capacity; part of ``knapsack_scaling``."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from statistics import median
from time import process_time

import numpy as np

from transom import Stop, registry, solve
from transom.generate.instances.knapsacks import CLASSES, generate_knapsack

ITEMS = (1000, 10_000)
RANGES = (1000, 1_000_000)
CAPACITIES = (3, 15, 25, 37, 50, 60, 80, 95)


def hard_table(spec: str, seconds: float, seeds: Sequence[int] = (0,), classes: Sequence[str] = ()) -> list[str]:
    """The rows of the table in Markdown: instances proved, median and largest CPU time of a whole call.

    Parameters
    ----------
    spec : the solver.
    seconds : budget of one solve, in CPU time.
    seeds : of the instances; 0 are those of the documentation.
    classes : which ones, by default all.
    """
    solver = registry.make(registry.SOLVERS, spec)
    solver.warm_up()
    rows = [f"| `{spec}` | items | R | proved | median [ms] | maximum [ms] |", "|---|---:|---:|---:|---:|---:|"]
    every: list[float] = []
    proofs = 0
    for number, klass in enumerate(CLASSES):
        if classes and klass not in classes:
            continue
        for items in ITEMS:
            for value_range in RANGES:
                times, proved = [], 0
                for share, seed in product(CAPACITIES, seeds):
                    rng = np.random.default_rng((number, items, value_range, share, *([seed] if seed else [])))
                    problem = generate_knapsack(klass, items, value_range, rng, series=(share, 100))
                    began = process_time()
                    result = solve(problem, solver, Stop(seconds=seconds), clock=process_time)
                    times.append(1000 * (process_time() - began))
                    if result.error:
                        raise RuntimeError(f"{spec} on {klass}: {result.error}")
                    proved += result.status == "optimal"
                every += times
                proofs += proved
                rows.append(
                    f"| {klass} | {items:,} | {value_range:,} | {proved} of {len(times)} "
                    f"| {median(times):.1f} | {max(times):.1f} |"
                )
    rows.append(f"| all | | | {proofs} of {len(every)} | {median(every):.1f} | {max(every):.1f} |")
    return rows
