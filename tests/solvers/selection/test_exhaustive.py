"""Every choice of a few jobs: against two enumerations, in pieces, with little memory, at its limit."""

from __future__ import annotations

import tracemalloc
from functools import partial
from itertools import count, pairwise

import numpy as np
import pytest

from tests.selection_cases import Values, random_selection, true_front, values_of
from tests.timing import used
from transom import Stop, check, solve
from transom.errors import SpecError, UnsupportedError
from transom.models import Selection
from transom.models.pareto_front import nondominated
from transom.models.selection_reduction import reduce_selection
from transom.solvers.selection.exhaustive import Exhaustive, estimate, largest
from transom.solvers.selection.subsets import Subsets, decision_order


def enumerated(problem: Selection) -> Values:
    """The values of the front by numpy: a table of all choices."""
    every = (np.arange(2 ** len(problem))[:, None] >> np.arange(len(problem)) & 1).astype(bool)
    values = np.unique(problem.evaluate(every[problem.feasible(every)]), axis=0)
    return {tuple(value) for value in values[nondominated(values)].tolist()}


def half(jobs: int, resources: int, seed: int = 0, largest_demand: int = 2000) -> Selection:
    """A window of which about half of the jobs fit together: the hardest ones."""
    demands = np.random.default_rng(seed).integers(1, largest_demand, (jobs, resources))
    return Selection(demands, demands.sum(axis=0) // 2)


def test_it_equals_plain_enumeration() -> None:
    rng = np.random.default_rng(0)
    kinds = set()
    for _ in range(90):
        problem = random_selection(rng)
        result = solve(problem, "exhaustive", Stop())
        kinds.add(result.status)
        assert result.error is None
        if result.status == "infeasible":
            assert not true_front(problem)
            continue
        assert result.status == "optimal"
        assert values_of(result.solution) == true_front(problem)
        assert check(problem, result) == []
    assert kinds == {"optimal", "infeasible"}


@pytest.mark.parametrize("largest_demand", [1, 3, 1000])
@pytest.mark.parametrize("terms", [False, True])
def test_it_equals_a_table_of_all_choices_up_to_sixteen_jobs(largest_demand: int, terms: bool) -> None:
    rng = np.random.default_rng(largest_demand)
    for resources in range(1, 7):
        jobs = int(rng.integers(12, 17))
        problem = random_selection(
            rng, jobs, resources, largest=largest_demand, terms=terms, marks=resources % 2 == 0, tightness=0.4
        )
        result = solve(problem, "exhaustive", Stop())
        expected = enumerated(problem)
        assert result.status == ("optimal" if expected else "infeasible")
        if expected:
            assert values_of(result.solution) == expected
            assert result.parameters.get("front") != "not complete"


def test_a_budget_of_ten_milliseconds_is_searched_in() -> None:
    # A clock on which each look takes a moment: no more than handing the front over may be kept free of the budget.
    moments = count()
    problem = half(20, 3)
    problem.warm_up()
    budget = Stop(seconds=0.01).start(problem, clock=lambda: 2e-5 * next(moments))
    Exhaustive()(problem, budget, np.random.default_rng(0))
    assert budget.optimal
    assert budget.notes["front"] == "complete"


def test_a_search_that_is_cut_short_knows_both_ends_of_the_front() -> None:
    problem = half(40, 2)
    budget = Stop(iterations=1).start(problem)
    Exhaustive(limit=60)(problem, budget, np.random.default_rng(0))
    assert budget.solution is not None
    best = budget.solution.values.max(axis=0)
    for term in range(2):
        order = np.argsort(-problem.objectives[:, term] / problem.demands.sum(axis=1), kind="stable")
        greedy = Selection(problem.demands[order], problem.capacity).greedy_complete(np.zeros((1, 40), bool))[0]
        assert best[term] >= problem.objectives[order[greedy], term].sum()


def test_equal_jobs_are_taken_in_order() -> None:
    problem = Selection(np.tile([[3, 2]], (40, 1)), [50, 31])
    result = solve(problem, "exhaustive:limit=60", Stop())
    assert result.status == "optimal"
    assert np.flatnonzero(result.solution.selections[0]).tolist() == list(range(15))


def test_equal_jobs_stand_together_wherever_they_are_in_the_queue() -> None:
    kinds = np.array([[9, 2], [9, 3], [5, 9], [9, 2]])
    reduced = reduce_selection(Selection(np.tile(kinds, (6, 1)), np.array([40, 31])))
    assert reduced is not None
    order = decision_order(reduced)
    rows = [tuple(row) for row in reduced.demands[order].tolist()]
    assert sum(a != b for a, b in pairwise(rows)) == 2
    assert all(i < j for i, j, a, b in zip(order, order[1:], rows, rows[1:], strict=False) if a == b)
    assert (
        solve(Selection(np.tile(kinds, (12, 1)), np.array([90, 60])), "exhaustive:limit=60", Stop()).status == "optimal"
    )


def test_jobs_are_decided_after_those_they_require() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        problem = random_selection(rng, 9, marks=True)
        reduced = reduce_selection(problem)
        if reduced is None or not len(reduced.jobs):
            continue
        order = decision_order(reduced)
        place = np.argsort(order)
        assert sorted(order.tolist()) == list(range(len(reduced.jobs)))
        assert all(place[other] < place[job] for job, other in np.argwhere(reduced.parents).tolist())


@pytest.mark.parametrize("piece", [1, 7, 1000])
def test_the_front_does_not_depend_on_the_pieces(piece: int) -> None:
    problem = half(12, 4)
    reduced = reduce_selection(problem)
    assert reduced is not None
    subsets, spent = Subsets(reduced, 2**20), 0
    while not subsets.finished:
        spent += subsets.go_on(piece)
    front = problem.front(reduced.selections(subsets.chosen()))
    assert values_of(front) == enumerated(problem)
    whole = Subsets(reduced, 2**20)
    assert whole.go_on(10**9) == spent


def test_iterations_are_kept_and_add_up() -> None:
    problem = half(24, 6)
    values = []
    for iterations in (0, 1, 2, 6):
        first, second = (solve(problem, "exhaustive", Stop(iterations=iterations)) for _ in range(2))
        assert first.reason == "iterations"
        assert first.parameters["front"] == "not complete"
        assert check(problem, first) == []
        assert first.solution == second.solution
        values.append(first.value)
    assert all(b >= a for a, b in pairwise(values))
    assert values[-1] > values[0]


def test_one_iteration_is_enough_for_fourteen_jobs() -> None:
    for resources in (1, 2, 8):
        assert solve(half(14, resources, largest_demand=10**6), "exhaustive", Stop(iterations=1)).status == "optimal"


def test_seconds_are_kept() -> None:
    problem = half(40, 5)
    Exhaustive().warm_up()
    for seconds in (0.05, 0.3, 1.0):
        result = solve(problem, "exhaustive:limit=60", Stop(seconds=seconds))
        assert result.status == "feasible"
        assert check(problem, result) == []
        assert used(partial(solve, problem, "exhaustive:limit=60", Stop(seconds=seconds)), 4 * seconds) <= 4 * seconds


def test_a_start_is_never_lost() -> None:
    problem = half(40, 5)
    start = solve(problem, "exhaustive:limit=60", Stop(iterations=4)).solution
    result = solve(problem, "exhaustive:limit=60", Stop(iterations=1), start=start)
    merged = problem.merged(start, result.solution)
    assert values_of(merged) == values_of(result.solution)


def test_what_is_known_is_not_looked_for_again() -> None:
    rng = np.random.default_rng(4)
    for problem in (half(16, 4), half(14, 3, 1), random_selection(rng, 14, 4, marks=True, tightness=0.4)):
        alone = solve(problem, "exhaustive", Stop())
        front = alone.solution
        again = solve(problem, "exhaustive", Stop(), start=front)
        assert again.status == "optimal"
        assert again.solution == front
        part = problem.front(front.selections[::3])
        assert values_of(solve(problem, "exhaustive", Stop(), start=part).solution) == values_of(front)
    reduced = reduce_selection(problem)
    assert reduced is not None
    spent = []
    for known in (front.selections[:0], front.selections):
        subsets = Subsets(reduced, 2**20)
        subsets.know(known[:, reduced.jobs])
        spent.append(subsets.go_on(10**9))
    assert spent[1] < spent[0]


def test_twenty_four_jobs_with_four_resources_are_complete() -> None:
    result = solve(half(24, 4), "exhaustive", Stop(seconds=20))
    assert result.status == "optimal"
    assert len(result.solution) > 100


def test_where_memory_runs_out_the_front_is_not_complete() -> None:
    problem = half(28, 10)
    result = solve(problem, "exhaustive:memory=1,limit=28", Stop(seconds=20))
    assert result.status == "feasible"
    assert result.reason == "finished"
    assert (result.parameters["memory"], result.parameters["front"]) == ("ran out", "not complete")
    assert check(problem, result) == []


def test_memory_is_kept() -> None:
    reduced = reduce_selection(half(22, 10))
    assert reduced is not None
    subsets = Subsets(reduced, 2 * 2**20)
    tracemalloc.start()
    try:
        while not (subsets.finished or subsets.outgrown):
            subsets.go_on(10_000)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert subsets.outgrown
    assert most < 2.5 * 2**20


def test_what_is_too_large_is_refused_with_an_estimate() -> None:
    problem = half(29, 4)
    assert Exhaustive().supports(half(28, 4)) is None
    reason = str(Exhaustive().supports(problem))
    assert "29 jobs fit alone, more than 28" in reason
    assert "limit=29 lets it try" in reason
    assert Exhaustive(limit=29).supports(problem) is None
    assert "limit=10" in str(Exhaustive(limit=10).supports(problem))
    assert "500 jobs" in str(Exhaustive().supports(half(500, 2)))
    with pytest.raises(UnsupportedError, match="29 jobs"):
        solve(problem, "exhaustive")
    # Only jobs that fit alone count.
    many = Selection(np.full((500, 1), 7) - np.eye(500, 1, dtype=int), [6])
    assert solve(many, "exhaustive").status == "optimal"
    for bad in ("limit=-1", "limit=61", "memory=0"):
        with pytest.raises(SpecError):
            solve(problem, f"exhaustive:{bad}")


def test_the_limit_follows_memory_and_objectives() -> None:
    assert largest(4, 512) == 28
    assert largest(10, 512) == 26
    assert largest(4, 1) < largest(4, 64) < largest(4, 2048)
    assert largest(40, 2**20) < 24, "time limits it as well"
    assert estimate(24, 4)[0] < 0.5


def test_edges() -> None:
    for demands, capacity in (([[1]], [0]), ([[0]], [0]), ([[3], [3]], [2]), ([[2], [2]], [2])):
        result = solve(Selection(demands, capacity), "exhaustive")
        assert result.status == "optimal"
    nobody = Selection(np.zeros((0, 2), int), [5, 5])
    budget = Stop().start(nobody)
    Exhaustive()(nobody, budget, np.random.default_rng(0))
    assert budget.optimal
    impossible = Selection([[3], [1]], [2], forced=[True, False])
    budget = Stop().start(impossible)
    Exhaustive()(impossible, budget, np.random.default_rng(0))
    assert budget.infeasible
