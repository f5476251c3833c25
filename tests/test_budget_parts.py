"""Parts of a budget, for one of several solvers."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop
from transom.models import Knapsack, Selection
from transom.solvers.auto.auto import share_of

pytestmark = pytest.mark.fast


def selection() -> Selection:
    demands = np.arange(1, 25).reshape(12, 2)
    return Selection(demands, demands.sum(axis=0) // 2)


def test_a_part_hands_all_on() -> None:
    problem = selection()
    whole = Stop(seconds=100, iterations=11).start(problem)
    part = share_of(whole, 0.5)
    assert 49 < part.seconds_left() <= 50
    assert part.iterations_left() == 6
    part.notes["front"] = "not complete"
    part.spend(5)
    assert part.found(problem.front(np.zeros((1, 12), bool)))
    assert (whole.iterations, whole.notes["front"], whole.solution) == (5, "not complete", part.solution)
    part.spend(1)
    assert part.done()
    assert part.reason == "iterations"
    assert not whole.done()
    part.prove(1.0)
    assert whole.bound == 1.0
    part.prove_infeasible()
    assert whole.infeasible
    assert share_of(Stop().start(problem), 0.5).iterations_left() is None


def test_a_part_ends_with_the_whole_and_by_its_own_stall() -> None:
    whole = Stop(target=10).start(Knapsack([10, 1], [1, 1], 1))
    part = whole.part(stall=3)
    part.spend(2)
    assert not part.done()
    part.spend(1)
    assert (part.done(), part.reason) == (True, "stall")
    other = whole.part(Knapsack([2, 1], [1, 1], 1))
    assert not other.done()
    whole.found(np.array([1, 0]))
    assert (other.done(), other.reason) == (True, "target")


def test_what_a_part_finds_for_another_problem_is_reported() -> None:
    whole = Stop().start(Knapsack([20, 10], [1, 1], 1))
    found, proved = list[int](), list[float]()
    part = whole.part(
        Knapsack([2, 1], [1, 1], 1), found=lambda solution: found.append(int(solution[1])), prove=proved.append
    )
    assert part.found(np.array([0, 1]))
    assert part.found(np.array([1, 0]))
    assert not part.found(np.array([0, 1]))
    part.prove(3)
    part.prove(4)
    part.prove(2)
    assert (found, proved, part.value, whole.value) == ([1, 0], [3, 2], 2, None)
    assert part.done()
    assert not whole.done()


def test_what_a_part_does_not_count_no_budget_counts() -> None:
    now = [0.0]
    whole = Stop(seconds=10).start(Knapsack([1], [1], 1), clock=lambda: now[0])
    part = whole.part(seconds=4)
    with part.uncounted():
        now[0] = 50.0
    now[0] = 52.0
    assert (part.seconds(), whole.seconds(), part.done()) == (2.0, 2.0, False)
