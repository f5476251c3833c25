"""Placements: what the judge says, in integers of any length; objectives by name; what else is read as one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from transom.errors import ModelError
from transom.models import Cluster, Job, JobTable, Knapsack, Placement, Window

pytestmark = pytest.mark.fast

MEMORY = 2**61
SMALL = Placement([[4, 6], [2, 9]], [[1, 2], [2, 1]], [5, 2], [3, 4], resources=("cpu", "memory"))


@pytest.mark.parametrize(
    ("make_it", "says"),
    [
        (lambda: Placement([], [], []), r"free: expected shape \(-1, -1\)"),
        (lambda: Placement([[]], [], []), "there must be a machine and a resource"),
        (lambda: Placement([[1], [2, 3]], [], []), "free: not a rectangular array"),
        (lambda: Placement([[1], [-2]], [], []), "machine 1: free must be >= 0, got -2"),
        (lambda: Placement([[2**62]], [], []), r"machine 0: free must be < 2\*\*62, got 4611686018427387904"),
        (lambda: Placement([[1]], [[1, 2]], [1]), r"demands: expected shape \(-1, 1\)"),
        (lambda: Placement([[1]], [[1], [-1]], [1, 1]), "task 1: demands must be >= 0, got -1"),
        (lambda: Placement([[1]], [[0.5]], [1]), "demands: expected integers, got 0.5"),
        (lambda: Placement([[1]], [[1]], [1, 2]), r"waiting: expected shape \(1,\)"),
        (lambda: Placement([[1]], [[1]], [2**31]), r"task 0: waiting must be < 2\*\*31, got 2147483648"),
        (lambda: Placement([[1]], [[1]], [1], [-3]), "task 0: values must be >= 0, got -3"),
        (lambda: Placement([[1]], [[1]], [1], durations=[-3]), "task 0: durations must be >= 0, got -3"),
        (lambda: Placement([[1]], [[1]], [1], durations=[np.nan]), "durations: expected integers, got nan"),
        (lambda: Placement([[1]], [[1]], [2], [2**61]), "worth does not fit into 62 bits"),
        (lambda: Placement([[1]], [[1]], [2], scale=0), "scale must be > 0, got 0"),
        (lambda: Placement([[1]], [[1]], [2], maximal=3), "maximal must be true or false, got 3"),
        (
            lambda: Placement([[2]], [[1]], [2], capacities=[[1]]),
            "machine 0: 2 of resource 0 are free, but its",
        ),
        (lambda: Placement([[2]], [[1]], [2], resources=("a", "b")), "resources must be 1 distinct names"),
        (lambda: Placement([[2, 2]], [], [], resources=("a", "a")), "resources must be 2 distinct names"),
        (lambda: SMALL.with_objective("size"), "unknown objective 'size'. Known: count, area, area-duration"),
    ],
)
def test_what_is_refused(make_it: Any, says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        make_it()
    assert str(caught.value).startswith("placement: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("solution", "says"),
    [
        ([[2, 0], [1, 1]], []),
        ([[2, 0]], ["a solution has shape (2, 2), got (1, 2)"]),
        ([[2, 0], [1]], ["a solution has shape (2, 2), got (0, 0)"]),
        ([[0.5, 0], [1, 1]], ["a solution holds whole numbers"]),
        ([[0, -1], [1, 1]], ["task 0: -1 instances on machine 1"]),
        ([[2, 0], [2, 1]], ["task 1: 2 instances wait, but more are placed"]),
        (
            [[3, 0], [1, 0]],
            ["machine 0: 5 of cpu are taken, 4 are free", "machine 0: 7 of memory are taken, 6 are free"],
        ),
        ([[0, 1], [0, 1]], ["machine 1: 3 of cpu are taken, 2 are free"]),
        ([[2**62, 2**62], [0, 0]], ["task 0: 5 instances wait, but more are placed"]),
    ],
)
def test_the_judge(solution: Any, says: list[str]) -> None:
    found = SMALL.violations(solution)
    assert found == says


def test_a_maximal_solution_leaves_nothing_out_that_fits() -> None:
    problem = Placement([[4, 6], [2, 9]], [[1, 2], [2, 1]], [5, 2], maximal=True)
    assert problem.violations([[2, 0], [1, 1]]) == []
    assert problem.violations([[2, 0], [0, 1]]) == ["task 0 still fits on machine 0", "task 1 still fits on machine 0"]
    assert problem.violations([[0, 0], [0, 0]])[-1] == "and 1 more such"
    assert problem.violations([[3, 2], [0, 0]]) == []  # memory of machine 0 and cpu of machine 1 are used up


def test_amounts_beyond_64_bits() -> None:
    """Five machines have 5 * 2**61 of memory, and what is placed may be said to take 2**90."""
    problem = Placement([[64, MEMORY]] * 5, [[1, MEMORY // 3], [0, 1]], [2**31 - 1, 1])
    assert problem.violations([[3] * 5, [1, 0, 0, 0, 0]]) == []  # 2**61 is 3 * (2**61 // 3) + 2
    found = problem.violations([[4, 3, 3, 3, 3], [0] * 5])
    assert found == [f"machine 0: {MEMORY // 3 * 4} of r1 are taken, {MEMORY} are free"]
    found = problem.violations([[2**31 - 1, 0, 0, 0, 0], [0] * 5])
    assert found[1] == f"machine 0: {MEMORY // 3 * (2**31 - 1)} of r1 are taken, {MEMORY} are free"
    assert problem.with_objective("area").values.tolist() == [round((1 / 320 + 1 / 15) * 1e6), 1]


def test_objectives_by_name() -> None:
    problem = Placement([[2, 3]], [[1, 2], [0, 0]], [3, 1], durations=[7, 2], capacities=[[4, 8]])
    assert problem.values.tolist() == [1, 1]
    area = problem.with_objective("area")
    assert (area.values.tolist(), area.scale) == ([500_000, 0], 1_000_000)
    assert problem.with_objective("area-duration").values.tolist() == [3_500_000, 0]
    assert area.with_objective("count") == problem
    assert area.value([[1], [1]]) == 500_000
    with pytest.raises(ModelError, match=r"an instance is worth 1.15292e\+18, which must be below"):
        Placement([[1]], [[1]], [2**30], durations=[2**60], capacities=[[1]]).with_objective("area-duration")
    assert Placement([[1, 0]], [[1, 0]], [1]).with_objective("area").values.tolist() == [1_000_000]  # there is no r1


def test_what_needs_no_solver() -> None:
    all_fit = Placement([[4, 6], [2, 9]], [[1, 2], [2, 1], [9, 9]], [3, 1, 4])
    found = all_fit.trivial()
    assert found is not None
    assert (all_fit.violations(found), found.sum(axis=1).tolist()) == ([], [3, 1, 0])
    assert SMALL.trivial() is None
    nothing = Placement([[1]], [[2], [1]], [3, 0]).trivial()
    assert nothing is not None
    assert nothing.tolist() == [[0], [0]]
    none = Placement([[1]], [], []).trivial()
    assert none is not None
    assert none.shape == (0, 1)
    assert Placement([[1]], [], []).violations([]) == []


def test_it_is_frozen_and_has_a_digest() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SMALL.free[0, 0] = 3
    solution = SMALL.frozen([[2, 0], [1, 1]])
    with pytest.raises(ValueError, match="read-only"):
        solution[0, 0] = 3
    assert SMALL.frozen(solution) is solution  # copied once
    assert len(SMALL) == 2
    assert len({each.digest() for each in (SMALL, SMALL.with_objective("area"), SMALL.with_objective("count"))}) == 3


def test_a_window_and_a_knapsack_are_placements() -> None:
    cluster = Cluster(8, ["gpu"], [4])
    queue = [Job(1, 0, 4, 3600, (1,)), Job(2, 50, 2, 7200, (0,)), Job(3, 60, 1, 60, (0,), depends_on=(2,))]
    window = Window(100, cluster, JobTable.of(queue), JobTable(np.empty((0, 7), np.int64)), [], [5, 3])
    problem = Placement.from_window(window)
    assert problem == Placement(
        [[5, 3]], [[4, 1], [2, 0], [1, 0]], [1, 1, 0], [4, 2, 1], [3600, 7200, 60],
        capacities=[[8, 4]], resources=("nodes", "gpu"),
    )  # fmt: skip
    knapsack = Knapsack([5, -1, 3], [2, 1, 2], 3, 10)
    assert Placement.from_knapsack(knapsack) == Placement([[3]], [[2], [1], [2]], [1, 0, 1], [5, 0, 3], scale=10)
