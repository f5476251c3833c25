"""Job sizes that are uniform instead of lognormal, for windows of any scale."""

from __future__ import annotations

import numpy as np

from transom.errors import SpecError
from transom.models.arrays import IntArray


def uniform_sizes(rng: np.random.Generator, jobs: int, cap: int, most: int) -> IntArray:
    """Sizes of jobs, shape ``(jobs,)``, uniform from 2 to ``cap``, that ask for at most ``most`` nodes together.

    Parameters
    ----------
    rng : source of random numbers.
    jobs : how many, >= 0.
    cap : the largest size, >= 2.
    most : nodes for all of them; where they ask for more, what each has above 2 shrinks in proportion.

    Raises
    ------
    SpecError : a number is out of range, or so many jobs of two nodes are more than ``most``.
    """
    if jobs < 0 or cap < 2 or 2 * jobs > most:
        raise SpecError(f"sizes: expected jobs >= 0, cap >= 2 and 2 x jobs <= {most} nodes, got jobs={jobs}, cap={cap}")
    sizes = rng.integers(2, cap, jobs, endpoint=True)
    total = int(sizes.sum())
    if total > most:
        sizes = 2 + ((sizes - 2) * ((most - 2 * jobs) / (total - 2 * jobs))).astype(np.int64)
    return sizes
