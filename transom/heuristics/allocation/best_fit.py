"""Best fit by level, as Slurm's topology/tree plugin chooses nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Literal

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.sorting import largest
from transom.heuristics.allocation.arrays import (
    AllocationArrays,
    Switches,
    allocation_arrays,
    best_known,
    counting,
    fine_blocks,
    gather,
    offer,
    slide,
    take,
)
from transom.models.allocation import Allocation
from transom.models.arrays import BoolArray, FloatArray, IntArray
from transom.models.fat_tree import FatTree
from transom.solving import presolve
from transom.stop import Budget, Stop

_WORK = 400_000  # entries looked at between two looks at the clock: a few milliseconds


@dataclass(frozen=True, slots=True)
class BestFit:
    """Give each job the lowest switch that holds it with the fewest idle nodes left over.

    Free rule: a leaf switch that holds the job, else a pod, and so on up to the core; of several the one with the
    least left over, of equals the first. A pod or what is above it is filled by the fewest switches of the level below:
    the fullest first, until one holds the rest, then the one with the least left over. Other rules: of the blocks that
    the rule allows, the one with the fewest switches above pods, then the fewest pods, the fewest leaf switches, the
    least cost. Under the
    static rule a job may find no room between the blocks of earlier ones; then (or when time is over) the
    answer is the first fit of all jobs. A job placed later does not move earlier ones; no iterations are counted.
    Blocks that a job does not take, by its limit on leaf switches or by node types, are chosen only where there are no
    others; the answer is then no solution, and none is handed over.

    Parameters
    ----------
    order : jobs are placed in the window's order, or by falling size.

    References
    ----------
    Slurm, documentation of topology/tree ("best fit"): the lowest level switch that can satisfy a job's
    request, then its leaf switches by best fit.
    """

    name: ClassVar[str] = "best-fit"
    solves: ClassVar[type] = Allocation

    order: Literal["window", "size"] = "window"

    def supports(self, problem: Allocation, /) -> str | None:
        """Static and dynamic rule; the free rule without limits on leaf switches and node types."""
        return problem.limited if problem.rule == "free" else None

    @staticmethod
    @cache
    def warm_up() -> None:
        """Compile the kernels."""
        for rule in ("static", "dynamic", "free"):
            problem = Allocation(FatTree.k_ary(4), np.arange(10), np.array([4, 4]), rule)
            BestFit()(problem, Stop().start(problem), np.random.default_rng(0))

    def __call__(self, problem: Allocation, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        if presolve(problem, budget):
            return
        if start is not None:
            budget.found(start)
        owner = best_fit(problem, allocation_arrays(problem), self.order == "size", budget)
        if owner is None or not (offer(problem, budget, owner) or budget.solution is not None):
            best_known(problem, budget, None)


def best_fit(problem: Allocation, data: AllocationArrays, by_size: bool, budget: Budget) -> IntArray | None:
    """The owners that best fit chooses, shape ``(idle nodes,)``; None if a job finds no room or time is over."""
    jobs = np.argsort(-problem.sizes, kind="stable") if by_size else np.arange(len(problem))
    owner = np.full(len(problem.idle), -1)
    chunk = max(1, _WORK // (16 * len(owner)))
    for first in range(0, len(jobs), chunk):
        some = jobs[first : first + chunk]
        if problem.rule == "free":
            _on_switches(owner, some, data.leaf, data.pod, data.upper, data.sizes)
        else:
            place = _on_q if problem.rule == "static" else _on_what_is_left
            if not place(owner, some, data, problem.wrap):
                return None
        if budget.seconds_left() == 0 and first + chunk < len(jobs):
            return None
    return owner


@compiled
def _on_switches(
    owner: IntArray, jobs: IntArray, leaf: IntArray, pod: IntArray, upper: IntArray, sizes: IntArray
) -> None:
    leaves, core = largest(leaf) + 1, 2 + len(upper)
    # How many switches each level has, the switch above each of them, above each leaf switch, and what is free below.
    count, up = np.ones(core, np.int64), np.zeros((core, leaves), np.int64)
    above, free = np.zeros((core + 1, leaves), np.int64), np.zeros((core + 1, leaves), np.int64)
    for i in range(len(leaf)):
        above[1, leaf[i]] = pod[i]
        free[0, leaf[i]] += owner[i] < 0
        for level in range(len(upper)):
            above[2 + level, leaf[i]] = upper[level, i]
    for s in range(leaves):
        above[0, s] = s
        for level in range(core):
            switch = above[level, s]
            count[level], up[level, switch] = max(count[level], switch + 1), above[level + 1, s]
            free[level + 1, above[level + 1, s]] += free[0, s]
    taken = np.zeros(leaves, np.int64)
    for job in jobs:
        need, level, switch = sizes[job], core, 0
        for low in range(core):
            found = _fitting(free[low, : count[low]], up[low], -1, need)
            if free[low, found] >= need:
                level, switch = low, found
                break
        while level > 0:
            chosen = _fitting(free[level - 1, : count[level - 1]], up[level - 1], switch, need)
            if free[level - 1, chosen] >= need:
                level, switch = level - 1, chosen
                continue
            need -= free[level - 1, chosen]
            for s in range(leaves):
                if above[level - 1, s] == chosen:
                    _take_nodes(free, above, s, free[0, s], taken)
        _take_nodes(free, above, switch, need, taken)
        for i in range(len(leaf)):
            if owner[i] < 0 and taken[leaf[i]] > 0:
                owner[i] = job
                taken[leaf[i]] -= 1


@no_refcount
def _take_nodes(free: IntArray, above: IntArray, leaf: int, nodes: int, taken: IntArray) -> None:
    taken[leaf] += nodes
    for level in range(len(above)):
        free[level, above[level, leaf]] -= nodes


@no_refcount
def _fitting(free: IntArray, above: IntArray, inside: int, need: int) -> int:
    """The switch that holds ``need`` with the least left over, else the fullest; ``inside`` one above if >= 0."""
    best = -1
    for switch in range(len(free)):
        if inside >= 0 and above[switch] != inside:
            continue
        if best < 0:
            best = switch
        elif free[best] >= need:
            if need <= free[switch] < free[best]:
                best = switch
        elif free[switch] > free[best]:
            best = switch
    return best


@compiled
def _on_what_is_left(owner: IntArray, jobs: IntArray, data: AllocationArrays, wrap: bool) -> bool:
    n = len(owner)
    sizes, demands, numbered = data.sizes, data.demands, counting(data)
    limited = len(demands.limits) > 0
    left, costs, switches = np.empty(n, np.int64), np.empty(n), np.empty(n, np.int64)
    m = gather(owner, left)
    for job in jobs:
        size = sizes[job]
        last = m if wrap else m - size + 1
        slide(left, m, last, size, numbered, costs)
        if limited:
            fine_blocks(left, m, last, job, size, demands, numbered, costs)
        count_switches(left, m, last, size, numbered, switches)
        best = 0
        for start in range(1, last):
            if _less(switches, costs, start, best, demands.fine):
                best = start
        m = take(owner, left, m, best, size, job)
    return True


@compiled
def _on_q(owner: IntArray, jobs: IntArray, data: AllocationArrays, wrap: bool) -> bool:
    n = len(owner)
    sizes, demands, numbered = data.sizes, data.demands, counting(data)
    limited = len(demands.limits) > 0
    every, costs, switches = np.arange(n), np.empty(n), np.empty(n, np.int64)
    used, run = np.empty(n, np.bool_), np.empty(n, np.int64)
    for i in range(n):
        used[i] = owner[i] >= 0
    for job in jobs:
        size = sizes[job]
        last = n if wrap else n - size + 1
        slide(every, n, last, size, numbered, costs)
        if limited:
            fine_blocks(every, n, last, job, size, demands, numbered, costs)
        count_switches(every, n, last, size, numbered, switches)
        _free_runs(used, wrap, run)
        best = -1
        for start in range(last):
            if run[start] >= size and (best < 0 or _less(switches, costs, start, best, demands.fine)):
                best = start
        if best < 0:
            return False
        _mark(used, best, size, True)
        for i in range(best, best + size):
            owner[i if i < n else i - n] = job
    return True


@no_refcount
def _less(switches: IntArray, costs: FloatArray, a: int, b: int, fine: float) -> bool:
    if fine > 0 and max(costs[a], costs[b]) >= fine:  # at least one that the job does not take
        return bool(costs[a] < costs[b])
    return bool(switches[a] < switches[b] or (switches[a] == switches[b] and costs[a] < costs[b]))


@no_refcount
def _count_above(left: IntArray, m: int, last: int, size: int, numbered: Switches, switches: IntArray) -> None:
    """Write how many switches above pods the block from each start has, all levels together."""
    upper, inside = numbered.upper, numbered.in_pod
    switches[:last] = 0
    for level in range(len(upper)):
        of, count = upper[level], 0
        for k in range(size):
            count += inside[of[left[k]]] == 0
            inside[of[left[k]]] += 1
        for start in range(last):
            switches[start] += count
            goes = of[left[start]]
            inside[goes] -= 1
            count -= inside[goes] == 0
            k = start + size
            comes = of[left[k if k < m else k - m]]
            count += inside[comes] == 0
            inside[comes] += 1
        for k in range(m):
            inside[of[left[k]]] = 0


@no_refcount
def _count_in_order(m: int, last: int, size: int, radix: int, sums: FloatArray, switches: IntArray) -> None:
    """As :func:`count_switches`, where numbers of switches never fall along Q."""
    of_leaf, of_pod = sums[0], sums[1]
    last_leaf, last_pod = of_leaf[4][size - 1 :], of_pod[4][size - 1 :]
    inside = min(last, m - size + 1)
    for start in range(inside):
        pods = last_pod[start] - of_pod[4, start] + 1
        switches[start] = int(pods * radix + last_leaf[start] - of_leaf[4, start] + 1)
    for start in range(inside, last):
        over = start + size - m
        switches[start] = _count_round(of_pod, m, start, over) * radix + _count_round(of_leaf, m, start, over)


@no_refcount
def _count_round(sums: FloatArray, m: int, start: int, over: int) -> int:
    """How many switches a block has that goes on at the head with ``over`` entries."""
    same = over > sums[2, start]  # it ends in the switch that it begins with
    return int(sums[4, m - 1] - sums[4, start] + 1 + sums[4, over - 1] + 1 - same)


@no_refcount
def count_switches(left: IntArray, m: int, last: int, size: int, numbered: Switches, switches: IntArray) -> None:
    """Write switches of all levels of the block from each start as one number; counts are zero before and after.

    For what :func:`slide` was called for last.
    """
    leaf, pod, in_leaf, in_pod = numbered.leaf, numbered.pod, numbered.in_leaf, numbered.in_pod
    radix = len(in_pod) + 1
    if numbered.sums.size > 0:
        _count_in_order(m, last, size, len(in_leaf) + 1, numbered.sums, switches)
        return
    _count_above(left, m, last, size, numbered, switches)
    leaves, pods = 0, 0
    for k in range(size):
        i = left[k]
        leaves += in_leaf[leaf[i]] == 0
        pods += in_pod[pod[i]] == 0
        in_leaf[leaf[i]] += 1
        in_pod[pod[i]] += 1
    for start in range(last):
        # At most so many leaf switches, and so many pods.
        switches[start] = (switches[start] * radix + pods) * (len(in_leaf) + 1) + leaves
        goes = left[start]
        in_leaf[leaf[goes]] -= 1
        in_pod[pod[goes]] -= 1
        leaves -= in_leaf[leaf[goes]] == 0
        pods -= in_pod[pod[goes]] == 0
        k = start + size
        comes = left[k if k < m else k - m]
        leaves += in_leaf[leaf[comes]] == 0
        pods += in_pod[pod[comes]] == 0
        in_leaf[leaf[comes]] += 1
        in_pod[pod[comes]] += 1
    for k in range(m):
        in_leaf[leaf[left[k]]] = 0
        in_pod[pod[left[k]]] = 0


@no_refcount
def _mark(used: BoolArray, start: int, size: int, value: bool) -> None:
    """Set whether the entries of a block are used."""
    n = len(used)
    for i in range(start, start + size):
        used[i if i < n else i - n] = value


@no_refcount
def _free_runs(used: BoolArray, wrap: bool, run: IntArray) -> None:
    """Write how many entries from each on are free, across the end of Q if blocks may wrap."""
    n = len(used)
    length = 0
    if wrap:
        while length < n and not used[length]:
            length += 1
    for i in range(n - 1, -1, -1):
        length = 0 if used[i] else min(length + 1, n)
        run[i] = length
