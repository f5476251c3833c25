"""How much one job could save on what is left of the sequence: bounds for the dynamic rule.

Costs are counted from a job whose nodes are all in different pods. What a choice of nodes *gains*
is what its pairs save against that, less the prices of the nodes, if they have any.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, inlined, no_refcount
from transom.models.arrays import FloatArray, IntArray


class Places(NamedTuple):
    """Where each entry of a sequence stands, shape ``(entries,)``; leaves and pods are consecutive."""

    leaf: IntArray  # counted from 0
    pod: IntArray
    in_leaf: IntArray  # entries from here to the end of the leaf
    in_pod: IntArray
    leaf_start: IntArray  # first entry of the leaf
    pod_start: IntArray
    starts: IntArray  # first entry of each pod, (pods,)


class Bounds(NamedTuple):
    """What nodes gain; in tables, one for each size where nodes have prices, one for all where they have none."""

    weights: IntArray  # of the cost model
    prices: FloatArray  # of each entry, (entries,)
    charged: FloatArray  # sums of prices before each entry of the doubled sequence
    low: FloatArray  # what the jobs of each set cost at least, prices included
    units: FloatArray  # what a hop is worth, (tables,)
    in_pod: FloatArray  # of `gains`, (tables, entries, most + 1)
    ahead: FloatArray  # of `reach`, (tables, 2 * pods + 1, most + 1)
    anywhere: FloatArray  # on all entries, (tables, most + 1)
    known: FloatArray  # gains that have been asked for, in both laps, (tables, 2, entries, most + 1)
    stamps: IntArray  # the last pod that counted then, (tables, 2, entries)


class Ahead(NamedTuple):
    """What nodes gain in the pod of the next entry, its pairs left out, and elsewhere; what a pair there gains."""

    within: FloatArray
    elsewhere: FloatArray
    pod_pair: float
    leaf_pair: float  # above that in the pod


@compiled
def survey(leaf: IntArray, pod: IntArray) -> Places:
    """Where each entry of a sequence of nodes stands."""
    n = len(leaf)
    runs = np.empty((6, n), np.int64)
    leaves, pods, in_leaf, in_pod, leaf_start, pod_start = runs[0], runs[1], runs[2], runs[3], runs[4], runs[5]
    for i in range(n):
        new_leaf = i == 0 or leaf[i] != leaf[i - 1]
        new_pod = i == 0 or pod[i] != pod[i - 1]
        leaves[i] = (leaves[i - 1] + new_leaf) if i else 0
        pods[i] = (pods[i - 1] + new_pod) if i else 0
        leaf_start[i] = i if new_leaf else leaf_start[i - 1]
        pod_start[i] = i if new_pod else pod_start[i - 1]
    starts = np.empty(pods[n - 1] + 1, np.int64)
    for i in range(n - 1, -1, -1):
        in_leaf[i] = 1 if i == n - 1 or leaf[i] != leaf[i + 1] else in_leaf[i + 1] + 1
        in_pod[i] = 1 if i == n - 1 or pod[i] != pod[i + 1] else in_pod[i + 1] + 1
        starts[pods[i]] = i
    return Places(leaves, pods, in_leaf, in_pod, leaf_start, pod_start, starts)


@inlined
def _take(taken: int, gain: float, behind: int, old: FloatArray, new: FloatArray) -> None:
    """The step of a knapsack: so many nodes here, up to ``behind`` in what comes behind, which ``old`` states."""
    for x in range(min(behind, len(new) - 1 - taken) + 1):
        both = gain + old[x]
        new[taken + x] = both if both > new[taken + x] else new[taken + x]


@no_refcount
def gains(
    places: Places, prices: FloatArray, unit: float, weights: IntArray, in_pod: FloatArray, beyond: FloatArray
) -> None:
    """What 0, 1 ... nodes can gain in all pods from each one on, by a knapsack over pods.

    Parameters
    ----------
    prices : price of each entry, alike on a leaf, shape ``(entries,)``.
    unit : what one hop less is worth.
    weights : of the cost model.
    in_pod : what nodes gain from an entry to the end of its pod, pairs in the pod left out, shape
        ``(entries, most + 1)``; filled in for the first entries of leaves, not a number at the others.
    beyond : becomes the gains from each pod on, shape ``(pods + 1, most + 1)``; minus infinity where there
        are not so many entries.
    """
    n, most = len(places.leaf), in_pod.shape[1] - 1
    pods = len(places.starts)
    beyond[:, :] = -np.inf
    beyond[pods, 0] = 0.0
    in_pod[:, 0] = np.nan
    seen = 0  # entries behind this pod
    end = n
    for pod in range(pods - 1, -1, -1):
        at = end
        begin = places.starts[pod]
        while at > begin:
            at = places.leaf_start[at - 1]
            _fill_from(at, places, prices, unit, weights, in_pod)
        for taken in range(min(most, end - begin) + 1):
            gain = in_pod[begin, taken] + unit * weights[1] * (taken * (taken - 1) // 2)
            _take(taken, gain, seen, beyond[pod + 1], beyond[pod])
        seen = min(most, seen + end - begin)
        end = begin


@no_refcount
def _fill_from(at: int, places: Places, prices: FloatArray, unit: float, weights: IntArray, in_pod: FloatArray) -> None:
    """Fill in ``in_pod`` at an entry from that of the next leaf: a knapsack over leaves."""
    room, behind, most = places.in_leaf[at], places.in_pod[at] - places.in_leaf[at], in_pod.shape[1] - 1
    here = in_pod[at]
    here[:] = -np.inf
    for taken in range(min(room, most) + 1):
        gain = unit * weights[2] * (taken * (taken - 1) // 2) - prices[at] * taken
        if behind:
            _take(taken, gain, behind, in_pod[at + room], here)
        else:
            here[taken] = gain


@no_refcount
def reach(last: int, down_to: int, filled: int, table: int, places: Places, bounds: Bounds) -> None:
    """Fill in what nodes gain from each pod on, up to a last one that counts, on the doubled sequence.

    Parameters
    ----------
    last : the last pod that counts.
    down_to, filled : the pods from ``filled`` on are filled in, those from ``down_to`` on will be.
    table : of the gains.
    """
    most, unit = bounds.in_pod.shape[2] - 1, bounds.units[table]
    for pod in range(filled - 1, down_to - 1, -1):
        begin = places.starts[pod % len(places.starts)]
        old, new = bounds.ahead[table, pod + 1], bounds.ahead[table, pod]
        if pod == last:
            old[:] = -np.inf
            old[0] = 0.0
        new[:] = -np.inf
        for taken in range(min(most, places.in_pod[begin]) + 1):
            gain = bounds.in_pod[table, begin, taken] + unit * bounds.weights[1] * (taken * (taken - 1) // 2)
            _take(taken, gain, most, old, new)


@no_refcount
def fill_from(at: int, table: int, places: Places, bounds: Bounds) -> None:
    """Fill in what nodes gain from an entry to the end of its pod where it is not known."""
    in_pod = bounds.in_pod[table]
    if in_pod[at, 0] != in_pod[at, 0]:
        _fill_from(at, places, bounds.prices, bounds.units[table], bounds.weights, in_pod)


@inlined
def best_split(ahead: Ahead, least: int, most: int, left: int, in_leaf: int, leaf: int, pod: int) -> float:
    """Most that ``left`` nodes gain, ``least`` to ``most`` of them in the pod of the next entry.

    Parameters
    ----------
    in_leaf : how many can be in the leaf that has ``leaf`` nodes already.
    leaf, pod : nodes placed there, and in the pod.
    """
    best = -np.inf
    within, elsewhere = ahead.within, ahead.elsewhere
    for x in range(least, most + 1):
        pairs = ahead.pod_pair * (pod + 0.5 * (x - 1)) * x
        both = elsewhere[left - x] + within[x] + pairs + ahead.leaf_pair * leaf * min(x, in_leaf)
        best = both if both > best else best
    return best
