"""Results and what stands in them are equal where they say the same."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import pytest

from transom import (
    Allocation,
    Cluster,
    FatTree,
    Job,
    JobTable,
    Knapsack,
    Selection,
    Stop,
    TracedJob,
    Workload,
    simulate,
    solve,
)
from transom.models.pareto_front import ParetoFront


def test_a_result_differs_where_a_field_does_and_cannot_be_changed() -> None:
    for problem in (Knapsack([6, 10, 12], [1, 2, 3], 5), Selection([[2, 8], [3, 5], [1, 2]], [4, 10])):
        result = solve(problem, "auto", Stop(seconds=1))
        assert result.solution is not None
        for changes in ({"seed": 7}, {"solution": None}, {"parameters": {}}, {"curve": ()}, {"bound": None}):
            assert replace(result, **changes) != result
        with pytest.raises(TypeError, match="does not support item assignment"):
            result.parameters["seed"] = 1


def two_of_each() -> list[tuple[object, object]]:
    def made(last: int) -> list[object]:
        jobs = [Job(1, 0, 2, 60), Job(2, 5, 1, last)]
        workload = Workload.of([TracedJob(job, 20) for job in jobs], Cluster(4))
        return [
            Knapsack([1, last], [1, 1], 2),
            Selection([[1, 2], [3, last]], [40, 50]),
            Allocation(FatTree.uniform(8, 2, 4), [0, 1, last], [2]),
            ParetoFront([[last, 1]], [[True, False]]),
            JobTable.of(jobs),
            workload,
            simulate(workload, "fcfs-easy"),
        ]

    return list(zip(made(5), made(6), strict=True))


@pytest.mark.parametrize(("one", "other"), two_of_each(), ids=lambda thing: type(thing).__name__)
def test_what_says_the_same_is_equal(one: object, other: object) -> None:
    for twin in (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one))):  # noqa: S301
        assert twin is not one
        assert twin == one
        assert hash(twin) == hash(one)
    assert one != other
    assert len({one, other, copy.copy(one)}) == 2
