"""Results and what stands in them are equal where they say the same."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from transom import Knapsack, Selection, Stop, solve


def test_a_result_equals_its_copies_alone() -> None:
    for problem in (Knapsack([6, 10, 12], [1, 2, 3], 5), Selection([[2, 8], [3, 5], [1, 2]], [4, 10])):
        result = solve(problem, "auto", Stop(seconds=1))
        assert result.solution is not None
        twins = [copy.copy(result), copy.deepcopy(result), pickle.loads(pickle.dumps(result))]  # noqa: S301
        assert all(twin == result for twin in twins)
        for changes in ({"seed": 7}, {"solution": None}, {"parameters": {}}, {"curve": ()}, {"bound": None}):
            assert replace(result, **changes) != result
        with pytest.raises(TypeError, match="unhashable"):
            hash(result)
