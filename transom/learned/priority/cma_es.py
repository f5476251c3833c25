"""Covariance matrix adaptation: minimise a function of a few dozen numbers by sampling, with nothing but its values.

References
----------
Hansen, The CMA evolution strategy: a tutorial, arXiv 1604.00772, 2016, appendix A (without negative weights).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom.models.arrays import FloatArray


@dataclass(slots=True)
class SearchState:
    """The distribution that candidates are drawn from, of n numbers: all of the state of a search.

    ``mean``, ``path_step``, ``path_shape`` ``(n,)``; ``covariance`` ``(n, n)``; ``step`` > 0; ``generation`` counts.
    """

    mean: FloatArray
    covariance: FloatArray
    path_step: FloatArray
    path_shape: FloatArray
    step: float
    generation: int = 0


def begin(mean: FloatArray, step: float) -> SearchState:
    """A search from a point on, with the same standard deviation in all directions."""
    n = len(mean)
    return SearchState(mean.copy(), np.eye(n), np.zeros(n), np.zeros(n), step)


def draw(state: SearchState, population: int, rng: np.random.Generator) -> FloatArray:
    """Candidates, shape ``(population, n)``."""
    scales, axes = _axes(state)
    steps: FloatArray = (rng.standard_normal((population, len(state.mean))) * scales) @ axes.T
    return state.mean + state.step * steps


def update(state: SearchState, candidates: FloatArray, values: FloatArray) -> None:
    """Move the distribution towards the better half of the candidates; lower values are better, ties by position."""
    n, population = len(state.mean), len(candidates)
    parents = population // 2
    weights = np.log((population + 1) / 2) - np.log(np.arange(1, parents + 1))
    weights /= weights.sum()
    mass = 1 / (weights**2).sum()
    rate_step = (mass + 2) / (n + mass + 5)
    damping = 1 + 2 * max(0.0, np.sqrt((mass - 1) / (n + 1)) - 1) + rate_step
    rate_shape = (4 + mass / n) / (n + 4 + 2 * mass / n)
    rate_one = 2 / ((n + 1.3) ** 2 + mass)
    rate_many = min(1 - rate_one, 2 * (mass - 2 + 1 / mass) / ((n + 2) ** 2 + mass))
    expected = np.sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n))

    scales, axes = _axes(state)
    steps = (candidates[np.argsort(values, kind="stable")[:parents]] - state.mean) / state.step
    moved = weights @ steps
    state.mean = state.mean + state.step * moved
    state.generation += 1
    white = axes @ ((axes.T @ moved) / scales)
    state.path_step = (1 - rate_step) * state.path_step + np.sqrt(rate_step * (2 - rate_step) * mass) * white
    length = float(np.linalg.norm(state.path_step))
    unbiased = length / np.sqrt(1 - (1 - rate_step) ** (2 * state.generation))
    steady = float(unbiased < (1.4 + 2 / (n + 1)) * expected)
    state.path_shape = (1 - rate_shape) * state.path_shape
    state.path_shape = state.path_shape + steady * np.sqrt(rate_shape * (2 - rate_shape) * mass) * moved
    one = np.outer(state.path_shape, state.path_shape) + (1 - steady) * rate_shape * (2 - rate_shape) * state.covariance
    many = (steps.T * weights) @ steps
    state.covariance = (1 - rate_one - rate_many) * state.covariance + rate_one * one + rate_many * many
    state.step *= float(np.exp(rate_step / damping * (length / expected - 1)))


def _axes(state: SearchState) -> tuple[FloatArray, FloatArray]:
    """Standard deviations along the principal axes, and the axes as columns."""
    values, axes = np.linalg.eigh(state.covariance)
    return np.sqrt(np.maximum(values, 1e-20)), axes
