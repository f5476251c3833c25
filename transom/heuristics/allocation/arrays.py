"""What the heuristics of allocation share: packing in order, what is left of Q, whether an order exists."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import largest
from transom.models.allocation import Allocation
from transom.models.allocation_kernels import placing_order
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.hop_cost import hop_cost, in_order, slide_in_order, sum_savings
from transom.stop import Budget


class Demands(NamedTuple):
    """What jobs ask for beside a number of nodes; without entries where they ask for nothing else.

    ``limits``: the most leaf switches of each job, shape ``(jobs,)``; ``types``: of each entry; ``accepts``: whether a
    job takes a type, shape ``(jobs, types)``; ``fine``: what a leaf switch too many, or a node of another type, costs:
    more than all jobs together cost elsewhere, so that a search goes by way of what is not allowed and does not stay.
    """

    limits: IntArray
    types: IntArray
    accepts: BoolArray
    fine: float


class AllocationArrays(NamedTuple):
    """The entries of Q as kernels want them: switches and pods numbered 0, 1, 2 ... as they come.

    ``leaf``, ``pod``: shape ``(idle nodes,)``; ``sizes``: shape ``(jobs,)``; ``weights``: of the cost model on this
    tree; ``upper``: switches on the levels between pods and core, shape ``(levels, idle nodes)``; ``demands``: of the
    jobs.
    """

    leaf: IntArray
    pod: IntArray
    sizes: IntArray
    weights: IntArray
    upper: IntArray
    demands: Demands


class Switches(NamedTuple):
    """Switches of each idle node, weights of the cost model, and counters of nodes below each switch, all 0.

    Pairs below a switch of ``upper`` save as much as those in a pod and are counted with them, by ``in_pod`` as well:
    no level has more switches than there are pods. ``sums`` is room for what :func:`slide` sums up, shape
    ``(2, 5, idle nodes + 1)``; without entries where numbers of switches fall somewhere along Q, or on deeper trees.
    """

    leaf: IntArray
    pod: IntArray
    weights: IntArray
    upper: IntArray
    in_leaf: IntArray
    in_pod: IntArray
    sums: FloatArray


@compiled
def counting(arrays: AllocationArrays) -> Switches:
    """The switches with counters for all of them."""
    leaf, pod, _, weights, upper, _ = arrays
    ordered = len(upper) == 0 and in_order(leaf) and in_order(pod)
    in_leaf, in_pod = np.zeros(largest(leaf) + 1, np.int64), np.zeros(largest(pod) + 1, np.int64)
    return Switches(leaf, pod, weights, upper, in_leaf, in_pod, np.empty((2, 5, len(leaf) + 1 if ordered else 0)))


def allocation_arrays(problem: Allocation) -> AllocationArrays:
    """The data of an allocation for kernels."""
    upper = problem.upper
    for row in upper:
        row[:] = _numbered(row)
    leaf, pod = _numbered(problem.leaf), _numbered(problem.pod)
    return AllocationArrays(leaf, pod, problem.sizes, problem.weights, upper, demands_of(problem))


def demands_of(problem: Allocation) -> Demands:
    """What the jobs of an allocation ask for beside a number of nodes."""
    if problem.limited is None:
        return Demands(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.bool_), 0.0)
    limits, types, accepts = problem.leaf_limits, problem.node_types, problem.accepts
    return Demands(
        problem.sizes.copy() if limits is None else limits.copy(),
        np.zeros(len(problem.idle), np.int64) if types is None else types.copy(),
        np.ones((len(problem), 1), np.bool_) if accepts is None else accepts.copy(),
        1.0 + problem.most_cost,
    )


def fines(problem: Allocation, owner: IntArray, data: AllocationArrays) -> FloatArray:
    """What each job costs beside its hops for what it does not take, shape ``(jobs,)``: zero in a solution."""
    paid = np.zeros(len(problem))
    if len(data.demands.limits):
        for job in range(len(problem)):
            entries = np.flatnonzero(owner == job)
            switches = len(np.unique(problem.leaf[entries]))
            wrong = int((~problem.allowed[job, entries]).sum())
            paid[job] = data.demands.fine * (max(0, switches - int(data.demands.limits[job])) + wrong)
    return paid


def first_fit(problem: Allocation) -> IntArray:
    """Jobs one after another in the window's order, from the head of Q: owners, shape ``(idle nodes,)``."""
    owner = np.full(len(problem.idle), -1)
    owner[: int(problem.sizes.sum())] = np.repeat(np.arange(len(problem)), problem.sizes)
    return owner


