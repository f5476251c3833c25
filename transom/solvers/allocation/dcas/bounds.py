"""How much one job could save on what is left of the sequence: bounds for the dynamic rule.

Costs are counted from a job whose nodes are all in different pods. What a choice of nodes *gains*
is what its pairs save against that, less the prices of the nodes, if they have any.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled

LEAF, POD, IN_LEAF, IN_POD, LEAF_START, POD_START = range(6)
"""Rows of ``places``: run of the leaf and of the pod, entries from here to the end of either, first entries of both."""


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
def gains(places, prices, unit, most, weights, in_pod, beyond):  # type: ignore[no-untyped-def]
    """What 0, 1 ... ``most`` nodes can gain in all pods from each one on, by a knapsack over pods.

    Parameters
    ----------
    places : of :func:`survey`.
    prices : price of each entry, alike on a leaf, shape ``(entries,)``.
    unit : what one hop less is worth.
    weights : of the cost model.
    in_pod : what nodes gain from an entry to the end of its pod, pairs in the pod left out, shape
        ``(entries, most + 1)``; filled in for the first entries of leaves, not a number at the others.
    beyond : becomes the gains from each pod on, shape ``(pods + 1, most + 1)``; minus infinity where there
        are not so many entries.
    """
    n = places.shape[1]
    pods = places[POD, n - 1] + 1
    beyond[:, :] = -np.inf
    beyond[pods, 0] = 0.0
    in_pod[:, 0] = np.nan
    seen = 0  # entries behind this pod
    end = n
    for pod in range(pods - 1, -1, -1):
        at = end
        begin = places[POD_START, end - 1]
        while at > begin:
            at = places[LEAF_START, at - 1]
            _from_entry(at, places, prices, unit, most, weights, in_pod)
        here, old, new = in_pod[begin], beyond[pod + 1], beyond[pod]
        for taken in range(min(most, end - begin) + 1):
            gain = here[taken] + unit * weights[1] * (taken * (taken - 1) // 2)
            for x in range(min(seen, most - taken) + 1):
                both = gain + old[x]
                new[taken + x] = both if both > new[taken + x] else new[taken + x]
        seen = min(most, seen + end - begin)
        end = begin


@compiled
def _from_entry(at, places, prices, unit, most, weights, in_pod):  # type: ignore[no-untyped-def]
    """Fill in ``in_pod`` at an entry from that of the next leaf: a knapsack over leaves."""
    room, behind = places[IN_LEAF, at], places[IN_POD, at] - places[IN_LEAF, at]
    have = min(most, behind)
    here = in_pod[at]
    old = in_pod[at + room] if behind else here
    here[:] = -np.inf
    for taken in range(min(room, most) + 1):
        gain = unit * weights[2] * (taken * (taken - 1) // 2) - prices[at] * taken
        if not behind:
            here[taken] = gain
            continue
        for x in range(min(have, most - taken) + 1):
            both = gain + old[x]
            here[taken + x] = both if both > here[taken + x] else here[taken + x]


@compiled
def reach(last, down_to, filled, places, starts, unit, weights, in_pod, ahead):  # type: ignore[no-untyped-def]
    """Fill in what nodes gain from each pod on, up to a last one that counts, on the doubled sequence.

    Parameters
    ----------
    last : the last pod that counts.
    down_to, filled : the pods from ``filled`` on are filled in, those from ``down_to`` on will be.
    places, unit, weights, in_pod : of :func:`gains`.
    starts : first entry of each pod.
    ahead : becomes the gains, shape ``(2 * pods + 1, most + 1)``.
    """
    most = in_pod.shape[1] - 1
    for pod in range(filled - 1, down_to - 1, -1):
        begin = starts[pod % len(starts)]
        here, old, new = in_pod[begin], ahead[pod + 1], ahead[pod]
        if pod == last:
            old[:] = -np.inf
            old[0] = 0.0
        new[:] = -np.inf
        for taken in range(min(most, places[IN_POD, begin]) + 1):
            gain = here[taken] + unit * weights[1] * (taken * (taken - 1) // 2)
            for x in range(most - taken + 1):
                both = gain + old[x]
                new[taken + x] = both if both > new[taken + x] else new[taken + x]


@compiled
def from_entry(at, places, prices, unit, weights, in_pod):  # type: ignore[no-untyped-def]
    """What nodes gain from an entry to the end of its pod, pairs in the pod left out, shape ``(most + 1,)``."""
    if in_pod[at, 0] != in_pod[at, 0]:
        _from_entry(at, places, prices, unit, in_pod.shape[1] - 1, weights, in_pod)
    return in_pod[at]


@compiled
def best_split(least, most, left, in_leaf, a, b, here, elsewhere, by_leaf, by_pod):  # type: ignore[no-untyped-def]
    """Most that ``left`` nodes gain, ``least`` to ``most`` of them in one pod.

    Parameters
    ----------
    in_leaf : how many can be in the leaf that has ``a`` nodes already.
    a, b : nodes placed there, and in the pod.
    here, elsewhere : what nodes in the pod, its pairs left out, and others gain.
    by_leaf, by_pod : what a pair gains on a leaf, above that in the pod, and in the pod.
    """
    best = -np.inf
    for x in range(least, most + 1):
        both = elsewhere[left - x] + here[x] + by_pod * (b + 0.5 * (x - 1)) * x + by_leaf * a * min(x, in_leaf)
        best = both if both > best else best
    return best


@compiled
def pod_starts(places):  # type: ignore[no-untyped-def]
    """First entry of each pod."""
    starts = np.empty(places[POD, -1] + 1, np.int64)
    for i in range(places.shape[1]):
        starts[places[POD, i]] = places[POD_START, i]
    return starts
