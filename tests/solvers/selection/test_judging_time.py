"""The model of how long a front takes to be judged: it grows with what the judge looks at."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, solve
from transom.models import Selection
from transom.solvers.selection.judging_time import judging_seconds

fast = pytest.mark.fast


def window(jobs: int, objectives: int) -> Selection:
    return Selection(np.ones((jobs, 2), int), [3, 3], np.ones((jobs, objectives), int))


@fast
@pytest.mark.parametrize("objectives", [1, 3, 5, 6, 10])
def test_more_points_and_more_jobs_take_longer(objectives: int) -> None:
    times = [judging_seconds(window(20, objectives), points) for points in (0, 1, 100, 1000, 10_000)]
    assert times == sorted(times)
    assert 0 < times[0] < 0.001, "a point is judged in less than a millisecond: budgets of ten can be used"
    assert judging_seconds(window(200, objectives), 1000) > times[3]


@fast
def test_the_most_objectives_with_an_exact_hypervolume_take_the_longest() -> None:
    four, five, six = (judging_seconds(window(20, objectives), 10_000) for objectives in (4, 5, 6))
    assert five > max(four, six)


@pytest.mark.parametrize("solver", ["pareto-dp", "epsilon", "weighted", "lexicographic", "constrained"])
def test_where_the_time_is_too_short_to_prepare_a_search_jobs_come_as_they_stand(solver: str) -> None:
    problem = Selection([[3, 1], [2, 2], [2, 3], [1, 1]], [5, 5], forced=[False, False, True, False])
    result = solve(problem, solver, Stop(seconds=1e-9), clock=lambda: 0.0)
    assert (result.error, result.solution) == (None, solve(problem, "fcfs").solution)
    assert result.parameters["ended"].startswith("early")
