"""How little one job could cost on what is left of the sequence: bounds for the dynamic rule."""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled

LEAF, POD, IN_LEAF, IN_POD, LEAF_START, POD_START = range(6)
"""Rows of ``places``: run of the leaf and of the pod, entries from here to the end of either, first entries of both."""

UNKNOWN = -2
"""An entry of a table that is computed when it is first asked for."""


@compiled
def cost_of(n, hops, weights):  # type: ignore[no-untyped-def]
    """Cost of ``n`` >= 2 nodes whose pairs are so many hops apart, as ``hop_cost`` has it."""
    if weights[4]:
        return float(max(weights[3] * hops // n, 1))
    return weights[3] * hops / n


@compiled
def survey(leaf, pod):  # type: ignore[no-untyped-def]
    """Where each entry of a sequence stands, shape ``(6, entries)``; leaves and pods are consecutive."""
    n = len(leaf)
    places = np.empty((6, n), np.int64)
    for i in range(n):
        new_leaf = i == 0 or leaf[i] != leaf[i - 1]
        new_pod = i == 0 or pod[i] != pod[i - 1]
        places[LEAF, i] = (places[LEAF, i - 1] + new_leaf) if i else 0
        places[POD, i] = (places[POD, i - 1] + new_pod) if i else 0
        places[LEAF_START, i] = i if new_leaf else places[LEAF_START, i - 1]
        places[POD_START, i] = i if new_pod else places[POD_START, i - 1]
    for i in range(n - 1, -1, -1):
        last_leaf = i == n - 1 or leaf[i] != leaf[i + 1]
        last_pod = i == n - 1 or pod[i] != pod[i + 1]
        places[IN_LEAF, i] = 1 if last_leaf else places[IN_LEAF, i + 1] + 1
        places[IN_POD, i] = 1 if last_pod else places[IN_POD, i + 1] + 1
    return places


@compiled
def most_in_pod(places, at, most, saved, rooms):  # type: ignore[no-untyped-def]
    """Most pairs below one leaf that 0, 1 ... ``most`` nodes can have in the pod of entry ``at`` from there on.

    Filling the leaf with most room first is best, because pairs grow faster than nodes. ``saved``, shape
    ``(most + 1,)``, takes them; ``rooms`` is space to sort in.

    Returns
    -------
    How many nodes there is room for, at most ``most``; ``saved`` is filled so far.
    """
    end = at + places[IN_POD, at]
    found = 0
    i = at
    while i < end:
        room = places[IN_LEAF, i]
        k = found
        while k > 0 and rooms[k - 1] < room:
            rooms[k] = rooms[k - 1]
            k -= 1
        rooms[k] = room
        found += 1
        i += room
    saved[0] = 0
    taken = 0
    for k in range(found):
        for inside in range(rooms[k]):
            if taken == most:
                return taken
            taken += 1
            saved[taken] = saved[taken - 1] + inside
    return taken


@compiled
def free_savings(places, most, weights):  # type: ignore[no-untyped-def]
    """Most hops that so many nodes can save, anywhere from each pod on, shape ``(pods + 1, most + 1)``.

    A knapsack over pods, from the last one. -1 where there are not so many entries.
    """
    n = places.shape[1]
    pods = places[POD, n - 1] + 1
    table = np.full((pods + 1, most + 1), -1, np.int64)
    table[pods, 0] = 0
    saved = np.empty(most + 1, np.int64)
    rooms = np.empty(n, np.int64)
    at = n - 1
    seen = 0
    for pod in range(pods - 1, -1, -1):
        start = places[POD_START, at]
        room = most_in_pod(places, start, most, saved, rooms)
        for x in range(room + 1):
            here = weights[2] * saved[x] + weights[1] * (x * (x - 1) // 2)
            for y in range(min(seen, most - x) + 1):
                both = here + table[pod + 1, y]
                table[pod, x + y] = max(both, table[pod, x + y])
        seen = min(most, seen + places[IN_POD, start])
        at = start - 1
    return table


@compiled
def rest_savings(at, left, free_from, places, free, inside, rest, rooms, weights):  # type: ignore[no-untyped-def]
    """Most hops that ``left`` more nodes save among themselves: some in this pod from here on, some elsewhere.

    Parameters
    ----------
    at, left : entry, and nodes still to be placed.
    free_from : 1 if elsewhere means the pods that follow, 0 if it means all of them.
    places, free, weights : of :func:`survey` and :func:`free_savings`, and of the cost model.
    inside, rest : tables of what is known already, shapes ``(entries, most + 1)`` and
        ``(2, entries, most + 1)``.
    rooms : space to sort in.

    Returns
    -------
    Hops; -1 if there are not so many nodes.
    """
    known = rest[free_from, at, left]
    if known != UNKNOWN:
        return known
    if inside[at, 0] == UNKNOWN:
        most_in_pod(places, at, inside.shape[1] - 1, inside[at], rooms)
    elsewhere = free[places[POD, at] + 1] if free_from else free[0]
    best = -1
    for x in range(min(left, places[IN_POD, at]) + 1):
        others = elsewhere[left - x]
        if others >= 0:
            best = max(best, others + weights[2] * inside[at, x] + weights[1] * (x * (x - 1) // 2))
    rest[free_from, at, left] = best
    return best
