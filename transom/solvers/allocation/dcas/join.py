"""Structures side by side on the line or circle: the subset dynamic program on top of them."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom.models.arrays import FloatArray
from transom.solvers.allocation.dcas.records import Table
from transom.solvers.allocation.dcas.sets import JobSets, disjoint


@no_refcount
def tails(at: int, until: int, work: int, sets: JobSets, table: Table, tail: FloatArray) -> int:
    """Cheapest structures of each set of jobs between each entry and entry ``until``.

    Parameters
    ----------
    at : the entry that was filled in last; ``until + 1`` to begin.
    until : the entry before which all must end.
    work : after about how many steps to return.
    table : of structures, complete.
    tail : filled up to ``until``, shape ``(entries + 1, sets)``; infinite where there are none.

    Returns
    -------
    The entry that was filled in last, 0 at the end.
    """
    entries, count = len(tail) - 1, len(sets.span)
    if at > until:
        at = until
        tail[until, :] = np.inf
        tail[until, 0] = 0.0
    while at > 0 and work > 0:
        at -= 1
        work -= count
        for which in range(count):
            tail[at, which] = tail[at + 1, which]
        line = at + entries
        for k in range(table.numbers[line]):
            first = table.sets[line, k]
            end = at + sets.span[first]
            if end > until:
                continue
            work -= count - first
            for rest in range(count - first):
                if tail[end, rest] == np.inf or not disjoint(first, rest, sets):
                    continue
                both = table.cost[line, first] + tail[end, rest]
                tail[at, first + rest] = min(both, tail[at, first + rest])
    return at


@no_refcount
def promising(at: int, best: float, sets: JobSets, table: Table, tail: FloatArray) -> int:
    """The next entry, downwards from ``at``, with a structure across the end that might be part of a better solution.

    ``tail`` is that of :func:`tails` for the whole line; -1 if there is none.
    """
    entries, everything = len(tail) - 1, len(sets.span) - 1
    while at >= 0 and at + sets.span[everything] > entries:
        for k in range(table.numbers[at]):
            which = table.sets[at, k]
            end = at + sets.span[which] - entries
            if end > 0 and table.cost[at, which] + tail[end, everything - which] < best:
                return at
        at -= 1
    return -1


@no_refcount
def across(at: int, best: float, sets: JobSets, table: Table, tail: FloatArray) -> tuple[float, int]:
    """The best solution, if better than ``best``, with a structure from entry ``at`` across the end.

    ``tail`` is that of :func:`tails` up to ``at``.

    Returns
    -------
    Cost and the structure's set; ``best`` and -1 if there is none.
    """
    entries, everything = len(tail) - 1, len(sets.span) - 1
    found = -1
    for k in range(table.numbers[at]):
        which = table.sets[at, k]
        end = at + sets.span[which] - entries
        if end > 0:
            value = table.cost[at, which] + tail[end, everything - which]
            if value < best:
                best, found = value, which
    return best, found
