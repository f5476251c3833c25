"""By how much solvers of placements overrun their budgets, in CPU time, up to 10,000 tasks on 1,000 machines.

    python -m benchmarks.overshoot_placement --tasks 10000 --solver auto --solver greedy

Machines are a tenth of the tasks, with four resources; about half of the tasks fit. Exits with status 1 where a solver
is later than 50 ms and 5 % of the budget.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from benchmarks.overshoot_workflow import arguments, measured
from transom.models import Placement
from transom.rng import stream

SOLVERS = (
    "auto", "placement-exact", "local-search", "greedy", "first-fit", "best-fit", "longest-first", "shortest-first",
    "tetris", "drf", "random", "cpsat", "scip",
)  # fmt: skip


def problems(tasks: int) -> Iterator[Placement]:
    """One of a size."""
    rng = stream(1, "overshoot", "placement", tasks)
    free, demands = rng.integers(50, 200, (tasks // 10, 4)), rng.integers(1, 60, (tasks, 4))
    yield Placement(free, demands, [1] * tasks)


if __name__ == "__main__":
    sys.exit(0 if measured(Placement, arguments(__doc__, SOLVERS), problems, [1_000, 10_000]) else 1)
