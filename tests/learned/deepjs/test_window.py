"""The solver ``deepjs``: on a window it decides as the policy does in a replay at that instant."""

from __future__ import annotations

import numpy as np
import pytest

from tests.learned.deepjs.plain import two_resources
from transom import Placement, Stop, solve
from transom.learned.deepjs import window as module
from transom.learned.deepjs.policy import deepjs
from transom.learned.deepjs.window import DeepJs, placeable
from transom.simulation.placement.replay import simulate_tasks
from transom.traces.tasks import TaskWorkload


def all_at_once(seed: int) -> TaskWorkload:
    """Tasks that are all submitted at 0, on machines of up to 64 cores, as the network knows them."""
    rng = np.random.default_rng((seed, 2))
    work = two_resources(seed)
    machines = rng.integers(20, 64, (len(work.machines), 2))
    machines[0] = 64
    return two_resources(seed, machines=machines, units=[1, 64], submit=np.zeros(len(work.submit)))


def window_of(work: TaskWorkload) -> Placement:
    durations = np.ceil(work.estimate).astype(np.int64)
    return Placement(
        work.machines, work.demands, work.instances, durations=durations, maximal=True, resources=("cpu", "memory")
    )


def test_a_window_is_decided_as_in_a_replay() -> None:
    placed = 0
    for seed in range(1, 13):
        work = all_at_once(seed)
        result = solve(window_of(work), "deepjs:greedy=yes", Stop(seconds=5))
        batches = simulate_tasks(work, deepjs(greedy="yes"), seed=0).batches
        first = batches[batches[:, 2] == 0]
        expected = np.zeros((len(work), len(work.machines)), np.int64)
        np.add.at(expected, (first[:, 0], first[:, 1]), first[:, 4])
        assert result.solution is not None
        assert np.array_equal(result.solution, expected), seed
        placed += int(expected.sum())
    assert placed > 60


def test_drawn_pairs_depend_on_the_seed() -> None:
    problem = window_of(all_at_once(3))
    one, same, other = (solve(problem, "deepjs:greedy=no", Stop(seconds=5), seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.solution, same.solution)
    assert not np.array_equal(one.solution, other.solution)


def test_without_time_the_rest_goes_where_it_first_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    # One decision is taken before the clock is looked at again, and then the time is over.
    monkeypatch.setattr(module, "_WORK", 1)
    problem = window_of(all_at_once(5))
    looks = iter([1.0, 0.0])

    class Short:
        value = None

        def seconds_left(self) -> float:
            return next(looks)

        def found(self, solution: np.ndarray) -> None:
            self.solution = solution

    budget = Short()
    DeepJs()(problem, budget, np.random.default_rng(0))
    assert problem.violations(budget.solution) == []  # it is maximal
    assert budget.solution.sum() > 1


def test_what_could_be_placed_is_counted_machine_by_machine() -> None:
    problem = Placement([[8, 4], [3, 9]], [[3, 1], [0, 5], [0, 0]], [9, 9, 7], resources=("cpu", "memory"))
    assert placeable(problem).tolist() == [3, 1, 7]
    assert placeable(Placement([[8, 4]], [[1, 1]], [2], resources=("cpu", "memory"))).tolist() == [2]


@pytest.mark.parametrize(
    ("problem", "why"),
    [
        (Placement([[1]], [[1]], [1], resources=("nodes",)), "knows cpu and memory, its resources are nodes"),
        (Placement([[2**40] * 2], [[1, 1]], [2**30], resources=("cpu", "memory")), "more than 1,000,000 instances"),
    ],
)
def test_what_it_cannot_take_is_refused(problem: Placement, why: str) -> None:
    assert why in str(DeepJs().supports(problem))
    assert DeepJs().supports(window_of(all_at_once(1))) is None
