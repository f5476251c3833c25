"""What an allocation computes of its idle nodes and their owners, compiled."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import clear, front, largest
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost


@compiled
def leaf_spans(leaf: IntArray, sizes: IntArray, wrap: bool) -> IntArray:
    """Leaf switches of the block of each size from each entry, shape ``(sizes, entries)``; 0 where there is none."""
    n = len(leaf)
    spans = np.zeros((len(sizes), n), np.int64)
    inside = np.zeros(largest(leaf) + 1 if n else 1, np.int64)
    for row in range(len(sizes)):
        size = sizes[row]
        if size > n:
            continue
        inside[:] = 0
        touched = 0
        for i in range(size):
            touched += inside[leaf[i]] == 0
            inside[leaf[i]] += 1
        last = n if wrap else n - size + 1
        for start in range(last):
            spans[row, start] = touched
            inside[leaf[start]] -= 1
            touched -= inside[leaf[start]] == 0
            comes = leaf[(start + size) % n]
            touched += inside[comes] == 0
            inside[comes] += 1
    return spans


@compiled
def job_costs(
    leaf: IntArray, pod: IntArray, owner: IntArray, sizes: IntArray, weights: IntArray, upper: IntArray
) -> FloatArray:
    """What each job costs on the nodes that ``owner`` gives it, shape ``(jobs,)``.

    ``leaf`` and ``pod`` ``(idle nodes,)``: the switches of each idle node; ``upper`` ``(levels, idle nodes)``: those of
    levels above pods; ``weights``: of :func:`~transom.models.hop_cost.hop_cost`.
    """
    jobs, n = len(sizes), len(owner)
    costs = np.empty(jobs)
    for job in range(jobs):
        costs[job] = 0.0
    if n == 0:
        return costs
    # The entries of each job one after the other: counting sort.
    begin = np.empty(jobs + 1, np.int64)
    clear(begin)
    for i in range(n):
        if owner[i] >= 0:
            begin[owner[i] + 1] += 1
    for job in range(jobs):
        begin[job + 1] += begin[job]
    at = front(begin, jobs)
    entries = np.empty(begin[jobs], np.int64)
    for i in range(n):
        if owner[i] >= 0:
            entries[at[owner[i]]] = i
            at[owner[i]] += 1
    in_leaf = np.empty(largest(leaf) + 1, np.int64)
    # Pods, and below each switch of a level above pods, of which there are fewer.
    in_pod = np.empty(largest(pod) + 1, np.int64)
    clear(in_leaf)
    clear(in_pod)
    for job in range(jobs):
        leaf_pairs, pod_pairs = 0, 0
        for k in range(begin[job], begin[job + 1]):
            i = entries[k]
            leaf_pairs += in_leaf[leaf[i]]
            in_leaf[leaf[i]] += 1
            pod_pairs += in_pod[pod[i]]
            in_pod[pod[i]] += 1
        for k in range(begin[job], begin[job + 1]):
            in_leaf[leaf[entries[k]]] = 0
            in_pod[pod[entries[k]]] = 0
        for level in range(len(upper)):
            for k in range(begin[job], begin[job + 1]):
                switch = upper[level, entries[k]]
                pod_pairs += in_pod[switch]
                in_pod[switch] += 1
            for k in range(begin[job], begin[job + 1]):
                in_pod[upper[level, entries[k]]] = 0
        costs[job] = hop_cost(begin[job + 1] - begin[job], leaf_pairs, pod_pairs, weights)
    return costs


@compiled
def placing_order(owner: IntArray, sizes: IntArray, wrap: bool, once: bool) -> IntArray:
    """When each job is placed, shape ``(jobs,)``, if whatever is consecutive is placed first; -1 for those that never
    are.

    ``once``: only the jobs that are consecutive in Q itself, as under the static rule.
    """
    jobs = len(sizes)
    rank, runs = np.empty(jobs, np.int64), np.empty(jobs, np.int64)
    for job in range(jobs):
        rank[job] = -1
    left = front(owner, len(owner))
    length = len(left)
    placed = 0
    while True:
        clear(runs)
        for i in range(length):
            job = left[i]
            if job >= 0 and (i == 0 or left[i - 1] != job):
                runs[job] += 1
        if wrap and length > 1 and left[0] >= 0 and left[0] == left[length - 1] and runs[left[0]] > 1:
            runs[left[0]] -= 1  # its last run goes on at the head
        before = placed
        for job in range(jobs):
            if rank[job] < 0 and runs[job] == 1:
                rank[job] = placed
                placed += 1
        if once or placed in (before, jobs):
            return rank
        kept = 0
        for i in range(length):
            if left[i] < 0 or rank[left[i]] < 0:
                left[kept] = left[i]
                kept += 1
        length = kept
