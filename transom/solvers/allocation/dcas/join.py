"""Structures side by side on the line or circle: the subset dynamic program on top of them."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.solvers.allocation.dcas.sets import SPAN, disjoint


@compiled
def tails(at, until, work, sets, room, cost, lists, lengths, table):  # type: ignore[no-untyped-def]
    """Cheapest structures of each set of jobs between each entry and entry ``until``.

    Parameters
    ----------
    at : the entry that was filled in last; ``until + 1`` to begin.
    until : the entry before which all must end.
    work : after about how many steps to return.
    sets, room, cost, lists, lengths : see ``_dcas_search.search``, which has filled them.
    table : filled up to ``until``, shape ``(entries + 1, sets)``; infinite where there are none.

    Returns
    -------
    The entry that was filled in last, 0 at the end.
    """
    entries = len(table) - 1
    count = sets.shape[1]
    if at > until:
        at = until
        table[until, :] = np.inf
        table[until, 0] = 0.0
    while at > 0 and work > 0:
        at -= 1
        work -= count
        table[at, :] = table[at + 1, :]
        row = at + entries
        for k in range(lengths[0, row]):
            first = lists[0, row, k]
            end = at + sets[SPAN, first]
            if end > until:
                continue
            work -= count - first
            for rest in range(count - first):
                if table[end, rest] == np.inf or not disjoint(first, rest, sets, room):
                    continue
                both = cost[row, first] + table[end, rest]
                table[at, first + rest] = min(both, table[at, first + rest])
    return at


@compiled
def promising(at, best, sets, cost, lists, lengths, table):  # type: ignore[no-untyped-def]
    """The next entry, downwards from ``at``, with a structure across the end that might be part of a better solution.

    ``table`` is that of :func:`tails` for the whole line; -1 if there is none.
    """
    entries = len(table) - 1
    everything = sets.shape[1] - 1
    while at >= 0 and at + sets[SPAN, everything] > entries:
        for k in range(lengths[0, at]):
            which = lists[0, at, k]
            end = at + sets[SPAN, which] - entries
            if end > 0 and cost[at, which] + table[end, everything - which] < best:
                return at
        at -= 1
    return -1


@compiled
def across(at, best, sets, cost, lists, lengths, table):  # type: ignore[no-untyped-def]
    """The best solution, if better than ``best``, with a structure from entry ``at`` across the end.

    ``table`` is that of :func:`tails` up to ``at``.

    Returns
    -------
    Cost and the structure's set; ``best`` and -1 if there is none.
    """
    entries = len(table) - 1
    everything = sets.shape[1] - 1
    found = -1
    for k in range(lengths[0, at]):
        which = lists[0, at, k]
        end = at + sets[SPAN, which] - entries
        if end > 0:
            value = cost[at, which] + table[end, everything - which]
            if value < best:
                best, found = value, which
    return best, found