def best_known(problem: Allocation, budget: Budget, start: Any) -> IntArray:
    """Hand over ``start`` and the first fit, and return the best solution that is known, else the first fit.

    With limits on leaf switches or node types the first fit need be no solution.
    """
    if start is not None:
        budget.found(start)
    owner = first_fit(problem)
    offer(problem, budget, owner)
    return owner if budget.solution is None else np.array(budget.solution)


def offer(problem: Allocation, budget: Budget, owner: IntArray) -> bool:
    """Hand over owners that may break limits or node types, if they do not; whether they are better."""
    return not (problem.limited and problem.violations(owner)) and budget.found(owner)


@compiled
def _numbered(labels: IntArray) -> IntArray:
    """The labels as 0, 1, 2 ... in the order of first appearance."""
    numbered = np.empty(len(labels), np.int64)
    if len(labels) == 0:
        return numbered
    number = np.full(largest(labels) + 1, -1, np.int64)
    count = 0
    for i in range(len(labels)):
        if number[labels[i]] < 0:
            number[labels[i]] = count
            count += 1
        numbered[i] = number[labels[i]]
    return numbered


@compiled
def reachable(owner: IntArray, sizes: IntArray, wrap: bool) -> bool:
    """Whether jobs can be placed one after another so that each is consecutive in what is then left of Q."""
    return all_placed(placing_order(owner, sizes, wrap, False))


@compiled
def all_placed(rank: IntArray) -> bool:
    """Whether no job is left out of an order."""
    placed = 0
    for job in range(len(rank)):
        placed += rank[job] >= 0
    return placed == len(rank)


@no_refcount
def gather(owner: IntArray, left: IntArray) -> int:
    """Write the entries that nobody holds into ``left``, and return how many there are."""
    m = 0
    for i in range(len(owner)):
        if owner[i] < 0:
            left[m] = i
            m += 1
    return m


@no_refcount
def block_cost(left: IntArray, m: int, start: int, size: int, switches: Switches) -> float:
    """Cost of ``size`` consecutive entries of the first ``m`` of ``left``; the counts are zero before and after."""
    leaf, pod, weights, upper, in_leaf, in_pod, _ = switches
    leaf_pairs, pod_pairs = 0, 0
    for k in range(start, start + size):
        i = left[k if k < m else k - m]
        leaf_pairs += in_leaf[leaf[i]]
        in_leaf[leaf[i]] += 1
        pod_pairs += in_pod[pod[i]]
        in_pod[pod[i]] += 1
    for k in range(start, start + size):
        i = left[k if k < m else k - m]
        in_leaf[leaf[i]] = 0
        in_pod[pod[i]] = 0
    for level in range(len(upper)):
        for k in range(start, start + size):
            switch = upper[level, left[k if k < m else k - m]]
            pod_pairs += in_pod[switch]
            in_pod[switch] += 1
        for k in range(start, start + size):
            in_pod[upper[level, left[k if k < m else k - m]]] = 0
    return hop_cost(size, leaf_pairs, pod_pairs, weights)


