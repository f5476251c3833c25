from __future__ import annotations

import math
from time import process_time

import numpy as np
import pytest

from transom.errors import StopError
from transom.models import Knapsack
from transom.stop import Budget, Stop, WrongAnswer, relative_gap

pytestmark = pytest.mark.fast

PROBLEM = Knapsack([5, 4, 3], [3, 2, 2], 4)  # the optimum is 7


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def budget(clock: Clock | None = None, **stop: float) -> Budget:
    return Budget(Stop(**stop), PROBLEM, 1, clock or Clock())


@pytest.mark.parametrize(
    "stop",
    [
        {"seconds": 0},
        {"seconds": -1},
        {"seconds": math.nan},
        {"seconds": math.inf},
        {"iterations": -1},
        {"target": math.nan},
        {"gap": -0.1},
        {"gap": math.nan},
        {"stall": 0},
    ],
)
def test_a_stop_out_of_range_is_refused(stop: dict) -> None:
    with pytest.raises(StopError, match=f"stop: {next(iter(stop))}"):
        Stop(**stop)


def test_time() -> None:
    clock = Clock()
    state = budget(clock, seconds=2)
    assert not state.done()
    clock.now = 1.5
    assert state.seconds_left() == 0.5
    clock.now = 2.5
    assert state.seconds_left() == 0
    assert state.done()
    assert state.reason == "time"
    assert budget().seconds_left() == math.inf


def test_iterations_and_stall() -> None:
    state = budget(iterations=10, stall=4)
    assert state.iterations_left() == 4
    state.spend(3)
    state.found([1, 0, 0])
    assert state.iterations_left() == 4
    state.spend(4)
    assert state.done()
    assert state.reason == "stall"
    state = budget(iterations=3)
    state.spend(3)
    assert (state.done(), state.reason, state.iterations_left()) == (True, "iterations", 0)
    assert budget().iterations_left() is None


def test_solutions_are_judged_and_kept() -> None:
    clock = Clock()
    state = budget(clock)
    with pytest.raises(WrongAnswer, match="weight 5 exceeds"):
        state.found([1, 1, 0])
    assert state.found([1, 0, 0])
    clock.now = 1
    assert not state.found([0, 1, 0])
    assert state.found([0, 1, 1])
    assert (state.value, state.solution.tolist()) == (7, [False, True, True])
    assert state.curve == [(0.0, 5, None), (1.0, 7, None)]
    with pytest.raises(ValueError, match="read-only"):
        state.solution[0] = True


def test_bounds_only_get_better_and_prove() -> None:
    state = budget(gap=0.2)
    state.prove(math.inf)
    assert state.bound is None
    state.prove(12)
    state.prove(15)
    assert state.bound == 12
    state.found([0, 1, 1])
    assert not state.done()
    state.prove(8)
    assert (state.done(), state.reason) == (True, "gap")
    state.prove(7)
    assert state.optimal
    assert (state.done(), state.reason) == (True, "proof")


def test_target() -> None:
    state = budget(target=5)
    state.found([0, 1, 0])
    assert not state.done()
    state.found([1, 0, 0])
    assert (state.done(), state.reason) == (True, "target")


def test_the_gap_is_unknown_while_a_side_is() -> None:
    assert relative_gap(None, 3) is None
    assert relative_gap(3, None) is None
    assert relative_gap(4, 5) == 0.25
    assert relative_gap(0, 1) == pytest.approx(1e9)


def test_a_stop_is_data_and_a_budget_is_fresh() -> None:
    stop = Stop(iterations=1)
    first = stop.start(PROBLEM)
    first.spend()
    assert first.done()
    assert not stop.start(PROBLEM).done()


def test_a_budget_remembers_that_time_was_too_short() -> None:
    now = [0.0]
    budget = Budget(Stop(seconds=10), Knapsack([1], [1], 1), clock=lambda: now[0])
    assert not budget.short(3)
    now[0] = 8.0
    assert budget.short(3)
    assert budget.ran_short
    assert not budget.done()
    assert not budget.short(1)
    assert not budget.ran_short, "what it needs next is what counts"
    assert not Budget(Stop(), Knapsack([1], [1], 1)).short(1e9)


def test_only_wall_time_limits_those_who_look_at_the_wall_clock() -> None:
    problem = Knapsack([1], [1], 1)
    assert 0 < Stop(seconds=60).start(problem).wall_seconds_left() <= 60
    assert Stop().start(problem).wall_seconds_left() == math.inf
    budget = Stop(seconds=60).start(problem, clock=process_time)
    assert budget.wall_seconds_left() == math.inf
    assert budget.nested(Stop(seconds=1), problem).wall_seconds_left() == math.inf
    assert budget.seconds_left() <= 60


def test_a_budget_is_reported_as_it_gets_better() -> None:
    problem, seen = Knapsack([1, 2], [1, 1], 1), list[tuple[float | None, float | None, bool]]()
    budget = Stop().start(problem, report=lambda budget: seen.append((budget.value, budget.bound, budget.infeasible)))
    for chosen in ([True, False], [True, False], [False, True]):
        budget.found(np.array(chosen))
    budget.prove(3.0)
    budget.prove(4.0)
    budget.prove_infeasible()
    assert seen == [(1, None, False), (2, None, False), (2, 3.0, False), (2, 3.0, True)]
