"""What communication between the nodes of a job costs: hops, pairs, rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import clear, largest
from transom.errors import ModelError
from transom.models.arrays import FloatArray, IntArray, whole


@dataclass(frozen=True, slots=True)
class HopCost:
    r"""The communication-hop cost of the nodes of one job.

    .. math:: C(N_j) = \frac{c}{n_j} \sum_{i \in N_j} \sum_{k \in N_j,\, k \ne i} h_{ik}

    over ordered or unordered pairs. Hops are an ultrametric, so the sum depends only on the
    counts :math:`a_s` per leaf switch and :math:`b_p` per pod:

    .. math:: \sum_{i<k} h_{ik} = h_3 \tbinom{n}{2} - (h_3 - h_2) \sum_p \tbinom{b_p}{2}
              - (h_2 - h_1) \sum_s \tbinom{a_s}{2}

    A job of one node has no pairs and costs nothing under every model.

    Parameters
    ----------
    same_leaf, same_pod, other : hops :math:`h_1 \le h_2 \le h_3` between nodes below one leaf switch, in one
        pod, in two pods; whole numbers >= 0. On trees with levels between pods and core, each of them adds
        :math:`h_3 - h_2` hops for those that only a higher one joins: 2, 4, 6, 8 ...
    ordered : whether each pair counts twice.
    floored : whether the cost of a job is rounded down, but to at least 1.
    unit : cost :math:`c` of one hop, a whole number > 0.

    Raises
    ------
    ModelError : a condition above does not hold.

    References
    ----------
    Lan et al. (2023), section III-A, eq. (1).
    """

    same_leaf: int = 2
    same_pod: int = 4
    other: int = 6
    ordered: bool = True
    floored: bool = False
    unit: int = 1000

    def __post_init__(self) -> None:
        for name in ("same_leaf", "same_pod", "other", "unit"):
            object.__setattr__(self, name, whole(getattr(self, name), f"hop cost: {name}"))
        if not 0 <= self.same_leaf <= self.same_pod <= self.other <= 1000:
            raise ModelError(
                f"hop cost: 0 <= same_leaf <= same_pod <= other <= 1000 must hold, "
                f"got {self.same_leaf}, {self.same_pod} and {self.other}"
            )
        if not 0 < self.unit <= 10**6:
            raise ModelError(f"hop cost: unit must be > 0 and at most 1000000, got {self.unit}")

    @property
    def weights(self) -> IntArray:
        """``(h3, h3 - h2, h2 - h1, c, floored)``, shape ``(5,)``, for kernels; ``c`` is doubled for ordered pairs."""
        c = self.unit * (2 if self.ordered else 1)
        steps = (self.other, self.other - self.same_pod, self.same_pod - self.same_leaf)
        return np.array([*steps, c, self.floored], np.int64)

    def weights_above(self, levels: int) -> IntArray:
        """:attr:`weights`, shape ``(5,)``, for a tree with so many levels between pods and core.

        Pairs below one switch of such a level save as much as those in one pod, and count with these.
        """
        weights = self.weights
        if levels:
            weights[0] += levels * weights[1]
        return weights


PAPER = HopCost()
"""Equation (1) as printed: hops 2, 4, 6 over ordered pairs, c = 1000."""

AUTHORS = HopCost(1, 3, 5, ordered=False, floored=True)
"""The authors' public code: hops 1, 3, 5 over unordered pairs, rounded down to a whole number, 1 at least."""


def paper() -> HopCost:
    """Equation (1) as printed: hops 2, 4, 6 over ordered pairs, c = 1000."""
    return PAPER


def authors() -> HopCost:
    """The authors' public code: hops 1, 3, 5 over unordered pairs, rounded down to a whole number, 1 at least."""
    return AUTHORS


