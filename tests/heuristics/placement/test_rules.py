"""Rules of placement, each on a window where it can be told from the others by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tests.placement_cases import random_placement
from transom import Placement, Stop, registry, solve
from transom.errors import SpecError
from transom.models.arrays import IntArray
from transom.testing import check_solver

RULES = (
    "first-fit", "best-fit", "greedy", "tetris", "tetris-as-coded", "drf", "longest-first", "shortest-first", "random",
)  # fmt: skip


def placed(problem: Placement, spec: str, seed: int = 0) -> list[list[int]]:
    result = solve(problem, spec, Stop(), seed)
    assert result.error is None
    assert result.solution is not None
    found: list[list[int]] = result.solution.tolist()
    return found


@pytest.mark.parametrize("spec", [*(rule for rule in RULES if rule != "tetris-as-coded"), "tetris:weights=2/1"])
def test_a_rule_keeps_what_solvers_keep(spec: str) -> None:
    two = [problem for problem in _examples() if problem.free.shape[1] == 2 or "weights" not in spec]
    check_solver(spec, two, reference="placement-exact")


def _examples() -> list[Placement]:
    from transom.generate.instances.examples import placements

    return placements()


@pytest.mark.parametrize("spec", [*RULES, "local-search"])
def test_nothing_is_left_out_that_fits(spec: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(60):
        given = random_placement(rng)
        if spec == "tetris-as-coded" and given.free.shape[1] != 2:
            continue
        problem = Placement(given.free, given.demands, given.waiting, given.values, given.durations, maximal=True)
        result = solve(problem, spec, Stop(iterations=50))
        assert result.error is None
        assert problem.violations(result.solution) == []


def test_first_and_best_fit() -> None:
    problem = Placement([[9], [5], [7]], [[4], [3]], [2, 2], capacities=[[10]] * 3)
    assert placed(problem, "first-fit") == [[2, 0, 0], [0, 1, 1]]
    assert placed(problem, "best-fit") == [[0, 1, 1], [1, 0, 1]]


def test_room_is_a_share_of_the_capacity() -> None:
    problem = Placement([[6], [5]], [[4]], [1], capacities=[[60], [5]])
    assert placed(problem, "best-fit") == [[1, 0]]
    assert placed(problem, "longest-first") == [[0, 1]]


def test_longest_and_shortest_first() -> None:
    problem = Placement([[4], [6]], [[3], [3], [3]], [1, 1, 2], durations=[5, 60, 20])
    assert placed(problem, "longest-first") == [[0, 0], [1, 0], [0, 2]]
    assert placed(problem, "shortest-first") == [[1, 0], [0, 0], [0, 2]]


def test_greedy_takes_the_most_valuable_for_its_size_first() -> None:
    problem = Placement([[10, 10]], [[9, 1], [2, 2]], [1, 5], [10, 5])
    assert placed(problem, "greedy") == [[0], [5]]
    assert placed(problem, "first-fit") == [[1], [0]]


def test_tetris_aligns_what_is_free_with_what_is_asked_for() -> None:
    # Machine 0 has memory, machine 1 CPU; alignment places each task where its main resource is free.
    problem = Placement([[2, 9], [9, 2]], [[2, 1], [1, 2]], [2, 2], capacities=[[10, 10]] * 2)
    assert placed(problem, "tetris") == [[0, 2], [2, 0]]
    # As coded CPU weighs 64 times: where CPU is free comes first, and what asks for more of it.
    wide = Placement([[4, 9], [9, 4]], [[2, 1], [1, 9]], [1, 1], capacities=[[10, 10]] * 2)
    assert placed(wide, "tetris-as-coded") == [[0, 1], [1, 0]]
    both = Placement([[4, 9]], [[2, 1], [1, 9]], [1, 1], capacities=[[10, 10]])
    assert placed(both, "tetris") == [[0], [1]]
    assert placed(both, "tetris-as-coded") == [[1], [0]]


def test_dominant_resource_fairness_as_in_its_paper() -> None:
    """The example of section 4.1: 9 CPUs and 18 GB, tasks of 1 CPU and 4 GB against tasks of 3 CPUs and 1 GB."""
    problem = Placement([[9, 18]], [[1, 4], [3, 1]], [10, 10])
    assert placed(problem, "drf") == [[3], [2]]
    assert placed(problem, "first-fit") == [[4], [1]]


def test_random_takes_each_pair_equally_often() -> None:
    problem = Placement([[1, 0], [2, 1]], [[1, 0], [0, 1], [1, 1]], [1, 1, 1])
    # The first pair decides where the third task can still go: all pairs are (0, 0), (0, 1), (1, 1), (2, 1).
    first = np.zeros((3, 2))
    alone = Placement([[1], [1]], [[1], [1]], [1, 1])
    counts = sum(np.array(placed(alone, "random", seed)) for seed in range(400))
    assert (np.abs(np.array(counts) - 200) < 60).all()
    for seed in range(300):
        first += np.array(placed(problem, "random", seed))
    assert (first[[0, 0, 1, 2], [0, 1, 1, 1]] > 0).all()
    assert placed(problem, "random", 7) == placed(problem, "random", 7)


@pytest.mark.parametrize("rule", ["tetris", "drf", "random"])
def test_what_is_left_when_the_time_is_over_goes_by_first_fit(rule: str) -> None:
    problem = Placement([[2, 6], [6, 2]], [[2, 1], [1, 2], [1, 1]], [2, 2, 2])
    # The clock stands still: what decides is the estimate of what first fit takes.
    late = solve(problem, rule, Stop(seconds=1e-9), clock=lambda: 0.0)
    assert late.solution.tolist() == placed(problem, "first-fit") != placed(problem, rule)
    assert late.parameters["ended"].startswith("early")


def test_many_instances_go_in_groups() -> None:
    waiting = 2**31 - 1
    problem = Placement([[2**61, 5], [2**61, 5]], [[1, 0], [0, 0], [3, 0]], [waiting] * 3, [1, 1, 1], maximal=True)
    for rule in RULES:
        result = solve(problem, rule, Stop(seconds=5))
        assert (result.status, result.value) == ("optimal", 3 * waiting)


@pytest.mark.parametrize("weights", ["a", "1/0", "1/-2", "1/inf", "1//2", "nan"])
def test_weights_are_numbers(weights: str) -> None:
    with pytest.raises(SpecError, match="tetris: weights must be numbers > 0"):
        registry.make(registry.SOLVERS, f"tetris:weights={weights}", Placement)


def test_a_weight_for_each_resource() -> None:
    solver = registry.make(registry.SOLVERS, "tetris-as-coded", Placement)
    assert solver.supports(Placement([[1]], [[1]], [1])) == "2 weights are stated, it has 1 resources"


def test_what_was_better_before_counts() -> None:
    problem = Placement([[3]], [[2], [3]], [1, 1], [1, 9])
    start: IntArray = np.array([[0], [1]])
    assert solve(problem, "first-fit", Stop(), start=start).value == 9
