"""Simulated annealing: repeatable whatever the chunks, good on what can be checked."""

from __future__ import annotations

import numpy as np
import pytest

from transom import Stop, solve
from transom.generate.instances.knapsacks import generate_knapsack
from transom.heuristics.knapsack import simulated_annealing as annealing
from transom.heuristics.knapsack.simulated_annealing import SimulatedAnnealing, Walk
from transom.models.reduction import reduce

PROBLEM = generate_knapsack("circle", 200, 1000, np.random.default_rng(1))


@pytest.mark.parametrize("chunk", [7, 1000, 10**6])
def test_the_answer_does_not_depend_on_the_chunks(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop(iterations=5000)
    expected = solve(PROBLEM, "sa:steps=2000", stop, seed=5)
    monkeypatch.setattr(annealing, "_CHUNK", chunk)
    result = solve(PROBLEM, "sa:steps=2000", stop, seed=5)
    assert result.reason == "iterations"
    assert np.array_equal(result.solution, expected.solution)


def test_stall_counts_steps_since_the_last_better_value() -> None:
    first, second = (solve(PROBLEM, "sa", Stop(stall=5000), seed=3) for _ in range(2))
    assert first.reason == "stall"
    assert np.array_equal(first.solution, second.solution)


def test_seeds_differ() -> None:
    answers = {solve(PROBLEM, "sa", Stop(iterations=3000), seed=seed).solution.tobytes() for seed in range(5)}
    assert len(answers) > 1


def test_more_steps_come_close_to_the_optimum() -> None:
    optimum = solve(PROBLEM, "primal-dual").value
    few, many = (solve(PROBLEM, "sa", Stop(iterations=steps), seed=1) for steps in (100, 500_000))
    assert few.value is not None
    assert many.value is not None
    assert optimum is not None
    assert few.value <= many.value
    assert many.value >= 0.998 * optimum


def test_the_walk_keeps_its_books() -> None:
    reduced = reduce(PROBLEM)
    walk = Walk(reduced, np.zeros(len(PROBLEM), dtype=bool))
    walk.restart()
    rng = np.random.default_rng(2)
    for first in range(0, 3000, 100):
        walk.run(SimulatedAnnealing(), rng, first, 100, 3000)
        chosen, order, place, state = walk.solution
        count, room, value, best = state.tolist()
        assert count == chosen.sum()
        assert room == reduced.capacity - reduced.weights[chosen].sum() >= 0
        assert value == reduced.values[chosen].sum() <= best == reduced.values[walk.best].sum()
        assert sorted(order[:count].tolist()) == np.flatnonzero(chosen).tolist()
        assert np.array_equal(order[place], np.arange(len(chosen)))
        assert reduced.weights[walk.best].sum() <= reduced.capacity
