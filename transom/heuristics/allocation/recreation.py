"""One job placed on what is free: greedy inside a pod, a knapsack over pods, its own optimum on three levels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import ascending, largest, reordered, stable_order
from transom.models.arrays import IntArray
from transom.models.hop_cost import hop_cost

_BLINK = 0.05  # how often a leaf switch, and a pod, is overlooked, where enough is left without it
_MOST = 32  # pods that the knapsack looks at: those in which the job does best


class Places(NamedTuple):
    """The idle nodes sorted by pod and leaf switch.

    ``leaf``, ``pod``: of each place, shape ``(places,)``; ``leaf_first``, ``pod_first``: first place of each, and the
    end; ``upper``: for each level between pods and core the switch of a place, shape ``(levels, places)``, as the
    column of a job's counts in :class:`~transom.heuristics.allocation.counts.Books`.
    """

    leaf: IntArray
    pod: IntArray
    leaf_first: IntArray
    pod_first: IntArray
    upper: IntArray


@compiled
def recreate(
    rng: np.random.Generator, owner: IntArray, places: Places, sizes: IntArray, weights: IntArray, job: int
) -> float:
    """Give a job places that the last job (what stays idle) holds, and return its cost.

    Inside a pod the switches with most free places come first, which no other choice of so many places beats;
    how many come from each pod is a knapsack. Some switches are overlooked at random. On levels above pods the job
    goes below one switch that holds it, chosen at random, or the fullest ones that do together.
    """
    size, idle = sizes[job], len(sizes) - 1
    leaves, pods = len(places.leaf_first) - 1, len(places.pod_first) - 1
    free, room = np.zeros(leaves, np.int64), np.zeros(pods, np.int64)
    spare = -size
    for place in range(len(owner)):
        if owner[place] == idle:
            free[places.leaf[place]] += 1
            spare += 1
    for pod in range(pods):
        first, end = _leaves_of(places, pod)
        whole = rng.random() < _BLINK
        for leaf in range(first, end):
            if free[leaf] > 0 and free[leaf] <= spare and (whole or rng.random() < _BLINK):
                spare -= free[leaf]
                free[leaf] = 0
            room[pod] += free[leaf]
    if len(places.upper) > 0:
        _stay_below(rng, room, places, size)
    chosen = _best_pods(free, room, places, size, weights)
    amount = _share_out(free, room, places, size, weights, chosen)
    leaf_pairs, pod_pairs = 0, _pairs_above(places, chosen, amount)
    for k in range(len(chosen)):
        pod, need = chosen[k], amount[k]
        pod_pairs += need * (need - 1) // 2
        first, end = _leaves_of(places, pod)
        while need > 0:
            leaf = first + int(np.argmax(free[first:end]))
            here = min(need, free[leaf])
            leaf_pairs += here * (here - 1) // 2
            need -= here
            free[leaf] = 0
            place = places.leaf_first[leaf]
            while here > 0:
                if owner[place] == idle:
                    owner[place] = job
                    here -= 1
                place += 1
    return hop_cost(size, leaf_pairs, pod_pairs, weights)


@no_refcount
def _leaves_of(places: Places, pod: int) -> tuple[int, int]:
    """First leaf switch of a pod, and the end."""
    return places.leaf[places.pod_first[pod]], places.leaf[places.pod_first[pod + 1] - 1] + 1


@compiled
def _stay_below(rng: np.random.Generator, room: IntArray, places: Places, size: int) -> None:
    """Overlook all pods but those below a switch that holds the job, or below the fullest that do together."""
    for level in range(len(places.upper) - 1, -1, -1):
        below = np.zeros(largest(places.upper[level]) + 1, np.int64)
        for pod in range(len(room)):
            below[places.upper[level, places.pod_first[pod]]] += room[pod]
        kept = np.zeros(len(below), np.bool_)
        fits = 0
        for switch in range(len(below)):
            fits += below[switch] >= size
        if fits > 0:
            one = min(int(rng.random() * fits), fits - 1)
            for switch in range(len(below)):
                if below[switch] >= size:
                    kept[switch] = one == 0
                    one -= 1
        else:
            held = 0
            while held < size:
                fullest = int(np.argmax(below))
                held += below[fullest]
                below[fullest] = -1
                kept[fullest] = True
        for pod in range(len(room)):
            if not kept[places.upper[level, places.pod_first[pod]]]:
                room[pod] = 0


@compiled
def _pairs_above(places: Places, chosen: IntArray, amount: IntArray) -> int:
    """Pairs of so many nodes in each of the pods that share switches on the levels above."""
    pairs = 0
    for level in range(len(places.upper)):
        below = np.zeros(largest(places.upper[level]) + 1, np.int64)
        for k in range(len(chosen)):
            switch = places.upper[level, places.pod_first[chosen[k]]]
            pairs += below[switch] * amount[k] + amount[k] * (amount[k] - 1) // 2
            below[switch] += amount[k]
    return pairs


@compiled
def _best_pods(free: IntArray, room: IntArray, places: Places, size: int, weights: IntArray) -> IntArray:
    """The pods with free places; of many only those with most saved, but enough for the job."""
    some = np.flatnonzero(room)
    if len(some) <= _MOST:
        return some
    saved = np.empty(len(some), np.int64)
    for k in range(len(some)):
        first, end = _leaves_of(places, some[k])
        most = min(room[some[k]], size)
        saved[k] = -_gains(ascending(free[first:end]), most, weights)[most]
    ranked = reordered(some, stable_order(saved))
    kept, held = 0, 0
    while kept < len(ranked) and (kept < _MOST or held < size):
        held += room[ranked[kept]]
        kept += 1
    return ranked[:kept]


@compiled
def _gains(ascending: IntArray, most: int, weights: IntArray) -> IntArray:
    """Hops saved by 0, 1 ... ``most`` places of a pod with so many free ones on its leaf switches."""
    gains = np.zeros(most + 1, np.int64)
    taken = 0
    for leaf in range(len(ascending) - 1, -1, -1):
        for before in range(ascending[leaf]):
            if taken == most:
                return gains
            gains[taken + 1] = gains[taken] + weights[1] * taken + weights[2] * before
            taken += 1
    return gains


@compiled
def _share_out(
    free: IntArray, room: IntArray, places: Places, size: int, weights: IntArray, chosen: IntArray
) -> IntArray:
    """How many places to take from each of the pods so that most is saved."""
    amount = np.zeros(len(chosen), np.int64)
    saved = np.full(size + 1, -1, np.int64)
    saved[0] = 0
    taken = np.zeros((len(chosen), size + 1), np.int64)
    reach = 0
    for k in range(len(chosen)):
        first, end = _leaves_of(places, chosen[k])
        most = min(room[chosen[k]], size)
        gains = _gains(ascending(free[first:end]), most, weights)
        reach = min(size, reach + most)
        for total in range(reach, 0, -1):
            for here in range(1, min(most, total) + 1):
                if saved[total - here] >= 0 and saved[total - here] + gains[here] > saved[total]:
                    saved[total] = saved[total - here] + gains[here]
                    taken[k, total] = here
    left = size
    for k in range(len(chosen) - 1, -1, -1):
        amount[k] = taken[k, left]
        left -= amount[k]
    return amount
