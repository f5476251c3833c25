"""The branch and bound behind the single programmes, against plain enumeration and against CP-SAT and SCIP."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from transom import Stop
from transom.models import Selection
from transom.models.arrays import BoolArray, IntArray
from transom.solvers.backends.native import run_deferred
from transom.solvers.selection.cpsat import maximise_cpsat
from transom.solvers.selection.linear_program import safe_bound
from transom.solvers.selection.program import Best, Program, Relations, maximise, relations
from transom.solvers.selection.scip import maximise_scip
from transom.stop import Budget


def budget(**stop: float) -> Budget:
    return Stop(**stop).start(Selection(np.zeros((1, 1), int), np.zeros(1, int)))


def unrelated(jobs: int) -> Relations:
    return relations(np.zeros((jobs, jobs), bool), np.arange(jobs)[:, None])


def random_program(rng: np.random.Generator, jobs: int, largest: int) -> Program:
    """Capacities and floors, objectives like rows or other numbers, at times with relations and twins."""
    capacities, floors = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    rows = rng.integers(0, largest + 1, (capacities + floors, jobs))
    share = rng.uniform(0.1, 0.9, len(rows))
    limits = (rows.sum(axis=1) * share).astype(np.int64)
    rows[capacities:] *= -1
    limits[capacities:] = -(limits[capacities:] * 0.6).astype(np.int64)
    weights = rows[0].copy() if rng.random() < 0.4 else rng.integers(0, largest + 1, jobs)
    parents = np.triu(rng.random((jobs, jobs)) < (0.5 / jobs if rng.random() < 0.5 else 0), k=1)
    return Program(weights, rows, limits, relations(parents, rows.T, weights[:, None]))


def best_by_hand(program: Program, above: int) -> int | None:
    values = [
        int(program.weights @ chosen)
        for chosen in (np.array(bits) for bits in product((0, 1), repeat=len(program.weights)))
        if feasible(program, chosen.astype(bool))
    ]
    return max((value for value in values if value > above), default=None)


def feasible(program: Program, chosen: BoolArray) -> bool:
    broken = program.relations.needs & chosen[:, None] & ~chosen[None, :]
    return bool((program.rows @ chosen <= program.limits).all()) and not broken.any()


def sound(program: Program, best: Best, wanted: int | None, above: int) -> None:
    assert best.proved
    assert all(feasible(program, chosen) for chosen in best.found)
    values = [int(program.weights @ chosen) for chosen in best.found]
    assert values == sorted(set(values))
    assert (values[-1] if values else None) == wanted
    assert best.bound == (above if wanted is None else wanted)


@pytest.mark.parametrize(("few", "count"), [(0, 250), (3, 150), (18, 150)])
def test_programmes_are_solved_to_the_optimum(monkeypatch: pytest.MonkeyPatch, few: int, count: int) -> None:
    monkeypatch.setattr("transom.solvers.selection.program._FEW", few)
    rng = np.random.default_rng(few)
    for seed in range(count):
        program = random_program(rng, int(rng.integers(1, 11)), int(rng.choice([1, 4, 50, 10**6, 2**46])))
        above = -1 if seed % 2 else int(rng.integers(0, program.weights.sum() + 2)) // 2
        near = None if seed % 3 else int(rng.integers(0, 10))
        sound(program, maximise(program, budget(), above, near=near), best_by_hand(program, above), above)


@pytest.mark.parametrize("solver", [maximise_cpsat, maximise_scip])
def test_other_back_ends_agree(solver: object) -> None:
    rng = np.random.default_rng(1)
    for _ in range(25):
        program = random_program(rng, int(rng.integers(1, 9)), int(rng.choice([1, 4, 50, 1000])))
        sound(program, solver(program, budget()), best_by_hand(program, -1), -1)
    run_deferred()


def test_large_programmes_agree_with_cpsat() -> None:
    rng = np.random.default_rng(2)
    for _ in range(6):
        rows = np.vstack((rng.integers(10, 100, (2, 80)), -rng.integers(10, 100, (1, 80))))
        limits = np.array([2000, 2100, int(rows[2].sum() * 0.6)])
        program = Program(rng.integers(10, 100, 80), rows, limits, unrelated(80))
        ours, theirs = maximise(program, budget(), near=3), maximise_cpsat(program, budget())
        assert ours.proved
        assert theirs.proved
        assert ours.bound == theirs.bound
        assert bool(ours.found) == bool(theirs.found)


def test_a_relaxation_begins_where_the_last_one_ended() -> None:
    rng = np.random.default_rng(3)
    rows = np.vstack((rng.integers(10, 100, (2, 60)), -rng.integers(10, 100, (1, 60))))
    weights = rng.integers(10, 100, 60)
    basis: IntArray | None = None
    for floor in range(1500, 1560, 10):
        program = Program(weights, rows, np.array([1500, 1500, -floor]), unrelated(60))
        warm = maximise(program, budget(), basis=basis)
        assert warm.bound == maximise(program, budget()).bound
        basis = warm.basis


def test_a_bound_holds_for_any_prices() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        rows, limits, weights = rng.uniform(-1, 1, (3, 7)), rng.uniform(-1, 2, 3), rng.uniform(-1, 1, 7)
        fixed = rng.integers(-1, 2, 7)
        bound = safe_bound(rows, limits, weights, rng.exponential(1, 3), fixed, np.empty(7))
        for bits in product((0, 1), repeat=7):
            chosen = np.array(bits)
            if ((fixed < 0) | (fixed == chosen)).all() and (rows @ chosen <= limits).all():
                assert weights @ chosen <= bound


def test_equal_jobs_are_no_trouble() -> None:
    jobs = 300
    parents = np.zeros((jobs, jobs), bool)
    rows = np.full((2, jobs), 7)
    program = Program(rows[0], rows, np.array([1000, 1001]), relations(parents, rows.T))
    spent = budget()
    best = maximise(program, spent)
    assert (best.bound, best.proved) == (7 * 142, True)
    assert spent.iterations < 100


def test_relations_are_closed_and_order_what_is_alike() -> None:
    parents = np.zeros((5, 5), bool)
    parents[0, 1] = parents[1, 2] = True
    found = relations(parents, np.array([[1], [1], [1], [2], [2]]))
    assert np.argwhere(found.needs).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert np.argwhere(found.order & ~found.needs).tolist() == [[4, 3]]
    assert sorted(found.pairs.tolist()) == [[0, 1], [1, 2], [4, 3]]


def test_a_search_that_is_cut_off_says_what_it_knows() -> None:
    rng = np.random.default_rng(5)
    rows = rng.integers(1, 2**40, (4, 90))
    program = Program(rows[0], rows, rows.sum(axis=1) // 3, unrelated(90))
    for stop in ({"iterations": 0}, {"iterations": 1}, {"iterations": 50}, {"seconds": 0.05}):
        spent = budget(**stop)
        best = maximise(program, spent)
        assert not best.proved
        assert best.bound <= int(rows[0].sum())
        assert all(feasible(program, chosen) for chosen in best.found)
        assert spent.iterations <= stop.get("iterations", np.inf)
        if best.found:
            assert int(program.weights @ best.found[-1]) <= best.bound


def test_the_same_iterations_give_the_same_choices() -> None:
    rng = np.random.default_rng(6)
    rows = rng.integers(1, 1000, (4, 60))
    program = Program(rows.sum(axis=0), rows, rows.sum(axis=1) // 3, unrelated(60))
    first, second = (maximise(program, budget(iterations=400)) for _ in range(2))
    assert [chosen.tolist() for chosen in first.found] == [chosen.tolist() for chosen in second.found]


def test_presolve_of_cpsat_loses_no_best_choice() -> None:
    """google/or-tools issue 5293."""
    rows = np.array(
        [
            [708482301878, 122068226157, 291752651127, 780039782751, 281512648674],
            [601064443508, 385236466908, 635720626032, 949645359868, 651644903220],
            [510447863783, 983353119223, 474094864288, 541223547105, 949091675046],
        ]
    )
    program = Program(rows[0], rows, np.array([963345765349, 1421872287449, 1525491416779]), unrelated(5))
    wanted = best_by_hand(program, -1)
    assert wanted == 902108008908
    sound(program, maximise_cpsat(program, budget()), wanted, -1)


def test_scip_survives_large_numbers_and_proves_nothing_about_them() -> None:
    rows = np.array(
        [
            [913040807, 223835196, 183704216, 1034947372],
            [372477221, 861732047, 864132, 94020616],
            [148984751, 905801286, 210047536, 969821473],
            [-450929268, -536452638, -559482921, -786436883],
        ]
    )
    limits = np.array([1749760163, 987292940, 1659972225, 0])
    program = Program(np.array([1069778082, 179623361, 772529181, 1062487727]), rows, limits, unrelated(4))
    sound(program, maximise_scip(program, budget(), 1842307262), best_by_hand(program, 1842307262), 1842307262)
    assert maximise_scip(program, budget(), 1842307263).found == ()
    rng = np.random.default_rng(38)
    for _ in range(20):
        rows = rng.integers(2**33, 2**38, (2, 5))
        program = Program(rng.integers(1, 1000, 5), rows, rows.sum(axis=1) // 3, unrelated(5))
        best = maximise_scip(program, budget())
        wanted = best_by_hand(program, -1)
        assert not best.proved
        assert wanted is not None
        assert best.bound >= wanted
        assert all(feasible(program, chosen) for chosen in best.found)
