"""BBSched's genetic algorithm: populations, survival, ends."""

from __future__ import annotations

import numpy as np
import pytest

from tests.heuristics.selection.test_nsga2 import window
from tests.selection_cases import random_selection, true_front, values_of
from transom import Stop, check, solve
from transom.errors import SpecError
from transom.heuristics.selection.bbsched import BBSchedGenetic, _draw, _survive
from transom.models import Selection


def test_the_published_numbers() -> None:
    published = BBSchedGenetic()
    # 2**w / 50 between 10 and 25.
    assert [published.size(jobs) for jobs in (3, 9, 10, 11, 20, 500)] == [10, 11, 21, 25, 25, 25]
    result = solve(window(1), published, Stop(seconds=30))
    assert result.reason == "finished"
    assert check(window(1), result) == []


def generations(problem: Selection, spec: str, stop: Stop) -> int:
    """How many it takes to end."""
    from transom import registry

    solver = registry.make(registry.SOLVERS, spec, Selection)
    budget = stop.start(problem)
    solver(problem, budget, np.random.default_rng(0))
    return budget.iterations


def test_generations_are_capped_by_the_number_of_selections() -> None:
    small = Selection([[2], [3], [4], [5], [6]], [9])
    assert generations(small, "bbsched-ga", Stop()) == 4  # a tenth of 2**5, rounded up
    assert generations(small, "bbsched-ga:cap=1", Stop()) == 32
    assert generations(window(1), "bbsched-ga", Stop()) == 50
    assert generations(window(1), "bbsched-ga:generations=0", Stop()) == 0
    assert generations(window(1), "bbsched-ga", Stop(iterations=20)) == 20
    assert generations(window(1), "bbsched-ga:generations=none", Stop(iterations=700)) == 700
    assert generations(small, "bbsched-ga:generations=none", Stop(iterations=70)) == 70
    assert generations(window(1), "bbsched-ga:generations=none", Stop()) == 50


def test_survivors_by_hand() -> None:
    values = np.array([[3, 1], [1, 3], [2, 2], [2, 2], [1, 1], [0, 1], [4, 0]])
    birth = np.array([0, 1, 1, 2, 2, 3, 3])
    rows = np.eye(7, dtype=bool)

    def kept(size: int) -> list[int]:
        left, members = rows.copy(), values.copy()
        count = _survive(left, members, birth.copy(), 7, size)
        assert np.array_equal(members[:count], values[left[:count].argmax(axis=1)])
        return left[:count].argmax(axis=1).tolist()

    # 3 is the twin of 2; nobody dominates 0, 1, 2 and 6; of the others 5 is younger than 4.
    assert kept(7) == [0, 1, 2, 4, 5, 6]
    assert kept(5) == [0, 1, 2, 5, 6]
    assert kept(4) == [0, 1, 2, 6]
    assert kept(3) == [1, 2, 6]
    assert kept(1) == [6]


def test_drawn_rows_are_feasible() -> None:
    rng = np.random.default_rng(1)
    demands, room = rng.integers(0, 9, (12, 3)), np.array([20, 15, 10])
    rows = np.zeros((50, 12), bool)
    orders = rng.permuted(np.tile(np.arange(12), (50, 1)), axis=1)
    _draw(rows, orders, demands, room, np.array([[3, 4], [4, 5]]))
    assert (rows @ demands <= room).all()
    assert not (rows[:, 3] & ~rows[:, 4]).any()
    assert not (rows[:, 4] & ~rows[:, 5]).any()
    assert len(np.unique(rows, axis=0)) > 20


@pytest.mark.parametrize("options", ["", "archive=yes", "prune=no", "prune=no,archive=yes", "generations=0"])
def test_answers_are_fronts(options: str) -> None:
    rng = np.random.default_rng(4)
    for seed in range(25):
        problem = random_selection(rng)
        result = solve(problem, f"bbsched-ga:{options}" if options else "bbsched-ga", Stop(seconds=20), seed=seed)
        assert result.error is None
        assert check(problem, result) == []
        assert (result.solution is None) == (not true_front(problem))


def test_without_pruning_the_chromosome_is_the_whole_window() -> None:
    demands = np.vstack((np.full((10, 2), 100), window(2, 12, 2).demands))
    problem = Selection(demands, np.array([90, 90]))
    pruned, whole = (solve(problem, f"bbsched-ga:prune={prune}", Stop(iterations=5), seed=3) for prune in ("yes", "no"))
    assert check(problem, pruned) == check(problem, whole) == []
    blocked = Selection([[5], [7], [2], [2], [3]], [6], requires=((2, 1),))
    assert values_of(solve(blocked, "bbsched-ga:prune=no", Stop(iterations=30)).solution) == true_front(blocked)


def test_an_archive_is_never_worse_and_time_helps() -> None:
    problem = window(5, 22, 3)
    last, all_met = (
        solve(problem, f"bbsched-ga:generations=none,archive={each}", Stop(iterations=400), seed=6)
        for each in ("no", "yes")
    )
    assert all_met.value >= last.value
    longer = solve(problem, "bbsched-ga:generations=none,archive=yes", Stop(iterations=5000), seed=6)
    assert longer.value >= all_met.value


def test_it_runs_to_the_end_of_the_time() -> None:
    for archive in ("no", "yes"):
        result = solve(window(6, 24, 4), f"bbsched-ga:generations=none,archive={archive}", Stop(seconds=0.2))
        assert result.error is None
        assert result.seconds > 0.1
        assert result.solution is not None


def test_a_stall_ends_it() -> None:
    result = solve(window(7, 24, 3), "bbsched-ga:generations=none", Stop(stall=30, iterations=100_000))
    assert result.reason == "stall"


@pytest.mark.parametrize(
    "options",
    [
        {"generations": -1},
        {"cap": 0.0},
        {"share": 0.0},
        {"smallest": 1},
        {"smallest": 30},
        {"mutation": 1.5},
        {"mutation": float("nan")},
    ],
)
def test_wrong_parameters_are_errors(options: dict[str, float]) -> None:
    with pytest.raises(SpecError):
        BBSchedGenetic(**options)
