"""pareto-dp against plain enumeration, and its parts against what they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.selection_cases import random_selection, true_front, values_of
from tests.timing import used
from transom import Stop, check, registry, solve
from transom.errors import SpecError
from transom.models import Selection
from transom.models.pareto_front import nondominated
from transom.result import Result
from transom.solvers.selection import pareto_search
from transom.solvers.selection.pareto_dp import ParetoDp
from transom.solvers.selection.pareto_lists import bits, bound, chosen, limits
from transom.solvers.selection.pareto_tree import Tree, needed

Values = set[tuple[int, ...]]


def enumerated(problem: Selection) -> Values:
    """The values of the front by numpy, all subsets at once."""
    jobs = len(problem)
    choices = (np.arange(2**jobs)[:, None] >> np.arange(jobs) & 1).astype(bool)
    choices = choices[problem.feasible(choices)]
    if not len(choices):
        return set()
    values = np.unique(problem.evaluate(choices), axis=0)
    return {tuple(value) for value in values[nondominated(values)].tolist()}


def agrees(problem: Selection, **parameters: int) -> Values:
    result = solve(problem, ParetoDp(**parameters), Stop(seconds=60))
    assert result.error is None
    assert check(problem, result) == []
    best = enumerated(problem)
    if not best:
        assert result.status == "infeasible"
        return best
    assert result.status == "optimal"
    assert result.parameters.get("front", "complete") == "complete"
    assert values_of(result.solution) == best
    return best


def test_enumeration_is_the_plain_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(40):
        problem = random_selection(rng, int(rng.integers(0, 8)))
        assert enumerated(problem) == true_front(problem)


@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in (1, 2, 3))])
def test_two_thousand_random_windows_are_complete(part: int) -> None:
    """Up to 16 jobs and 6 resources, many ties, further objectives, forced, excluded and required jobs."""
    rng = np.random.default_rng(100 + part)
    sizes = [int(rng.integers(0, 9)) for _ in range(400)] + [int(rng.integers(9, 13)) for _ in range(80)]
    sizes += [int(rng.integers(13, 17)) for _ in range(20)]
    points = [len(agrees(random_selection(rng, jobs, int(rng.integers(1, 7))))) for jobs in sizes]
    assert max(points) > 10


@pytest.mark.parametrize("largest", [1, 2, 40, 10**6])
def test_little_help_from_the_start_changes_nothing(largest: int) -> None:
    rng = np.random.default_rng(largest)
    for tightness in (0.2, 0.5, 0.8):
        for terms in (False, True):
            problem = random_selection(rng, 13, 3, largest=largest, terms=terms, marks=False, tightness=tightness)
            agrees(problem, starts=1, exchanges=0)


@pytest.mark.parametrize("size", [1, 3, 6])
def test_neighbourhoods_leave_the_front_as_it_is(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows small enough to enumerate, and neighbourhoods smaller than those, beside lists of any length."""
    monkeypatch.setattr(pareto_search, "_SIZES", ((2**62, size),))
    monkeypatch.setattr(pareto_search, "_LONG", 4)
    rng = np.random.default_rng(size)
    for _ in range(50):
        problem = random_selection(rng, int(rng.integers(7, 13)), int(rng.integers(1, 5)))
        agrees(problem, starts=1, exchanges=0, neighbourhoods=3)


def test_a_perfect_fit_ends_the_search_of_a_large_window() -> None:
    """60 jobs and three resources: a point that uses up all there is, which no list could be long enough for."""
    rng = np.random.default_rng(12)
    demands = rng.integers(1, 12, (60, 3))
    problem = Selection(demands, demands[:25].sum(axis=0))
    result = solve(problem, "pareto-dp", Stop(seconds=60))
    assert result.status == "optimal"
    assert values_of(result.solution) == {tuple(problem.capacity.tolist())}
    assert check(problem, result) == []


