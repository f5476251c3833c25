from __future__ import annotations

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front
from transom.io.front_completeness import MOST_JOBS, missing_points
from transom.models import ParetoFront, Selection

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("seed", range(40))
def test_what_is_missing_is_found(seed: int) -> None:
    problem = random_selection(np.random.default_rng(seed))
    wanted = sorted(true_front(problem))
    if not wanted:
        return
    for kept in (wanted, wanted[1:], wanted[:1]):
        if kept:
            front = ParetoFront(kept, np.zeros((len(kept), len(problem)), bool))
            missing = missing_points(problem, front)
            assert missing is not None
            assert sorted(map(tuple, missing.tolist())) == sorted({*wanted} - {*kept})


def test_many_jobs_are_not_enumerated() -> None:
    front = ParetoFront([[0]], np.zeros((1, MOST_JOBS + 1), bool))
    assert missing_points(Selection(np.ones((MOST_JOBS + 1, 1), np.int64), [3]), front) is None
    assert missing_points(Selection([[1]] * MOST_JOBS + [[9]], [3]), front) is not None
