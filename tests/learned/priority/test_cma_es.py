"""The evolution strategy finds minima of functions whose axes differ."""

from __future__ import annotations

import numpy as np

from transom.learned.priority import cma_es
from transom.models.arrays import FloatArray


def minimised(values: object, n: int, generations: int, population: int = 12) -> FloatArray:
    assert callable(values)
    state, rng = cma_es.begin(np.ones(n), 0.5), np.random.default_rng(1)
    for _ in range(generations):
        candidates = cma_es.draw(state, population, rng)
        cma_es.update(state, candidates, np.array([values(each) for each in candidates]))
    assert state.generation == generations
    return state.mean


def test_it_finds_the_minimum_of_an_ellipsoid() -> None:
    scale = 10.0 ** np.linspace(0, 3, 6)
    found = minimised(lambda x: float((scale * (x - 2) ** 2).sum()), 6, 250)
    assert np.allclose(found, 2, atol=1e-4)


def test_it_follows_a_bent_valley() -> None:
    found = minimised(lambda x: 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0] + 3) ** 2, 2, 400)
    assert np.allclose(found, [4, 16], atol=1e-2)


def test_where_all_are_equal_it_stays_near() -> None:
    assert np.isfinite(minimised(lambda x: 0.0, 5, 50)).all()
