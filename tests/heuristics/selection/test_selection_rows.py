"""Rows of jobs: repair, completion, breeding, what is known of them, and the archive."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tests.selection_cases import random_selection
from transom.heuristics.selection.archive import Archive
from transom.heuristics.selection.crowding import survivors
from transom.heuristics.selection.rows import SelectionArrays, breed
from transom.heuristics.selection.visited_set import VisitedSet
from transom.models import Selection
from transom.models.arrays import BoolArray
from transom.models.pareto_front import nondominated
from transom.models.selection_reduction import ReducedSelection, reduce_selection


def reduced_of(rng: np.random.Generator) -> tuple[Selection, ReducedSelection]:
    """A random selection in which something is undecided."""
    while True:
        problem = random_selection(rng, jobs=int(rng.integers(3, 14)))
        reduced = reduce_selection(problem)
        if reduced is not None and len(reduced.jobs):
            return problem, reduced


def maximal(problem: Selection, reduced: ReducedSelection, rows: BoolArray) -> bool:
    """Whether rows are feasible and nothing can be added, by the model itself."""
    chosen = reduced.selections(rows)
    return bool(problem.feasible(chosen).all() and np.array_equal(problem.greedy_complete(chosen), chosen))


@given(st.integers(0, 2**32 - 1))
def test_mended_rows_are_feasible_and_maximal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, reduced = reduced_of(rng)
    ground = SelectionArrays.of(reduced)
    first = rng.random((20, ground.jobs)) < rng.random()
    before = first.copy()
    rows = ground.greedy(rng.random(first.shape), first)
    assert np.array_equal(first, before)
    assert maximal(problem, reduced, rows)
    fits = problem.feasible(reduced.selections(first))
    assert (rows | ~first)[fits].all(), "a row that fits loses nothing"


def test_kernels_meet_one_layout_however_many_jobs_require_others() -> None:
    # Another layout is another kernel, compiled for seconds within the budget.
    demands = np.array([[4, 1], [3, 3], [1, 4], [2, 2], [2, 1]])
    for requires in ((), ((3, 0),), ((3, 0), (4, 1)), ((2, 0), (3, 0), (4, 1))):
        reduced = reduce_selection(Selection(demands, np.array([7, 6]), requires=requires))
        assert reduced is not None
        pairs = SelectionArrays.of(reduced).parents
        assert (pairs.tolist(), pairs.dtype) == ([list(pair) for pair in requires], np.int64)
        assert pairs.flags.c_contiguous


@given(st.integers(0, 2**32 - 1))
def test_every_way_to_begin_is_maximal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, reduced = reduced_of(rng)
    ground = SelectionArrays.of(reduced)
    alone = ground.one_hot()
    assert problem.feasible(reduced.selections(alone)).all()
    assert alone.diagonal().all()
    assert maximal(problem, reduced, ground.by_dot_product()[None])
    assert maximal(problem, reduced, ground.greedy(rng.random(alone.shape), alone))


def test_jobs_are_dropped_from_the_end_and_added_from_the_beginning() -> None:
    reduced = reduce_selection(Selection([[3], [2], [2], [1]], [5]))
    assert reduced is not None
    ground = SelectionArrays.of(reduced)
    scores = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 2.0, 3.0, 4.0]])
    assert ground.greedy(scores, np.ones((2, 4), bool)).tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]
    assert ground.greedy(scores).tolist() == [[1, 1, 0, 0], [0, 1, 1, 1]]


def test_only_jobs_that_help_are_dropped() -> None:
    reduced = reduce_selection(Selection([[3, 0], [3, 0], [0, 2], [0, 3]], [5, 4]))
    assert reduced is not None
    rows = SelectionArrays.of(reduced).greedy(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[True, True, True, False]]))
    assert rows.tolist() == [[True, False, True, False]]


def test_the_dot_product_takes_what_is_large_where_much_is_free() -> None:
    reduced = reduce_selection(Selection([[4, 1], [1, 7], [5, 5], [1, 1]], [10, 10]))
    assert reduced is not None
    # First (5, 5); then 5 and 5 are free: (4, 1) before (1, 1), and (1, 7) does not fit.
    assert SelectionArrays.of(reduced).by_dot_product().tolist() == [True, False, True, True]


@given(st.integers(0, 2**32 - 1))
def test_children_are_new_feasible_and_maximal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem, reduced = reduced_of(rng)
    ground, known = SelectionArrays.of(reduced), VisitedSet(len(reduced.jobs), rng)
    rows = ground.greedy(rng.random((5, ground.jobs)))
    rows = rows[known.add(rows)]
    seen = {row.tobytes() for row in rows}
    for _ in range(5):
        known.reserve(30)
        children = np.empty((30, ground.jobs), bool)
        made = breed(rng, children, rows, rows[:1], ground, known.marks, known.table)
        known.count += made
        assert maximal(problem, reduced, children[:made])
        new = {row.tobytes() for row in children[:made]}
        assert len(new) == made
        assert not new & seen
        seen |= new


def test_known_rows_are_known_however_many_there_are() -> None:
    rng = np.random.default_rng(3)
    known = VisitedSet(16, rng)
    rows = (np.arange(2**16)[:, None] >> np.arange(16) & 1).astype(bool)
    rng.shuffle(rows)
    for part in np.split(rows, 64):
        assert known.add(part).all()
    assert known.count == 2**16
    assert not known.add(rows).any()
    assert known.add(np.concatenate((rows, rows))).sum() == 0
    assert VisitedSet(16, rng).add(np.zeros((3, 16), bool)).tolist() == [True, False, False]


@given(st.integers(0, 2**32 - 1))
def test_the_archive_loses_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, objectives = int(rng.integers(1, 12)), int(rng.integers(1, 7))
    worth = rng.integers(0, int(rng.choice([2, 5, 1000])), (jobs, objectives))
    archive, met = Archive(worth), np.empty((0, jobs), bool)
    for _ in range(5):
        rows = rng.random((int(rng.integers(0, 200)), jobs)) < 0.5
        before = archive.additions
        entered = archive.add(rows)
        met = np.concatenate((met, rows))
        assert archive.additions - before == entered.sum()
        assert np.array_equal(archive.values, archive.chosen @ worth)
        values = met @ worth
        expected = {tuple(value) for value in values[nondominated(values)].tolist()}
        assert {tuple(value) for value in archive.values.tolist()} == expected
        assert len(archive) == len(expected)


def plain_ranks(costs: np.ndarray) -> list[int]:
    """By definition; twins of earlier points after all."""
    count = len(costs)
    twin = [any(np.array_equal(costs[i], costs[j]) for i in range(j)) for j in range(count)]
    ranks, rank, left = [count] * count, 0, [i for i in range(count) if not twin[i]]
    while left:
        best = [i for i in left if not any((costs[j] <= costs[i]).all() and j != i for j in left)]
        for i in best:
            ranks[i] = rank
        left = [i for i in left if i not in best]
        rank += 1
    return ranks


@given(st.integers(0, 2**32 - 1))
def test_survivors_are_the_best_ranks_and_the_least_crowded(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 30))
    costs = -rng.integers(0, 6, (count, int(rng.integers(1, 4)))).astype(float)
    keep = int(rng.integers(1, count, endpoint=True))
    order, ranks, distances = survivors(costs, keep)
    plain = plain_ranks(costs)
    assert len(set(order.tolist())) == keep
    assert ranks.tolist() == sorted(plain)[:keep]
    inside = [rank for rank in ranks.tolist() if rank < count]
    assert [plain[i] for i in order[: len(inside)].tolist()] == inside
    for first, second in zip(range(keep - 1), range(1, keep), strict=True):
        assert ranks[first] < ranks[second] or distances[first] >= distances[second]


def test_crowding_by_hand() -> None:
    # On a line, from left to right; ends first, then by the distance between both neighbours.
    costs = np.array([[0.0, 10.0], [1.0, 9.0], [2.0, 8.0], [6.0, 4.0], [10.0, 0.0]])
    order, ranks, distances = survivors(costs, 5)
    assert ranks.tolist() == [0] * 5
    assert sorted(order[:2].tolist()) == [0, 4]
    assert order[2:].tolist() == [3, 2, 1]
    assert distances[2:].tolist() == [1.6, 1.0, 0.4]
