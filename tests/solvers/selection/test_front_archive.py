"""The archive of known selections against a plain list of them, in any order, with little memory, interrupted."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from transom.models.arrays import IntArray
from transom.models.pareto_front import nondominated
from transom.solvers.selection.front_archive import (
    CHILD,
    DEEPEST,
    HELD,
    LEAST,
    NODES,
    SLOTS,
    STACK,
    FrontArchive,
    beaten,
    insert,
    insert_all,
)


def marked(values: IntArray) -> IntArray:
    """Rows with a word each: their number."""
    return np.column_stack((values, np.arange(len(values))))


def one_by_one(archive: FrontArchive, rows: IntArray, columns: int) -> None:
    """Let rows come in in their own order."""
    at = 0
    while at < len(rows):
        at, full = insert_all(rows, at, len(rows), columns, archive.tree)
        if full:
            assert archive.make_room()


def as_sorted(rows: IntArray) -> list[list[int]]:
    return sorted(rows.tolist())


def unbeaten(values: IntArray) -> set[tuple[int, ...]]:
    return {tuple(value) for value in values[nondominated(values)].tolist()}


def points_on_a_plane(rng: np.random.Generator, points: int, columns: int) -> IntArray:
    """Distinct points of which none beats another."""
    shares = rng.dirichlet(np.ones(columns), points)
    values = np.unique((shares * 10**6).astype(np.int64)[:, :-1], axis=0)
    return rng.permutation(np.column_stack((values, 10**6 - values.sum(axis=1))))


@pytest.mark.parametrize("columns", [1, 2, 4, 8])
def test_it_answers_as_a_list_does(columns: int) -> None:
    rng = np.random.default_rng(columns)
    values = rng.permutation(np.unique(rng.integers(0, 40, (1500, columns)), axis=0))
    archive = FrontArchive(columns, 1)
    assert archive.add(marked(values))
    assert len(archive) == archive.added == len(values)
    assert as_sorted(archive.content()) == as_sorted(marked(values))
    for point in rng.integers(0, 45, (300, columns)):
        better = (values >= point).all(axis=1)
        assert beaten(point, columns, archive.tree) == better.any()
        assert beaten(point, columns, archive.tree, True) == (better & (values > point).any(axis=1)).any()


@pytest.mark.parametrize("rows", [1000, pytest.param(4000, marks=pytest.mark.long)])
@pytest.mark.parametrize("columns", [1, 2, 4, 8])
def test_what_comes_in_where_nothing_beats_it_is_the_front(columns: int, rows: int) -> None:
    rng = np.random.default_rng(10 + columns)
    archive, known = FrontArchive(columns, 2), np.empty((0, columns), np.int64)
    for number in range(rows):
        row = rng.integers(0, 12 + number // 100, columns)
        is_beaten = bool((known >= row).all(axis=1).any())
        assert beaten(row, columns, archive.tree) == is_beaten
        if not is_beaten:
            known = np.concatenate((known, row[None]))
            if insert(np.append(row, (number, -number)), columns, archive.tree):
                assert archive.make_room()
    assert archive.added == len(known) >= len(archive)
    content = archive.content()
    assert (content[:, columns] == -content[:, columns + 1]).all()
    assert unbeaten(content[:, :columns]) == unbeaten(known)
    archive.shed()
    assert archive.added == len(known)
    assert {tuple(row) for row in archive.content()[:, :columns].tolist()} == unbeaten(known)
    assert len(archive) == len(unbeaten(known))


def test_nothing_is_known_at_first() -> None:
    for columns in (1, 3):
        archive = FrontArchive(columns, 1)
        assert not beaten(np.zeros(columns, np.int64), columns, archive.tree)
        assert archive.content().shape == (0, columns + 1)
        archive.shed()
        assert len(archive) == 0
        insert(np.zeros(columns + 1, np.int64), columns, archive.tree)
        assert beaten(np.zeros(columns, np.int64), columns, archive.tree)
        assert not beaten(np.ones(columns, np.int64), columns, archive.tree)


@pytest.mark.parametrize("order", ["rising", "powers", "crowded", "better"])
def test_rows_in_order_find_room(order: str) -> None:
    """Each of these makes one long branch of a tree that only splits its leaves."""
    steps = np.arange(40 if order == "powers" else 20_000)
    if order == "rising":
        values = np.column_stack((steps, steps[::-1]))
    elif order == "powers":
        values = np.array([(2**i + j, 2**45 - 2**i - j) for i in steps.tolist() for j in range(min(2**i, 40))])
    elif order == "crowded":
        # Nearly all on one value of the widest objective.
        values = np.column_stack((np.where(steps % 50, 10**9, steps * 10**4), steps, steps[::-1]))
    else:
        values = np.column_stack((steps, steps))
    archive, columns = FrontArchive(values.shape[1], 1), values.shape[1]
    one_by_one(archive, marked(values), columns)
    assert archive.added == len(values)
    assert archive.tree.counts[DEEPEST] + 2 <= len(archive.tree.counts) - STACK
    rows = archive.content()
    assert unbeaten(rows[:, :columns]) == unbeaten(values)
    assert (values[rows[:, columns]] == rows[:, :columns]).all()
    for point in values[:: len(values) // 50]:
        assert beaten(point, columns, archive.tree)
        assert beaten(point, columns, archive.tree, True) == (order == "better" and point[0] < steps[-1])
    if order == "better":
        assert len(archive) < len(values) / 2, "what has been beaten goes from time to time"


def test_boxes_hold_their_rows_and_leaves_are_filled() -> None:
    values = points_on_a_plane(np.random.default_rng(1), 5000, 3)
    archive = FrontArchive(3, 1)
    one_by_one(archive, marked(values), 3)
    nodes = archive.tree.nodes[: archive.tree.counts[NODES]]
    assert len({-1 - int(child) for child in nodes[:, CHILD] if child < 0}) == (len(nodes) + 1) // 2
    for node in nodes.tolist():
        if node[CHILD] >= 0:
            parts = nodes[node[CHILD] : node[CHILD] + 2]
            least, most = parts[:, LEAST : LEAST + 3].min(axis=0), parts[:, LEAST + 3 :].max(axis=0)
        else:
            first = (-1 - node[CHILD]) * SLOTS
            rows = archive.tree.rows[first : first + node[HELD], :3]
            assert 1 <= len(rows) <= SLOTS
            least, most = rows.min(axis=0), rows.max(axis=0)
        assert node[LEAST:] == [*least.tolist(), *most.tolist()]


def test_memory_is_kept_and_missed() -> None:
    values = points_on_a_plane(np.random.default_rng(2), 40_000, 6)
    rows = marked(values)
    archive = FrontArchive(6, 1)
    archive.add(rows[:100])
    archive.make_room()
    archive.shed()
    tracemalloc.start()
    try:
        archive = FrontArchive(6, 1, 2**21)
        assert not archive.add(rows)
        held = len(archive)
        archive.shed()
        most = tracemalloc.get_traced_memory()[1] - rows.nbytes  # rows are rearranged before they come in
    finally:
        tracemalloc.stop()
    assert most < 1.25 * 2**21
    assert 2000 < held == len(archive) < len(rows)
    # Where most of them have been beaten, the same memory is enough.
    archive = FrontArchive(6, 1, 2**21)
    for better in range(20):
        assert archive.add(marked(values[:2000] + 10**6 * better))
    archive.shed()
    assert archive.added - len(archive) == 19 * 2000


def test_what_ends_a_pause_leaves_it_as_it_was() -> None:
    rng = np.random.default_rng(3)
    values = points_on_a_plane(rng, 9000, 3)
    for pauses in (1, 4, 12):
        archive = FrontArchive(3, 1)
        archive.add(marked(values))
        archive.add(np.column_stack((values[:1000] + 1, np.arange(1000))))
        before, left = as_sorted(archive.content()), [pauses]

        def pause(left: list[int] = left) -> None:
            left[0] -= 1
            if not left[0]:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            archive.shed(pause)
        assert left == [0]
        assert as_sorted(archive.content()) == before
        assert archive.added == len(before)
        archive.shed()
        assert len(archive) == len(values)
        assert archive.added == len(before)


def test_a_leaf_is_split_by_what_its_own_rows_differ_in() -> None:
    # The point that comes in differs most from the full leaf in a column in which that has one value only.
    values = np.column_stack((np.full(SLOTS, 10**6), np.arange(SLOTS), SLOTS - np.arange(SLOTS)))
    archive = FrontArchive(3, 1)
    one_by_one(archive, marked(np.vstack((values, [[0, SLOTS, SLOTS]]))), 3)
    assert archive.tree.counts[NODES] == 3
    assert as_sorted(archive.content()[:, :3]) == as_sorted(np.vstack((values, [[0, SLOTS, SLOTS]])))
