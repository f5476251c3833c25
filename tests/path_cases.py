"""Small constrained paths, and their optima by trying everything."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from transom.models import ConstrainedPath


def random_path(rng: np.random.Generator, planted: bool | None = None) -> ConstrainedPath:
    """A path of one to twelve arcs, of any density: mostly sparse, with costs of both signs and of any size.

    Parameters
    ----------
    rng : where it comes from.
    planted : whether there is a solution for sure; drawn if None.
    """
    sizes = np.sort(rng.choice(np.arange(2, 6), int(rng.integers(1, 4)), replace=False))
    counts = rng.integers(1, int(rng.choice([2, 3, 5])), len(sizes))
    length = int(sizes @ counts) + int(rng.choice([0, 1, 2, 5, 12]))
    whole, scale = rng.random() < 0.5, 10.0 ** rng.choice([0, 0, 0, -6, 6, 12])
    costs = rng.integers(-5, 20, (len(sizes), length)) * 1.0 if whole else rng.normal(3, 4, (len(sizes), length))
    costs[rng.random(costs.shape) >= rng.choice([0.1, 0.3, 0.5, 0.7, 1.0])] = np.inf
    if rng.random() < 0.8 if planted is None else planted:
        blocks = rng.permutation(np.repeat(np.arange(len(sizes)), counts))
        gaps = np.sort(rng.integers(0, length - int(sizes @ counts) + 1, len(blocks)))
        starts = gaps + np.cumsum(sizes[blocks]) - sizes[blocks]
        costs[blocks, starts] = rng.integers(-5, 20, len(blocks))
    for row, size in enumerate(sizes.tolist()):
        costs[row, max(0, length - size + 1) :] = np.inf
    return ConstrainedPath(length, sizes, counts, costs * scale)


def least_cost(path: ConstrainedPath) -> float | None:
    """The least cost by trying every path; None if there is none."""
    costs, sizes = path.costs.tolist(), path.sizes.tolist()

    @cache
    def rest(i: int, left: tuple[int, ...]) -> float:
        if i == path.length:
            return math.inf if any(left) else 0.0
        best = rest(i + 1, left)
        for row, size in enumerate(sizes):
            if left[row] and costs[row][i] < math.inf:
                best = min(best, costs[row][i] + rest(i + size, (*left[:row], left[row] - 1, *left[row + 1 :])))
        return best

    least = rest(0, tuple(path.counts.tolist()))
    return least if least < math.inf else None