@no_refcount
def slide(left: IntArray, m: int, last: int, size: int, switches: Switches, costs: FloatArray) -> None:
    """Write the cost of the block from each of the first ``last`` starts into ``costs``; as :func:`block_cost`."""
    leaf, pod, weights, upper, in_leaf, in_pod, sums = switches
    if sums.size > 0:
        sum_savings(leaf, left, m, weights[2], sums[0])
        sum_savings(pod, left, m, weights[1], sums[1])
        slide_in_order(m, last, size, weights, sums[0], sums[1], costs)
        return
    deep = len(upper) > 0
    if deep:
        _slide_above(left, m, last, size, switches, costs)
    leaf_pairs, pod_pairs = 0, 0
    for k in range(size):
        i = left[k]
        leaf_pairs += in_leaf[leaf[i]]
        in_leaf[leaf[i]] += 1
        pod_pairs += in_pod[pod[i]]
        in_pod[pod[i]] += 1
    for start in range(last):
        costs[start] = hop_cost(size, leaf_pairs, pod_pairs + (int(costs[start]) if deep else 0), weights)
        goes = left[start]
        in_leaf[leaf[goes]] -= 1
        leaf_pairs -= in_leaf[leaf[goes]]
        in_pod[pod[goes]] -= 1
        pod_pairs -= in_pod[pod[goes]]
        # One entry beyond the last start is taken in as well: counts are wiped below.
        k = start + size
        comes = left[k if k < m else k - m]
        leaf_pairs += in_leaf[leaf[comes]]
        in_leaf[leaf[comes]] += 1
        pod_pairs += in_pod[pod[comes]]
        in_pod[pod[comes]] += 1
    for k in range(m):
        in_leaf[leaf[left[k]]] = 0
        in_pod[pod[left[k]]] = 0


@no_refcount
def _slide_above(left: IntArray, m: int, last: int, size: int, switches: Switches, pairs: FloatArray) -> None:
    """Write the pairs of each block that share switches on the levels above pods; as :func:`slide`."""
    upper, count = switches.upper, switches.in_pod
    pairs[:last] = 0.0
    for level in range(len(upper)):
        of, shared = upper[level], 0
        for k in range(size):
            shared += count[of[left[k]]]
            count[of[left[k]]] += 1
        for start in range(last):
            pairs[start] += shared
            goes = of[left[start]]
            count[goes] -= 1
            shared -= count[goes]
            k = start + size
            comes = of[left[k if k < m else k - m]]
            shared += count[comes]
            count[comes] += 1
        for k in range(m):
            count[of[left[k]]] = 0


@no_refcount
def fine_block(left: IntArray, m: int, start: int, job: int, size: int, demands: Demands, switches: Switches) -> float:
    """What a job pays for a block that it does not take, beside its cost; the counts are zero before and after.

    Asked for only where there are demands.
    """
    leaf, in_leaf = switches.leaf, switches.in_leaf
    wrong = -demands.limits[job]
    bad = 0
    for k in range(start, start + size):
        i = left[k if k < m else k - m]
        wrong += in_leaf[leaf[i]] == 0
        in_leaf[leaf[i]] += 1
        bad += not demands.accepts[job, demands.types[i]]
    for k in range(start, start + size):
        in_leaf[leaf[left[k if k < m else k - m]]] = 0
    return float(demands.fine * (max(wrong, 0) + bad))


@no_refcount
def fine_blocks(
    left: IntArray, m: int, last: int, job: int, size: int, demands: Demands, switches: Switches, costs: FloatArray
) -> None:
    """Add what a job pays for blocks that it does not take to their costs, by start; as :func:`slide`."""
    leaf, in_leaf, types, accepts = switches.leaf, switches.in_leaf, demands.types, demands.accepts
    touched, bad = 0, 0
    for k in range(size):
        i = left[k]
        touched += in_leaf[leaf[i]] == 0
        in_leaf[leaf[i]] += 1
        bad += not accepts[job, types[i]]
    for start in range(last):
        costs[start] += demands.fine * (max(touched - demands.limits[job], 0) + bad)
        goes = left[start]
        in_leaf[leaf[goes]] -= 1
        touched -= in_leaf[leaf[goes]] == 0
        bad -= not accepts[job, types[goes]]
        k = start + size
        comes = left[k if k < m else k - m]
        touched += in_leaf[leaf[comes]] == 0
        in_leaf[leaf[comes]] += 1
        bad += not accepts[job, types[comes]]
    for k in range(m):
        in_leaf[leaf[left[k]]] = 0


@no_refcount
def take(owner: IntArray, left: IntArray, m: int, start: int, size: int, job: int) -> int:
    """Give ``job`` a block of ``left``, close the ranks behind it, and return how many entries remain."""
    for k in range(start, start + size):
        owner[left[k if k < m else k - m]] = job
    if start + size <= m:
        for k in range(start, m - size):
            left[k] = left[k + size]
    else:
        head = start + size - m
        for k in range(m - size):
            left[k] = left[k + head]
    return m - size
