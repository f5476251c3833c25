"""Idle nodes counted by switch, and the best fit of a job into them: what both heuristics place with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hops_cost
from transom.models.joint import Joint


class Room(NamedTuple):
    """Idle nodes below each switch; nodes below one leaf switch are all alike."""

    above: IntArray  # switch above each leaf switch on each level, itself first and the core last, (levels, leaves)
    free: IntArray  # idle nodes below each switch of each level, (levels, leaves); it changes
    savings: IntArray  # hops that a pair saves by sharing a switch, (levels,)
    hops: IntArray  # weights of the cost model


class Jobs(NamedTuple):
    """The jobs, in arrays for kernels."""

    sizes: IntArray
    limits: IntArray
    weights: FloatArray  # of a mandatory job more than all others can bring together
    cost_weight: float


def room_of(problem: Joint) -> tuple[Room, IntArray]:
    """All idle nodes of a problem, and the leaf switch of each, numbered from 0."""
    levels = problem.levels
    _, first, leaf = np.unique(levels[0], return_index=True, return_inverse=True)
    above = np.zeros((len(levels) + 1, len(first)), np.int64)
    free = np.zeros_like(above)
    for row in range(len(levels)):
        above[row] = np.unique(levels[row, first], return_inverse=True)[1]
    for row in range(len(above)):
        counts = np.bincount(above[row][leaf], minlength=len(first))
        free[row] = counts
    return Room(above, free, np.append(problem.savings, 0), problem.hop_weights), leaf.astype(np.int64)


def jobs_of(problem: Joint) -> Jobs:
    """Its jobs; the weights of mandatory ones are raised so that any solution with more of them is better."""
    weights = problem.weights.astype(float)
    dearest = float(problem.cost.weights[3]) * float(problem.hop_weights[0]) * problem.cost_weight
    most = float(np.abs(weights).sum()) + dearest * float(np.minimum(problem.sizes, len(problem.idle)).sum()) + 1
    weights[problem.mandatory] += 2 * most
    return Jobs(np.array(problem.sizes), np.array(problem.limits), weights, problem.cost_weight)


def owners(problem: Joint, leaf: IntArray, counts: IntArray) -> IntArray:
    """The solution with these counts, shape ``(jobs, leaves)``: the first idle nodes of a leaf to the first job."""
    owner = np.full(len(problem.idle), -1)
    order = np.argsort(leaf, kind="stable")
    begins = np.concatenate(([0], np.cumsum(np.bincount(leaf, minlength=counts.shape[1]))))
    for at in np.flatnonzero(counts.any(axis=0)).tolist():
        taken = np.repeat(np.arange(len(problem)), counts[:, at])
        owner[order[begins[at] : begins[at] + len(taken)]] = taken
    return owner


@compiled
def move(room: Room, counts: IntArray, sign: int) -> None:
    """Give so many nodes of each leaf switch back (1), or take them (-1)."""
    for leaf in range(len(counts)):
        if counts[leaf]:
            for level in range(len(room.above)):
                room.free[level, room.above[level, leaf]] += sign * counts[leaf]


@compiled
def best_fit(room: Room, size: int, limit: int, counts: IntArray) -> bool:
    """Counts by leaf switch for a job: below the fullest switch of the lowest level that has room for all of it.

    Returns
    -------
    Whether there is room within the limit on leaf switches; where it holds no nodes are taken yet.
    """
    for level in range(len(room.above)):
        switch = -1
        for leaf in range(len(counts)):
            at = room.above[level, leaf]
            if room.free[level, at] >= size and (switch < 0 or room.free[level, at] < room.free[level, switch]):
                switch = at
        if switch >= 0:
            for by_leaf in range(2):
                counts[:] = 0
                if fill(room, level, switch, size, by_leaf == 1, counts) <= limit:
                    return True
    return False


@compiled
def fill(room: Room, level: int, switch: int, size: int, by_leaf: bool, counts: IntArray) -> int:
    """Whole switches, the largest first, then down into the smallest one that holds the rest.

    ``by_leaf`` takes whole leaf switches at once, which touches the fewest. Returns how many are touched.
    """
    left, touched = size, 0
    while left > 0:
        below = 0 if by_leaf or level == 0 else level - 1
        fits, largest = -1, -1
        for leaf in range(len(counts)):
            at = room.above[below, leaf]
            if room.above[level, leaf] != switch or counts[leaf] > 0 or room.free[0, leaf] == 0:
                continue
            amount = room.free[below, at]
            if amount >= left and (fits < 0 or amount < room.free[below, fits]):
                fits = at
            if largest < 0 or amount > room.free[below, largest]:
                largest = at
        if fits >= 0 and below == 0:
            counts[fits] = left
            return touched + 1
        if fits >= 0:
            level, switch = below, fits
            continue
        for leaf in range(len(counts)):
            if room.above[below, leaf] == largest and room.free[0, leaf] > 0:
                counts[leaf] = room.free[0, leaf]
                left -= counts[leaf]
                touched += 1
    return touched


@compiled
def cost_of(room: Room, size: int, counts: IntArray, pairs: IntArray) -> float:
    """Cost of a job with these counts; ``pairs`` is scratch of as many switches as leaves, all 0."""
    if size < 2:
        return 0.0
    hops = room.hops[0] * (size * (size - 1) // 2)
    for level in range(len(room.above) - 1):
        for leaf in range(len(counts)):
            if counts[leaf]:
                pairs[room.above[level, leaf]] += counts[leaf]
        for leaf in range(len(counts)):
            held = pairs[room.above[level, leaf]]
            if held:
                hops -= room.savings[level] * (held * (held - 1) // 2)
                pairs[room.above[level, leaf]] = 0
    return hops_cost(size, hops, room.hops)


@compiled
def insert(room: Room, jobs: Jobs, order: IntArray, counts: IntArray, gains: FloatArray) -> None:
    """Start each job of an order that has room and brings more than it costs; ``counts`` and ``gains`` are changed.

    Parameters
    ----------
    order : positions of jobs, those with a gain already are left alone, shape ``(any,)``.
    counts : nodes of each job by leaf switch, shape ``(jobs, leaves)``.
    gains : what each started job brings, 0 for the others, shape ``(jobs,)``.
    """
    core = len(room.above) - 1
    row, pairs = np.zeros(counts.shape[1], np.int64), np.zeros(counts.shape[1], np.int64)
    for k in range(len(order)):
        job = order[k]
        if gains[job] > 0 or jobs.weights[job] <= 0 or len(row) == 0 or jobs.sizes[job] > room.free[core, 0]:
            continue
        if best_fit(room, jobs.sizes[job], jobs.limits[job], row):
            gain = jobs.weights[job] - jobs.cost_weight * cost_of(room, jobs.sizes[job], row, pairs)
            if gain > 0:
                gains[job] = gain
                counts[job] = row
                move(room, row, -1)
