"""By how much solvers of selections and joint choices overrun their budgets, in CPU time, up to 10,000 jobs.

    python -m benchmarks.overshoot_selection
    python -m benchmarks.overshoot_selection --tasks 1000 --seconds 0.01 --solver nsga2 --solver joint-search

Tasks are jobs: of a selection with four resources and four objectives, of which a third fits, and of a joint choice on
ten nodes for each job. Exits with status 1 where a solver is later than 50 ms and 5 % of the budget, or has no answer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from benchmarks.overshoot_workflow import arguments, measured
from transom.generate.recipes import recipe
from transom.models import Joint, Selection
from transom.rng import stream

SELECTION = (
    "auto", "nsga2", "multisched", "bbsched-ga", "fcfs", "dot-product", "pareto-dp", "epsilon", "weighted",
    "lexicographic", "constrained",
)  # fmt: skip
JOINT = ("auto", "joint-cpsat", "joint-search", "joint-greedy")


def selections(jobs: int) -> Iterator[Selection]:
    """One of a size."""
    rng = stream(1, "overshoot", "selection", jobs)
    demands = rng.integers(1, 100, (jobs, 4))
    yield Selection(demands, demands.sum(axis=0) // 3, rng.integers(1, 100, (jobs, 4)))


def joints(jobs: int) -> Iterator[Joint]:
    """One of a size."""
    size = {"nodes": 10 * jobs, "leaf_nodes": 32, "pod_nodes": 512, "jobs": jobs, "cap": 400}
    yield from recipe("joint", size).make(1, 1)


def main() -> None:
    """Measure and print."""
    options = arguments(__doc__, tuple(dict.fromkeys((*SELECTION, *JOINT))))
    good = True
    for model, problems, solvers in ((Selection, selections, SELECTION), (Joint, joints, JOINT)):
        print(f"{model.__name__.lower()}s")
        asked = [solver for solver in solvers if solver in options.solver]
        good &= measured(model, argparse.Namespace(**vars(options) | {"solver": asked}), problems, [1_000, 10_000])
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
