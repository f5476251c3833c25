"""What nodes gain on a tree of any depth: the bound of a job that is alone on all idle nodes."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled, inlined
from transom._system.sorting import largest
from transom.models.arrays import FloatArray, IntArray


@compiled
def gains_on_levels(switches: IntArray, saved: IntArray, prices: FloatArray, unit: float, most: int) -> FloatArray:
    """What 0, 1 ... nodes can gain on all entries, by a knapsack below each switch, level by level.

    Parameters
    ----------
    switches : number of the switch of each entry on each level, from 0, the lowest first, ``(levels, entries)``.
    saved : hops that a pair below one switch of each level saves, ``(levels,)``.
    prices : price of each entry, alike on a leaf, ``(entries,)``.
    unit : what one hop less is worth.
    most : nodes up to which it is asked.

    Returns
    -------
    Gains, shape ``(most + 1,)``; minus infinity where there are not so many entries.
    """
    levels, entries = switches.shape
    room = np.zeros(largest(switches[0]) + 1, np.int64)
    price = np.zeros(len(room))
    for i in range(entries):
        room[switches[0, i]] += 1
        price[switches[0, i]] = prices[i]
    best = np.full((len(room), most + 1), -np.inf)
    for leaf in range(len(room)):
        for x in range(min(room[leaf], most) + 1):
            best[leaf, x] = unit * saved[0] * (x * (x - 1) // 2) - price[leaf] * x
    for level in range(1, levels + 1):
        count = largest(switches[level]) + 1 if level < levels else 1  # the core, where pairs save nothing
        above = np.zeros(len(best), np.int64)
        if level < levels:
            for i in range(entries):
                above[switches[level - 1, i]] = switches[level, i]
        new_room, new = np.zeros(count, np.int64), np.full((count, most + 1), -np.inf)
        new[:, 0] = 0.0
        for switch in range(len(best)):
            _join(new[above[switch]], new_room[above[switch]], best[switch], room[switch])
            new_room[above[switch]] += room[switch]
        if level < levels:
            for switch in range(count):
                for x in range(most + 1):
                    new[switch, x] += unit * saved[level] * (x * (x - 1) // 2)
        room, best = new_room, new
    gained: FloatArray = best[0]
    return gained


@inlined
def _join(into: FloatArray, inside: int, of: FloatArray, room: int) -> None:
    """Gains of what was joined so far, with up to ``inside`` nodes, and of a switch of ``room`` nodes."""
    most = len(into) - 1
    for both in range(min(most, inside + room), -1, -1):
        best = -np.inf
        for x in range(max(0, both - inside), min(both, room) + 1):
            best = max(best, into[both - x] + of[x])
        into[both] = best
