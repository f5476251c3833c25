"""Survival of NSGA-II: ranks of non-domination, and crowding within a rank."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import reordered, stable_order
from transom.models.arrays import FloatArray, IntArray


@compiled
def survivors(costs: FloatArray, keep: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Who survives: ranks in turn, the last one by crowding; twins (equal costs) of earlier ones come last of all.

    Parameters
    ----------
    costs : to minimise, shape ``(n, p)``.
    keep : how many survive, at most ``n``.

    Returns
    -------
    The survivors in order, best first, their ranks and their crowding distances, each of shape ``(keep,)``.

    References
    ----------
    Deb, Pratap, Agarwal, Meyarivan, IEEE Transactions on Evolutionary Computation 6 (2002), section III.
    """
    count = len(costs)
    ranks = _ranks(costs, keep)
    order = stable_order(ranks)
    distances = np.zeros(count)
    begin = 0
    while begin < count and begin < keep:
        end = begin
        while end < count and ranks[order[end]] == ranks[order[begin]]:
            end += 1
        members = order[begin:end].copy()
        crowding = _crowding(costs, members)
        falling = np.empty(len(members))
        for place in range(len(members)):
            falling[place] = -crowding[place]
        places = stable_order(falling)
        for place in range(len(members)):
            order[begin + place] = members[places[place]]
            distances[begin + place] = crowding[places[place]]
        begin = end
    return order[:keep], reordered(ranks, order[:keep]), distances[:keep]


@compiled
def _ranks(costs: FloatArray, keep: int) -> IntArray:
    # Fronts are peeled off until enough are ranked; whoever is left shares the rank behind.
    count, objectives = costs.shape
    over = np.zeros((count, count), np.bool_)  # over[i, j]: i dominates j
    twin = np.zeros(count, np.bool_)
    for i in range(count):
        if twin[i]:
            continue
        for j in range(i + 1, count):
            if twin[j]:
                continue
            less, more = False, False
            for k in range(objectives):
                if costs[i, k] < costs[j, k]:
                    less = True
                    if more:
                        break
                elif costs[i, k] > costs[j, k]:
                    more = True
                    if less:
                        break
            if less and not more:
                over[i, j] = True
            elif more and not less:
                over[j, i] = True
            elif not less and not more:
                twin[j] = True
    beaten = np.zeros(count, np.int64)
    for i in range(count):
        if not twin[i]:  # what a twin beats, the first of them beats already
            for j in range(count):
                beaten[j] += over[i, j]
    ranks = np.full(count, count, np.int64)
    current = np.empty(count, np.int64)
    ranked, rank = 0, 0
    while ranked < keep:
        found = 0
        for i in range(count):
            if beaten[i] == 0 and not twin[i] and ranks[i] == count:
                current[found] = i
                found += 1
        if found == 0:
            break
        for place in range(found):
            ranks[current[place]] = rank
        ranked += found
        if ranked < keep:
            for place in range(found):
                for other in range(count):
                    beaten[other] -= over[current[place], other]
        rank += 1
    return ranks


@compiled
def _crowding(costs: FloatArray, members: IntArray) -> FloatArray:
    count, objectives = len(members), costs.shape[1]
    distances = np.zeros(count)
    column = np.empty(count)
    for k in range(objectives):
        for place in range(count):
            column[place] = costs[members[place], k]
        order = stable_order(column)
        spread = column[order[-1]] - column[order[0]]
        if spread <= 0:
            continue
        distances[order[0]] = np.inf
        distances[order[-1]] = np.inf
        for place in range(1, count - 1):
            distances[order[place]] += (column[order[place + 1]] - column[order[place - 1]]) / spread
    return distances
