"""Constrained shortest paths with random costs."""

from __future__ import annotations

import numpy as np

from transom.errors import SpecError
from transom.models import ConstrainedPath

_MOST = 10**7  # cells of the table of costs


def random_path(
    rng: np.random.Generator,
    length: int,
    sizes: int,
    arcs: int,
    longest: int,
    most: int = 1000,
    density: float = 1.0,
    load: float = 0.9,
) -> ConstrainedPath:
    """A path problem with random costs of operation arcs and at least one solution.

    The arcs of a hidden path are drawn first; every other arc exists with equal probability,
    and each has a uniform integer cost, independent of its neighbours. The paths of an allocation on a tree
    (:meth:`~transom.models.ConstrainedPath.from_allocation`) are smoother and denser.

    Parameters
    ----------
    rng : source of random numbers.
    length : entries, > 0.
    sizes : how many distinct sizes, > 0, at most ``longest - 1``.
    arcs : how many operation arcs a path takes, at least ``sizes``.
    longest : largest size, >= 2.
    most : largest cost, >= 1; the least is 1.
    density : share of the possible arcs that exist, from 0 to 1; those of the hidden path always do.
    load : the arcs of a path span at most this share of the entries, > 0 and <= 1.

    Raises
    ------
    SpecError : a number is out of range, or so many arcs do not fit even if they are small.
    """
    for condition, holds, given in (
        ("length must be > 0", length > 0, length),
        (f"sizes must be > 0 and below longest, {longest}", 0 < sizes < longest, sizes),
        (f"arcs must be at least sizes, {sizes}", arcs >= sizes, arcs),
        (f"length must be at most {_MOST} / sizes, {_MOST // max(sizes, 1)}", length * sizes <= _MOST, length),
        ("most must be from 1 to 2**53 - 1", 1 <= most < 2**53, most),
        ("density must be from 0 to 1", 0 <= density <= 1, density),
        ("load must be > 0 and <= 1", 0 < load <= 1, load),
    ):
        if not holds:
            raise SpecError(f"csp: {condition}, got {given}")
    distinct, counts = _drawn_sizes(rng, sizes, arcs, longest, int(length * load))
    costs = np.full((sizes, length), np.inf)
    planted = rng.permutation(np.repeat(np.arange(sizes), counts))
    spans = distinct[planted]
    # The gaps before, between and after the arcs: so many entries over so many places.
    gaps = rng.multinomial(length - int(spans.sum()), np.full(arcs + 1, 1 / (arcs + 1)))
    starts = gaps[:-1].cumsum() + spans.cumsum() - spans
    for row, size in enumerate(distinct.tolist()):
        drawn = rng.integers(1, most, length - size + 1, endpoint=True).astype(float)
        exists = rng.random(len(drawn)) < density
        exists[starts[planted == row]] = True
        costs[row, : len(drawn)] = np.where(exists, drawn, np.inf)
    return ConstrainedPath(length, distinct, counts, costs)


def _drawn_sizes(
    rng: np.random.Generator, sizes: int, arcs: int, longest: int, room: int
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Distinct sizes, ascending, and how many arcs of each: uniform, drawn again with a lower limit until they fit."""
    while longest > sizes:
        distinct = np.sort(rng.choice(np.arange(2, longest + 1), sizes, replace=False))
        counts = 1 + rng.multinomial(arcs - sizes, np.full(sizes, 1 / sizes))
        if int(distinct @ counts) <= room:
            return distinct, counts
        longest -= max(1, longest // 16)
    raise SpecError(f"csp: {arcs} arcs of {sizes} sizes do not fit into {room} entries")