@compiled
def hop_cost(n: int, leaf_pairs: int, pod_pairs: int, weights: IntArray) -> float:
    """Cost of ``n`` nodes of which so many pairs share a leaf switch, a pod (those of one leaf included).

    ``weights``, shape ``(5,)``, as :attr:`HopCost.weights`.
    """
    if n < 2:
        return 0.0
    return hops_cost(n, weights[0] * (n * (n - 1) // 2) - weights[1] * pod_pairs - weights[2] * leaf_pairs, weights)


@compiled
def hops_cost(n: int, hops: int, weights: IntArray) -> float:
    """Cost of ``n`` >= 2 nodes whose pairs are so many hops apart; ``weights``, shape ``(5,)``."""
    if weights[4]:
        # c * hops // n, in steps that stay within 64 bits on the largest trees.
        return float(max(weights[3] * (hops // n) + weights[3] * (hops % n) // n, 1))
    return float(weights[3]) * hops / n


@compiled
def slide_costs_on_levels(
    switches: IntArray, levels: IntArray, sizes: IntArray, weights: IntArray, wrap: bool
) -> FloatArray:
    """:func:`slide_costs` on a tree of any depth.

    Parameters
    ----------
    switches : numbers of the switch of each entry on each level, shape ``(levels, entries)``.
    levels : what a pair below one switch of each level saves, ``(levels,)``.
    weights : as of :meth:`HopCost.weights_above`.
    """
    n = switches.shape[1]
    costs = np.full((len(sizes), n), np.inf)
    if n == 0:
        return costs
    entries = 0
    for level in range(len(switches)):
        entries = max(entries, largest(switches[level]) + 1)
    inside = np.zeros(entries, np.int64)
    saved = np.zeros(n, np.int64)
    for row in range(len(sizes)):
        size = sizes[row]
        if size > n or size < 1:
            continue
        last = n if wrap else n - size + 1
        saved[:] = 0
        for level in range(len(switches)):
            of = switches[level]
            inside[:] = 0
            pairs = 0
            for i in range(size):
                pairs += inside[of[i]]
                inside[of[i]] += 1
            for start in range(last):
                saved[start] += levels[level] * pairs
                if start + 1 < last:
                    inside[of[start]] -= 1
                    pairs -= inside[of[start]]
                    comes = start + size
                    if comes >= n:
                        comes -= n
                    pairs += inside[of[comes]]
                    inside[of[comes]] += 1
        for start in range(last):
            hops = weights[0] * (size * (size - 1) // 2) - saved[start]
            costs[row, start] = hops_cost(size, hops, weights) if size > 1 else 0.0
    return costs


def block_costs(leaf: IntArray, pod: IntArray, size: int, cost: HopCost, wrap: bool) -> FloatArray:
    """Cost of ``size`` consecutive entries of a sequence of nodes, from every start, in one slide.

    Parameters
    ----------
    leaf, pod : leaf switch and pod of each entry, shape ``(entries,)``.
    size : nodes of the block, > 0.
    wrap : whether a block that reaches the end goes on at the head.

    Returns
    -------
    Costs, shape ``(entries,)``; infinite where there is no such block.
    """
    costs: FloatArray = block_cost_table(leaf, pod, np.array([size]), cost, wrap)[0]
    return costs


def block_cost_table(leaf: IntArray, pod: IntArray, sizes: IntArray, cost: HopCost, wrap: bool) -> FloatArray:
    """:func:`block_costs` for several sizes, shape ``(sizes, entries)``."""
    return slide_costs(leaf, pod, sizes, cost.weights, wrap)


@compiled
def slide_costs(leaf: IntArray, pod: IntArray, sizes: IntArray, weights: IntArray, wrap: bool) -> FloatArray:
    n = len(leaf)
    costs = np.empty((len(sizes), n))
    if n == 0:
        return costs
    if in_order(leaf) and in_order(pod):
        of_leaf, of_pod, every = np.empty((5, n + 1)), np.empty((5, n + 1)), np.arange(n)
        sum_savings(leaf, every, n, weights[2], of_leaf)
        sum_savings(pod, every, n, weights[1], of_pod)
        for row in range(len(sizes)):
            size = sizes[row]
            last = 0 if size > n or size < 1 else n if wrap else n - size + 1
            slide_in_order(n, last, size, weights, of_leaf, of_pod, costs[row])
            for start in range(last, n):
                costs[row, start] = np.inf
        return costs
    leaves, pods = 0, 0
    for i in range(n):
        leaves, pods = max(leaves, leaf[i] + 1), max(pods, pod[i] + 1)
    in_leaf, in_pod = np.empty(leaves, np.int64), np.empty(pods, np.int64)
    for row in range(len(sizes)):
        size = sizes[row]
        for start in range(n):
            costs[row, start] = np.inf
        if size > n or size < 1:
            continue
        clear(in_leaf)
        clear(in_pod)
        leaf_pairs, pod_pairs = 0, 0
        for i in range(size):
            leaf_pairs += in_leaf[leaf[i]]
            in_leaf[leaf[i]] += 1
            pod_pairs += in_pod[pod[i]]
            in_pod[pod[i]] += 1
        last = n if wrap else n - size + 1
        for start in range(last):
            costs[row, start] = hop_cost(size, leaf_pairs, pod_pairs, weights)
            if start + 1 < last:
                in_leaf[leaf[start]] -= 1
                leaf_pairs -= in_leaf[leaf[start]]
                in_pod[pod[start]] -= 1
                pod_pairs -= in_pod[pod[start]]
                comes = start + size
                if comes >= n:
                    comes -= n
                leaf_pairs += in_leaf[leaf[comes]]
                in_leaf[leaf[comes]] += 1
                pod_pairs += in_pod[pod[comes]]
                in_pod[pod[comes]] += 1
    return costs


@compiled
def in_order(switch: IntArray) -> bool:
    """Whether numbers of switches, shape ``(entries,)``, never fall: the nodes of a switch follow one another."""
    rises = True
    for i in range(1, len(switch)):
        rises &= switch[i] >= switch[i - 1]
    return rises


@no_refcount
def sum_savings(switch: IntArray, left: IntArray, m: int, weight: int, sums: FloatArray) -> None:
    """Sum up what pairs below one switch save, for :func:`slide_in_order`.

    Parameters
    ----------
    switch : of each entry, shape ``(entries,)``; the numbers never fall.
    left, m : the entries that count are the first ``m`` of ``left``, which ascend.
    weight : what a pair saves.
    sums : written for each of these and, in the first row, for the end, shape ``(5, entries + 1)``: what all pairs
        before it save; what to take off for a block that begins there and reaches beyond its switch; where the entries
        of its switch begin, and where they end; how many switches come before.
    """
    till, heads, begins, ends, numbers = sums[0], sums[1], sums[2], sums[3], sums[4]
    first, before, number = 0, 0, 0
    while first < m:
        of, end = switch[left[first]], first + 1
        while end < m and switch[left[end]] == of:
            end += 1
        after = before + weight * ((end - first) * (end - first - 1) // 2)
        for k in range(first, end):
            till[k] = before + weight * ((k - first) * (k - first - 1) // 2)
            heads[k] = after - weight * ((end - k) * (end - k - 1) // 2)
            begins[k] = first
            ends[k] = end
            numbers[k] = number
        first, before, number = end, after, number + 1
    till[m] = before


@no_refcount
def slide_in_order(
    m: int, last: int, size: int, weights: IntArray, of_leaf: FloatArray, of_pod: FloatArray, costs: FloatArray
) -> None:
    """Write what the block of ``size`` of ``m`` entries from each of the first ``last`` starts costs.

    A block that reaches the end goes on at the head. What it saves follows from its ends alone.

    Parameters
    ----------
    of_leaf, of_pod : as :func:`sum_savings` writes them, shape ``(5, entries + 1)``.
    costs : of each start, shape ``(entries,)``.
    """
    pairs = float(size * (size - 1) // 2)
    whole, in_leaf, in_pod = weights[0] * pairs, weights[2] * pairs, weights[1] * pairs
    leaf_till, leaf_heads, leaf_ends = of_leaf[0][size:], of_leaf[1], of_leaf[3]
    pod_till, pod_heads, pod_ends = of_pod[0][size:], of_pod[1], of_pod[3]
    inside = min(last, m - size + 1)
    for start in range(inside):
        end = float(start + size)
        leaf_saved = leaf_till[start] - leaf_heads[start] if leaf_ends[start] <= end else in_leaf
        pod_saved = pod_till[start] - pod_heads[start] if pod_ends[start] <= end else in_pod
        costs[start] = whole - leaf_saved - pod_saved
    for start in range(inside, last):
        over = start + size - m
        saved = _saved_round(of_leaf, weights[2], m, start, over) + _saved_round(of_pod, weights[1], m, start, over)
        costs[start] = whole - saved
    if size < 2:
        for start in range(last):
            costs[start] = 0.0
    elif weights[4]:
        for start in range(last):
            costs[start] = hops_cost(size, int(costs[start]), weights)
    else:
        factor = float(weights[3])
        for start in range(last):
            costs[start] = factor * costs[start] / size


@no_refcount
def _saved_round(sums: FloatArray, weight: int, m: int, start: int, over: int) -> float:
    """What a block saves that goes on at the head with ``over`` entries."""
    saved = sums[0, m] - sums[1, start] + sums[0, over]
    # The switch that it begins with may be the one that it ends in.
    return float(saved + weight * (sums[3, start] - start) * max(0.0, over - sums[2, start]))