def test_chains_of_jobs_that_require_each_other_stay_in_one_half() -> None:
    rng = np.random.default_rng(3)
    for _ in range(40):
        demands = rng.integers(1, 30, (11, 2))
        order = rng.permutation(11)
        pairs = [(int(order[i]), int(order[j])) for i in range(11) for j in range(i) if rng.random() < 0.2]
        objectives = rng.integers(0, 30, (11, 3)) if rng.random() < 0.5 else None
        agrees(Selection(demands, demands.sum(axis=0) // 2, objectives, requires=tuple(pairs)))


def test_more_jobs_than_bits_of_a_word() -> None:
    """130 jobs of which pairs exclude each other but for the last: one point per number of large ones."""
    demands = np.array([[3, 1], [1, 3]] * 65)
    problem = Selection(demands, np.array([90, 90]))
    result = solve(problem, "pareto-dp", Stop(seconds=60))
    assert result.status == "optimal"
    # 3a + b <= 90 and a + 3b <= 90: the sum a + b is at most 45, and only (22, 23) or (23, 22) come closest.
    values = [(3 * a + b, a + 3 * b) for a in range(66) for b in range(66) if max(3 * a + b, a + 3 * b) <= 90]
    array = np.unique(np.array(values), axis=0)
    assert values_of(result.solution) == {tuple(value) for value in array[nondominated(array)].tolist()}


def test_sums_close_to_what_floating_point_holds() -> None:
    rng = np.random.default_rng(5)
    for terms in (False, True):
        demands = rng.integers(2**48, 2**49, (10, 2))
        objectives = rng.integers(2**48, 2**49, (10, 2)) if terms else None
        agrees(Selection(demands, demands.sum(axis=0) // 2 + 1, objectives))


def test_lists_that_outgrow_the_memory_end_with_what_is_known() -> None:
    rng = np.random.default_rng(6)
    demands = rng.integers(1, 1000, (40, 3))
    problem = Selection(demands, demands.sum(axis=0) // 2)
    result = solve(problem, "pareto-dp:memory=1,exchanges=0", Stop(iterations=3000))
    assert check(problem, result) == []
    assert (result.status, result.parameters["front"], result.parameters["limit"]) == (
        "feasible", "not complete", "memory",
    )  # fmt: skip
    assert result.solution is not None
    assert len(result.solution) > 5


@pytest.mark.parametrize("seconds", [0.05, 0.3])
def test_many_objectives_are_judged_within_the_time(seconds: float) -> None:
    rng = np.random.default_rng(7)
    demands = rng.integers(1, 100, (30, 10))
    problem = Selection(demands, demands.sum(axis=0) // 2)

    def run() -> Result:
        result = solve(problem, "pareto-dp", Stop(seconds=seconds))
        assert check(problem, result) == []
        assert (result.status, result.parameters["front"]) == ("feasible", "not complete")
        return result

    assert used(run, 4 * seconds) <= 4 * seconds


def test_a_known_front_that_takes_longer_to_judge_than_is_left_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_selection(np.random.default_rng(3), 30, 5)
    known = solve(problem, "pareto-dp", Stop(iterations=2)).solution
    monkeypatch.setattr(pareto_search.Search, "hand_over", lambda self: pytest.fail("it was judged again"))
    result = solve(problem, "pareto-dp", Stop(seconds=1e-4), start=known, clock=lambda: 0.0)
    assert (result.error, result.solution) == (None, known)


def test_what_it_ends_with_grows_with_the_iterations() -> None:
    rng = np.random.default_rng(8)
    demands = rng.integers(1, 100, (22, 6))
    problem = Selection(demands, demands.sum(axis=0) // 2)
    results = [solve(problem, "pareto-dp", Stop(iterations=number)) for number in (0, 5, 40, 100_000)]
    values = [result.value or 0.0 for result in results]
    assert values == sorted(values)
    assert values[0] > 0
    assert results[-1].status == "optimal"
    assert {result.status for result in results[:2]} == {"feasible"}


@pytest.mark.parametrize("spec", ["memory=0", "starts=0", "exchanges=-1", "memory=a"])
def test_wrong_parameters_are_errors(spec: str) -> None:
    with pytest.raises(SpecError):
        registry.make(registry.SOLVERS, f"pareto-dp:{spec}", Selection)


def test_a_tree_keeps_the_rows_that_are_needed() -> None:
    rng = np.random.default_rng(9)
    for _ in range(60):
        rows = rng.integers(0, 5, (int(rng.integers(1, 200)), int(rng.integers(1, 5))))
        words = rng.integers(0, 8, (len(rows), 1))
        open_ = np.array([int(rng.integers(0, 8))])
        tree = Tree(rows.copy())
        while not tree.grow(50):
            pass
        assert (tree.rows == rows[tree.order]).all()
        kept = np.zeros(len(rows), bool)
        at = 0
        while at < len(rows):
            at = needed(tree.rows, tree.order, tree.nodes, words, open_, kept, at, 100)
        has = words & open_
        for i in range(len(rows)):
            better = (rows >= rows[i]).all(axis=1) & ((has & has[i]) == has[i])[:, 0]
            equal = (rows == rows[i]).all(axis=1) & (has == has[i])[:, 0]
            better &= ~equal | (np.arange(len(rows)) < i)
            assert kept[i] == (not better.any())


def test_bounds_hold_and_are_those_of_dantzig() -> None:
    rng, most, other = np.random.default_rng(11), np.empty(2, np.int64), np.array([-1, -1])
    for _ in range(100):
        demands, objectives = rng.integers(0, 20, (6, 2)), rng.integers(0, 20, (6, 2))
        same = np.array([1, -1]) if rng.random() < 0.5 else other
        if same[0] == 1:
            objectives[:, 0] = demands[:, 1]
        room = (demands.sum(axis=0) * rng.uniform(0, 1.1, 2)).astype(np.int64)
        problem = Selection(demands, room, objectives)
        choices = chosen(np.arange(64)[:, None], 6)
        best = problem.evaluate(choices[problem.feasible(choices)]).max(axis=0)
        bound(np.zeros(4, np.int64), room, limits(demands, objectives, same), same, most)
        assert (most >= best).all()
        assert (most <= objectives.sum(axis=0)).all()
    # The first job whole and half of the second: 7 + 2 / 4 * 6.
    demands, objectives = np.array([[3], [4], [5]]), np.array([[7], [6], [5]])
    bound(np.zeros(2, np.int64), np.array([5]), limits(demands, objectives, other[:1]), other[:1], most[:1])
    assert most[0] == 10


def test_words_hold_the_chosen_jobs() -> None:
    jobs = np.array([0, 1, 59, 60, 61, 130])
    words = bits(jobs, 131)
    assert words.shape == (3,)
    assert np.flatnonzero(chosen(words[None], 131)[0]).tolist() == jobs.tolist()
