"""A run that wants 10 GiB under a limit (`long`: that of plans): ended long before, and nobody else pays for it."""

from __future__ import annotations

import psutil
import pytest

from tests.bench.faulty import dearest, knapsack, task
from transom.bench.plan.plan import Plan
from transom.bench.run.local_engine import LocalEngine

pytestmark = [
    pytest.mark.usefixtures("faulty_solvers"),
    pytest.mark.slow,
    pytest.mark.skipif(psutil.virtual_memory().available < 9 * 2**30, reason="less than 9 GiB of memory are free"),
]

WANTED = 10 * 1024


@pytest.mark.parametrize("limit", [700, pytest.param(Plan().memory, marks=pytest.mark.long)])
@pytest.mark.parametrize("how", ["memory", "grow"])
def test_a_run_that_takes_ten_gibibytes_is_ended_at_its_limit(how: str, limit: int) -> None:
    problem = knapsack()
    tasks = [
        task("steady", seed=1, memory=limit),
        task(f"faulty:how={how},first=answers", problem, seconds=600.0, memory=limit),
        task("steady", seed=2, memory=limit),
    ]
    before, row, after = LocalEngine(1).run(iter(tasks))
    assert row.outcome == "memory"
    assert f"the limit is {limit:,} MiB" in str(row.cause)
    assert row.memory is not None
    assert limit < row.memory < 0.75 * WANTED
    assert row.wall is not None
    assert row.wall < 600
    assert (row.value, row.status) == (dearest(problem), "feasible")
    assert row.curve[-1][1] == row.value
    assert row.bound is not None
    for other in (before, after):
        assert (other.outcome, other.value is not None) == ("ok", True)
        assert (other.memory or 0) < limit
