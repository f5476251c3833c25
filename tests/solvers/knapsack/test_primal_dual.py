"""The expanding core: proofs, histories longer than 64 items, short memory."""

from __future__ import annotations

from functools import partial
from itertools import count

import numpy as np
import pytest

from transom import Stop, check, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.models import Knapsack
from transom.models.reduction import reduce
from transom.solvers.knapsack import core, primal_dual
from transom.solvers.knapsack.primal_dual import PrimalDual, States

LONG = generate_knapsack("inverse-strongly-correlated", 1000, 100, np.random.default_rng(2))  # a core of 923 items


def test_histories_go_through_many_tables() -> None:
    reduced = reduce(LONG)
    states = States(reduced, 0, 2**29)
    end = False
    while not end:
        end, _ = states.grow(10**6, -1)
        if (chosen := states.better()) is not None:
            assert reduced.weights[chosen].sum() <= reduced.capacity
            best = int(reduced.values[chosen].sum())
    assert len(states._history.tables) == 14
    assert reduced.value_of(best) == reduced.value_of(states.bound) == solve(LONG, "dp", Stop(seconds=20)).value


@pytest.mark.parametrize("work", [1, 3, 100, 10**9])
def test_the_answer_does_not_depend_on_the_chunks(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = generate_knapsack("strongly-correlated", 60, 1000, np.random.default_rng(3))
    expected = solve(problem, "primal-dual", Stop(seconds=20))
    monkeypatch.setattr(primal_dual, "_CHUNK", work)
    result = solve(problem, "primal-dual", Stop())
    assert result.status == "optimal"
    assert np.array_equal(result.solution, expected.solution)


def test_the_bound_falls_and_always_holds() -> None:
    problem = generate_knapsack("circle", 200, 1000, np.random.default_rng(4))
    optimum = solve(problem, "dp", Stop(seconds=20)).value
    assert optimum is not None
    bounds = []
    for items in range(0, 205, 5):
        result = solve(problem, "primal-dual", Stop(iterations=items))
        assert result.bound is not None
        assert result.value is not None
        assert result.value <= optimum <= result.bound
        bounds.append(result.bound)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == optimum


@pytest.mark.parametrize("klass", ["strongly-correlated", "subset-sum", "inverse-strongly-correlated", "circle"])
def test_short_memory_gives_up_states_but_not_the_truth(klass: str) -> None:
    problem = generate_knapsack(klass, 300, 10**6, np.random.default_rng(5))
    thinned = solve(problem, PrimalDual(memory=1), Stop(seconds=5))
    ended = solve(problem, PrimalDual(memory=1, thin=False), Stop(seconds=5))
    greedy = solve(problem, "greedy")
    for result in (thinned, ended):
        assert check(problem, result) == []
        assert greedy.value is not None
        assert result.value is not None
        assert greedy.bound is not None
        assert result.bound is not None
        assert greedy.value <= result.value <= result.bound <= greedy.bound
    assert ended.value is not None
    assert thinned.value is not None
    assert ended.value <= thinned.value


def test_memory_is_bounded() -> None:
    problem = generate_knapsack("inverse-strongly-correlated", 2000, 10**8, np.random.default_rng(6))
    states = States(reduce(problem), 0, 2**20)
    end = False
    while not end:
        end, _ = states.grow(10**5, -1)
        tables = states._history.size
        assert states._lists.nbytes + tables <= 2**20


def test_a_pause_is_reported_in_the_time_of_the_budget() -> None:
    # By a clock that stands still, rearranging takes the least: the machine may be as busy as it likes.
    problem = generate_knapsack("inverse-strongly-correlated", 2000, 10**8, np.random.default_rng(6))
    for step, rate in ((0.0, primal_dual._REARRANGED), (64.0, 64.0 / primal_dual._LARGE)):
        times = count(0.0, step)
        states = States(reduce(problem), 0, 2**24, clock=partial(next, times))
        pauses = []
        for _ in range(200):
            states.grow(10**5, -1)
            if states._waits is not None and states._lists.nbytes >= 2 * primal_dual._LARGE:
                pauses.append(states.pause / states._lists.nbytes)
        assert pauses
        assert rate / 32 <= pauses[-1] <= rate * 1.01


def test_numbers_of_62_bits() -> None:
    rng = np.random.default_rng(7)
    weights = rng.integers(2**55, 2**56, 30)
    problem = Knapsack(weights + rng.integers(-5, 6, 30), weights, int(weights.sum()) // 2)
    ours, theirs = (solve(problem, spec, Stop(seconds=1)) for spec in ("primal-dual", "cpsat"))
    assert ours.error is theirs.error is None
    assert ours.value is not None
    assert theirs.value is not None
    assert ours.bound is not None
    assert theirs.bound is not None
    assert max(ours.value, theirs.value) <= min(ours.bound, theirs.bound)


def test_solving_compiles_nothing() -> None:
    PrimalDual().warm_up()
    before = (len(core.expand.signatures), len(core.bounds.signatures))
    assert solve(LONG, "primal-dual", Stop(seconds=20)).status == "optimal"
    assert (len(core.expand.signatures), len(core.bounds.signatures)) == before == (1, 1)
