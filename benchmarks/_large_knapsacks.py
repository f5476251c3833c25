"""CPU time that solvers of large knapsacks use after their deadline; part of :mod:`benchmarks.overshoot`."""

from __future__ import annotations

import gc
from time import process_time

import numpy as np

from transom import Stop, registry, solve
from transom._system.cpu_clock import cpu_time
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Knapsack
from transom.solving import refusal, warm_up

CLASSES = ("uncorrelated", "strongly-correlated", "subset-sum", "profit-ceiling")
SIZES = (100_000, 1_000_000)
RANGE = 1_000_000


def late(spec: str, problem: Knapsack, seconds: float) -> tuple[float, str]:
    """CPU time of a whole call beyond the budget [s], digest and checks included, and why it ended.

    The budget counts CPU time as well, so that other work on the machine does not matter. Worker processes that are
    asked are counted, what a native solver leaves behind is not.
    """
    solver = registry.make(registry.SOLVERS, spec, Knapsack)
    warm_up(solver, Knapsack)
    fresh = Knapsack(problem.values, problem.weights, problem.capacity)
    gc.collect()  # garbage of the runs before is not this one's
    began = cpu_time()
    result = solve(fresh, solver, Stop(seconds=seconds), clock=process_time)
    over = cpu_time() - began - seconds
    if result.error:
        raise RuntimeError(f"{spec}: {result.error}")
    return over, result.reason


def print_table(budgets: list[float], solvers: list[str]) -> bool:
    """Print, for each solver, size and budget, the worst over the classes; whether all are within 50 ms + 5 %."""
    names = solvers or [name for name in registry.names(registry.SOLVERS) if _takes_knapsacks(name)]
    print(f"CPU time after the deadline [ms], the worst of {len(CLASSES)} classes, R = {RANGE:,}; ! beyond 50 ms + 5 %")
    print(f"  {'solver':<18} {'items':>9} " + " ".join(f"{f'{seconds:g} s':>16}" for seconds in budgets), flush=True)
    good = True
    for size in SIZES:
        problems = [generate_knapsack(klass, size, RANGE, np.random.default_rng(1)) for klass in CLASSES]
        for name in names:
            if any(refusal(registry.make(registry.SOLVERS, name, Knapsack), problem) for problem in problems):
                print(f"  {name:<18} {size:>9,} refuses")
                continue
            cells = []
            for seconds in budgets:
                worst, reason = max(late(name, problem, seconds) for problem in problems)
                kept = worst <= 0.05 + 0.05 * seconds
                good &= kept
                cells.append(f"{1000 * worst:>7.0f}{' ' if kept else '!'}{reason:<8}")
            print(f"  {name:<18} {size:>9,} " + " ".join(cells), flush=True)
    return good


def _takes_knapsacks(name: str) -> bool:
    return issubclass(Knapsack, registry.load(registry.SOLVERS, name, Knapsack).solves)
