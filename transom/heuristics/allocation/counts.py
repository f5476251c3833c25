"""Kernels of a search on counts: how many nodes each job has on each leaf switch and in each pod.

Nodes of one leaf switch are alike, so that a solution of the free rule is known by its counts. They are kept as
owners of *places*, the idle nodes sorted by pod and leaf switch; what stays idle belongs to a job of its own, the
last one, which costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import put, sum_of
from transom.heuristics.allocation.annealing import Schedule, metropolis
from transom.heuristics.allocation.recreation import Places, recreate
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost


class Layout(NamedTuple):
    """What is laid out.

    Parameters
    ----------
    places : where nodes stand.
    sizes, begin : nodes of each job, the last being what stays idle, and where its places begin in the books.
    weights : of the cost model.
    """

    places: Places
    sizes: IntArray
    begin: IntArray
    weights: IntArray


class Books(NamedTuple):
    """Where the search stands (:func:`open_books`).

    Parameters
    ----------
    owner : of each place, shape ``(places,)``.
    held : the places of each job one after the other.
    slot : where a place stands there.
    counts : of each job the pairs of nodes that share a leaf switch, those that share a pod or a switch above pods,
        then its nodes below each pod and each of those switches; shape ``(jobs + 1, 2 + pods + switches)``.
    """

    owner: IntArray
    held: IntArray
    slot: IntArray
    counts: IntArray


@compiled
def search_counts(
    rng: np.random.Generator,
    books: Books,
    best: IntArray,
    state: FloatArray,
    layout: Layout,
    ruin: int,
    schedule: Schedule,
) -> int:
    """Take steps: nodes of two jobs change places between two leaf switches, or jobs are placed anew.

    Parameters
    ----------
    books : where the search stands; changed in place.
    best : owner of each place in the best solution; changed in place.
    state : its cost, shape ``(1,)``.
    layout : the allocation.
    ruin : one of so many steps places jobs anew, 0 for none.
    schedule : the steps.

    Returns
    -------
    After how many steps the best solution was met, 0 if it was none of them.
    """
    jobs = len(layout.sizes) - 1
    cost = np.zeros(jobs + 1)
    for job in range(jobs):
        cost[job] = hop_cost(layout.sizes[job], books.counts[job, 0], books.counts[job, 1], layout.weights)
    better_at = 0
    for step in range(schedule.first, schedule.end):
        if ruin > 0 and rng.random() * ruin < 1:
            changed = _place_anew(rng, books, cost, layout, schedule, step)
        else:
            changed = _exchange(rng, books, cost, layout, schedule, step)
        if changed:
            value = sum_of(cost)
            if value < state[0] - 1e-12 * abs(state[0]):
                put(best, books.owner)
                state[0] = value
                better_at = step - schedule.first + 1
    return better_at


@compiled
def open_books(owner: IntArray, layout: Layout, books: Books) -> None:
    """Write the books of a solution."""
    places, sizes, begin, _ = layout
    held_by, held, slot, counts = books
    counts[:] = 0
    at = begin.copy()
    on_leaf = np.zeros(len(sizes), np.int64)
    n = len(owner)
    for place in range(n):
        job = owner[place]
        held_by[place] = job
        held[at[job]] = place
        slot[place] = at[job]
        at[job] += 1
        pod = 2 + places.pod[place]
        counts[job, 1] += counts[job, pod]
        counts[job, pod] += 1
        for level in range(len(places.upper)):
            switch = places.upper[level, place]
            counts[job, 1] += counts[job, switch]
            counts[job, switch] += 1
        counts[job, 0] += on_leaf[job]
        on_leaf[job] += 1
        if place + 1 == n or places.leaf[place + 1] != places.leaf[place]:
            for k in range(places.leaf_first[places.leaf[place]], place + 1):
                on_leaf[owner[k]] = 0


@no_refcount
def _exchange(
    rng: np.random.Generator, books: Books, cost: FloatArray, layout: Layout, schedule: Schedule, step: int
) -> bool:
    """Let two jobs change places between two leaf switches; whether that was done."""
    places, sizes, begin, weights = layout
    owner, held, slot, counts = books
    n, idle = len(owner), len(sizes) - 1
    here = int(rng.random() * n)
    one = owner[here]
    if one != idle and rng.random() < 0.5:
        # Towards where the job has nodes already.
        there = held[begin[one] + int(rng.random() * sizes[one])]
        low, high = _leaf_span(places, there)
        there = low + int(rng.random() * (high - low))
    else:
        there = int(rng.random() * n)
    two = owner[there]
    from_leaf, to_leaf = places.leaf[here], places.leaf[there]
    if one == two or from_leaf == to_leaf:
        return False
    low, high = _leaf_span(places, here)
    one_here, two_here = 0, 0
    for place in range(low, high):
        one_here += owner[place] == one
        two_here += owner[place] == two
    low_there, high_there = _leaf_span(places, there)
    one_there, two_there = 0, 0
    for place in range(low_there, high_there):
        one_there += owner[place] == one
        two_there += owner[place] == two
    moved = min(one_here, two_there) if rng.random() < 0.5 else 1
    pod_here, pod_there = 2 + places.pod[here], 2 + places.pod[there]
    leaf_one = counts[one, 0] + moved * (one_there - one_here + moved)
    leaf_two = counts[two, 0] + moved * (two_here - two_there + moved)
    pod_one, pod_two = counts[one, 1], counts[two, 1]
    if pod_here != pod_there:
        pod_one += moved * (counts[one, pod_there] - counts[one, pod_here] + moved)
        pod_two += moved * (counts[two, pod_here] - counts[two, pod_there] + moved)
    for level in range(len(places.upper)):
        switch_here, switch_there = places.upper[level, here], places.upper[level, there]
        if switch_here != switch_there:
            pod_one += moved * (counts[one, switch_there] - counts[one, switch_here] + moved)
            pod_two += moved * (counts[two, switch_here] - counts[two, switch_there] + moved)
    new_one = 0.0 if one == idle else hop_cost(sizes[one], leaf_one, pod_one, weights)
    new_two = 0.0 if two == idle else hop_cost(sizes[two], leaf_two, pod_two, weights)
    loss = new_one + new_two - cost[one] - cost[two]
    if not metropolis(rng, loss, schedule.temperatures, step, schedule.steps):
        return False
    cost[one], cost[two] = new_one, new_two
    counts[one, 0], counts[one, 1], counts[two, 0], counts[two, 1] = leaf_one, pod_one, leaf_two, pod_two
    counts[one, pod_here] -= moved
    counts[one, pod_there] += moved
    counts[two, pod_there] -= moved
    counts[two, pod_here] += moved
    for level in range(len(places.upper)):
        switch_here, switch_there = places.upper[level, here], places.upper[level, there]
        counts[one, switch_here] -= moved
        counts[one, switch_there] += moved
        counts[two, switch_there] -= moved
        counts[two, switch_here] += moved
    a, b = low, low_there
    while moved > 0:
        while owner[a] != one:
            a += 1
        while owner[b] != two:
            b += 1
        slot_a, slot_b = slot[a], slot[b]
        owner[a], owner[b] = two, one
        held[slot_a], held[slot_b] = b, a
        slot[a], slot[b] = slot_b, slot_a
        moved -= 1
        a += 1
        b += 1
    return True


@no_refcount
def _leaf_span(places: Places, place: int) -> tuple[int, int]:
    """First place of the leaf switch of a place, and the end."""
    leaf = places.leaf[place]
    return places.leaf_first[leaf], places.leaf_first[leaf + 1]


@compiled
def _place_anew(
    rng: np.random.Generator, books: Books, cost: FloatArray, layout: Layout, schedule: Schedule, step: int
) -> bool:
    """Take up to three jobs that are near each other off and give each the best of what is free; whether it stays."""
    places, sizes, begin, weights = layout
    jobs = len(sizes) - 1
    owner, held = books.owner.copy(), books.held
    out = np.empty(3, np.int64)
    out[0] = int(rng.random() * jobs)
    moved = 1
    wanted = 1 + int(rng.random() * min(3, jobs))
    for _ in range(8):
        if moved == wanted:
            break
        near = held[begin[out[0]] + int(rng.random() * sizes[out[0]])]
        pod = places.pod[near]
        low, high = places.pod_first[pod], places.pod_first[pod + 1]
        other = owner[low + int(rng.random() * (high - low))]
        if other == jobs:
            other = int(rng.random() * jobs)
        if other != out[0] and (moved == 1 or other != out[1]):
            out[moved] = other
            moved += 1
    for k in range(moved):  # in random order
        swap = k + int(rng.random() * (moved - k))
        out[k], out[swap] = out[swap], out[k]
        for slot in range(begin[out[k]], begin[out[k] + 1]):
            owner[held[slot]] = jobs
    loss = 0.0
    found = np.empty(3)
    for k in range(moved):
        job = out[k]
        found[k] = recreate(rng, owner, places, sizes, weights, job)
        loss += found[k] - cost[job]
    if not metropolis(rng, loss, schedule.temperatures, step, schedule.steps):
        return False
    for k in range(moved):
        cost[out[k]] = found[k]
    open_books(owner, layout, books)
    return True
