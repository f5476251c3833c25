"""Structures side by side on the line or circle: the subset dynamic program on top of them."""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.solvers._dcas_labels import PACKED, SPAN


@compiled
def tails(until, sets, room, cost, lists, lengths, table):  # type: ignore[no-untyped-def]
    """Cheapest structures of each set of jobs between each entry and entry ``until``.

    Parameters
    ----------
    until : the entry before which all must end.
    sets, room, cost, lists, lengths : see ``_dcas_labels.search``, which has filled them.
    table : filled up to ``until``, shape ``(entries + 1, sets)``; infinite where there are none.
    """
    entries = len(table) - 1
    count = sets.shape[1]
    table[until, :] = np.inf
    table[until, 0] = 0.0
    for at in range(until - 1, -1, -1):
        table[at, :] = table[at + 1, :]
        row = at + entries
        for k in range(lengths[0, row]):
            first = lists[0, row, k]
            end = at + sets[SPAN, first]
            if end > until:
                continue
            for rest in range(count - first):
                if table[end, rest] == np.inf:
                    continue
                if (room[0] - sets[PACKED, first] - sets[PACKED, rest]) & room[1] != room[1]:
                    continue
                both = cost[row, first] + table[end, rest]
                table[at, first + rest] = min(both, table[at, first + rest])


@compiled
def cross(at, best, sets, room, cost, lists, lengths, table, shorter):  # type: ignore[no-untyped-def]
    """Look for a structure that crosses the end of the sequence in a better solution than ``best``.

    Parameters
    ----------
    at : from which entry on, downwards; the search ends behind the first entry that took a table.
    best : cost to beat.
    sets, room, cost, lists, lengths, table : as in :func:`tails`; ``table`` is that of the whole line.
    shorter : space for the table up to one entry.

    Returns
    -------
    The entry to go on with, -1 at the end; the better cost, the structure's entry and set; infinite
    and -1 where there is none.
    """
    entries = len(table) - 1
    all_jobs = sets.shape[1] - 1
    total = sets[SPAN, all_jobs]
    better, found_at, found = np.inf, -1, -1
    while at >= 0 and at + total > entries:
        made = False
        for k in range(lengths[0, at]):
            which = lists[0, at, k]
            end = at + sets[SPAN, which] - entries
            if end <= 0 or cost[at, which] + table[end, all_jobs - which] >= min(best, better):
                continue
            if not made:
                tails(at, sets, room, cost, lists, lengths, shorter)
                made = True
            value = cost[at, which] + shorter[end, all_jobs - which]
            if value < min(best, better):
                better, found_at, found = value, at, which
        at -= 1
        if made:
            return at, better, found_at, found
    return -1, better, found_at, found
