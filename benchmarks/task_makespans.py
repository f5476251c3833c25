"""How far makespans of tasks on machines lie above a lower bound: rules, random and an offline search, side by side.

    python -m benchmarks.task_makespans TASKS.csv.gz [--first 200] [--last 519] [--iterations 500]

The table of the page on placements. Under the event rules of CloudSimPy the same table once more, apart: figures made
under different rules share none. The offline search knows every job beforehand; its schedules are non-delay all the
same.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np

from transom.models.arrays import IntArray
from transom.simulation.placement.bounds import makespan_bound
from transom.simulation.placement.offline import search_orders
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload, parse_machines, read_tasks

WIDTHS = (12, 12, 10, 10, 9, 7, 7, 9)
POLICIES = {
    "first-fit": "first-fit",
    "best-fit": "best-fit",
    "Tetris as coded": "tetris:as-coded=yes",
    "Tetris normalised": "tetris:as-coded=no",
    "dominant-resource fairness": "drf",
    "shortest first": "shortest-first",
    "uniform random": "random",
    "longest first": "longest-first",
}


def row(name: str, makespans: IntArray, first_fit: IntArray, bounds: IntArray) -> None:
    """One line of the table."""
    above = 100 * (makespans / bounds - 1)
    better, worse = int((makespans < first_fit).sum()), int((makespans > first_fit).sum())
    equal, met = len(bounds) - better - worse, int((makespans == bounds).sum())
    print(
        f"{name:28}{makespans.mean():>12.1f}{above.mean():>12.2f}{np.median(above):>10.2f}{above.max():>10.1f}"
        f"{better:>9}{equal:>7}{worse:>7}{met:>9}",
        flush=True,
    )


def table(chunks: Sequence[TaskWorkload], rules: str, first: int) -> None:
    """Every policy under these event rules."""
    bounds = np.array([makespan_bound(each) for each in chunks])
    names = ("mean [s]", "above [%]", "median", "largest", "better", "equal", "worse", "proved")
    print(f"\nchunks {first} to {first + len(chunks) - 1} under {rules} events; makespans above the lower bound,")
    print("and chunks where they are better, equal or worse than first-fit, and proved to be as short as can be")
    print(f"{'policy':28}" + "".join(f"{title:>{width}}" for title, width in zip(names, WIDTHS, strict=True)))
    found: dict[str, IntArray] = {}
    for name, spec in POLICIES.items():
        runs = [simulate_tasks(each, spec, seed=first + k, rules=rules) for k, each in enumerate(chunks)]
        found[name] = np.array([each.makespan for each in runs])
        row(name, found[name], found["first-fit"], bounds)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("--machines", action="append")
    parser.add_argument("--chunks", type=int, default=10)
    parser.add_argument("--first", type=int, default=200)
    parser.add_argument("--last", type=int, default=519)
    parser.add_argument("--iterations", type=int, default=500, help="of the offline search, each a replay; 0: none")
    asked = parser.parse_args()
    machines = parse_machines(asked.machines or ["count=5,cpu=64,memory=1"])
    chunks = list(read_tasks(asked.trace, machines).chunks(asked.chunks))[asked.first : asked.last + 1]
    table(chunks, "textbook", asked.first)
    if asked.iterations:
        bounds = np.array([makespan_bound(each) for each in chunks])
        first_fit = np.array([simulate_tasks(each, "first-fit").makespan for each in chunks])
        searched = [search_orders(each, iterations=asked.iterations).makespan for each in chunks]
        row(f"offline, {asked.iterations} orders", np.array(searched), first_fit, bounds)
    table(chunks, "cloudsimpy", asked.first)


if __name__ == "__main__":
    main()
