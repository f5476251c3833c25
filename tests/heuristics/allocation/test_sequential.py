"""The first fit in the window's order."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.heuristics.windows import windows
from transom import Stop, solve
from transom.models import Allocation, FatTree

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("rule", ["static", "dynamic", "free"])
def test_blocks_follow_each_other_from_the_head(rule: str) -> None:
    problem = Allocation(FatTree.k_ary(4), [1, 2, 5, 8, 9, 10, 15], [2, 3], rule)
    result = solve(problem, "sequential", Stop())
    assert np.array_equal(result.solution, [0, 0, 1, 1, 1, -1, -1])
    assert result.status == "feasible"


@pytest.mark.reference
def test_it_costs_what_the_papers_table_says(shared: Path) -> None:
    total = sum(
        solve(problem, "sequential", Stop()).value or 0 for problem in windows(shared, "nsa_table_epoch_1", "static")
    )
    assert round(total / 100) == 99_136
