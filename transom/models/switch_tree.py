"""A tree of any depth from its switches: which switch each node hangs on, and which switch is above which."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from transom.errors import ModelError
from transom.models.fat_tree import FatTree


def tree_of_switches(leaf: Sequence[int], above: Sequence[int]) -> FatTree:
    """The tree below some switches.

    The level of a switch is 0 if no switch is below it, else one more than the highest of those: the level of the
    lowest switch that joins two nodes decides how many hops they are apart, also where leaves hang at different depths.

    Parameters
    ----------
    leaf : switch of each node, numbers from 0, shape ``(nodes,)``.
    above : the switch above each switch, -1 for none, shape ``(switches,)``; the core joins those without one.

    Returns
    -------
    The tree, its nodes in the order in which they are given.

    Raises
    ------
    ModelError : there is no node, or the switches form a ring.
    """
    levels = _levels(above)
    rows = [[int(switch) for switch in leaf]]
    for level in range(1, max(2, max(levels, default=0) + 1)):
        moved = []
        for switch in rows[-1]:
            up = above[switch]
            moved.append(up if up >= 0 and levels[up] <= level else switch)
        rows.append(moved)
    first, second, *rest = (np.array(row, np.int64) for row in rows)
    return FatTree(first, second, np.array(rest) if rest else None)


def _levels(above: Sequence[int]) -> list[int]:
    """The level of each switch: one more than the highest of those below it."""
    levels = [0] * len(above)
    below = [0] * len(above)  # switches below each that are still to come
    for up in above:
        if up >= 0:
            below[up] += 1
    ready = [switch for switch, count in enumerate(below) if not count]
    done = 0
    while ready:
        switch = ready.pop()
        done += 1
        up = above[switch]
        if up >= 0:
            levels[up] = max(levels[up], levels[switch] + 1)
            below[up] -= 1
            if not below[up]:
                ready.append(up)
    if done < len(above):
        raise ModelError(f"tree: switch {next(s for s, count in enumerate(below) if count)} is above itself")
    return levels
