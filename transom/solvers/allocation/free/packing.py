"""What a split of the jobs among pods saves exactly: each pod is packed on its own, leaf by leaf."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hop_cost
from transom.solvers.allocation.free import split_core as core
from transom.solvers.allocation.free.splits import Splits

_MOST_STEPS = 10_000_000  # of one leaf
_MOST_TABLE = 8_000_000  # numbers in the table of a pod
_MOST_PACKINGS = 20_000  # that are kept of a pod, or of all
_TIES = 1e-9  # savings that differ less, in relative terms, are equal

_Pod = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
_Leaves = tuple[tuple[int, ...], ...]
_Packings = dict[tuple[int, ...], _Leaves]
_States = dict[tuple[tuple[int, ...], tuple[int, ...]], _Leaves]


class GivenUp(Exception):
    """The time is over, or a table is too large."""


class Packing:
    """Exact packings of pods, remembered.

    Parameters
    ----------
    splits : whose bounds come first.
    ended : asked every few milliseconds whether to give up.
    """

    def __init__(self, splits: Splits, ended: Callable[[], bool]) -> None:
        self._splits, self.ended = splits, ended
        self._shape = splits.shape
        self._exact: dict[_Pod, float] = {}
        first = self._shape.first
        self._caps = [tuple(self._shape.caps[i:j].tolist()) for i, j in pairwise(first.tolist())]
        # What so many nodes of a pod pay at most.
        self._costs = [
            np.concatenate(([0.0], np.cumsum(np.sort(np.repeat(splits.prices[i:j], self._shape.caps[i:j]))[::-1])))
            for i, j in pairwise(first.tolist())
        ]

    def savings(self, split: IntArray, least: float) -> float:
        """What a split saves, or any bound on it below ``least``.

        Parameters
        ----------
        split : nodes of each job in each pod, ``(J, P)``.
        least : savings that matter.

        Raises
        ------
        GivenUp : the time is over, or too many jobs share a pod.
        """
        pods = np.arange(split.shape[1])
        gains: list[float] = self._splits.gains[self._shape.types[:, None], pods, split].sum(axis=0).tolist()
        taken: list[int] = split.sum(axis=0).tolist()
        bounds = [gain + float(costs[n]) for gain, costs, n in zip(gains, self._costs, taken, strict=True)]
        if sum(bounds) < least:
            return sum(bounds)
        for p in sorted(pods.tolist(), key=lambda p: math.prod((split[:, p] + 1).tolist())):
            bounds[p] = min(bounds[p], self._pod(p, split[:, p]))
            if sum(bounds) < least:
                break
        return sum(bounds)

    def best(self, split: IntArray, slack: float) -> tuple[float, IntArray]:
        """The least cost, as it is rounded, of packings of a split that save as much as the best one but for a slack.

        Returns
        -------
        The cost, and the nodes of each job on each leaf, ``(J, S)``.

        Raises
        ------
        GivenUp : the time is over, or there are too many packings.
        """
        s = self._shape
        jobs, pods = split.shape
        sums: dict[tuple[int, ...], _Leaves] = {(0,) * jobs: ()}
        for p in range(pods):
            packings = self._packings(p, split[:, p], slack)
            if len(sums) * len(packings) > _MOST_PACKINGS:
                raise GivenUp
            sums = {
                tuple(a + b for a, b in zip(sum_, pairs, strict=True)): (*leaves, *packing)
                for sum_, leaves in sums.items()
                for pairs, packing in packings.items()
            }
        sizes = s.sizes[s.types]
        pod_pairs = (split * (split - 1) // 2).sum(axis=1)

        def cost(pairs: tuple[int, ...]) -> float:
            return float(sum(hop_cost(sizes[j], pairs[j], pod_pairs[j], s.weights) for j in range(jobs)))

        least, pairs = min((cost(pairs), pairs) for pairs in sums)
        return least, np.array(sums[pairs], np.int64).T

    def _pod(self, p: int, taken: IntArray) -> float:
        # The most that jobs with so many nodes in a pod save there.
        s = self._shape
        key: _Pod = self._caps[p], tuple(sorted((int(s.types[j]), int(taken[j])) for j in np.flatnonzero(taken)))
        if key not in self._exact:
            jobs = np.array([t for t, _ in key[1]], np.int64)
            need = np.array([b for _, b in key[1]], np.int64)
            inside = float((s.units[jobs] * s.steps[0] * (need * (need - 1) // 2)).sum())
            self._exact[key] = inside + float(self._table(key[0], need, s.units[jobs])[0][-1])
        return self._exact[key]

    def _table(self, caps: tuple[int, ...], need: IntArray, units: FloatArray) -> list[FloatArray]:
        # For each leaf and all numbers of nodes that the jobs still need: what they save from there on.
        states = math.prod((need + 1).tolist())
        most = math.comb(max(caps) + len(need), len(need))
        if most > _MOST_PACKINGS or states * (len(caps) + 1) > _MOST_TABLE or states * most > _MOST_STEPS:
            raise GivenUp
        strides = np.cumprod(np.concatenate(([1], need[:-1] + 1)))[: len(need)]
        rows = [np.full(states, -np.inf)]
        rows[0][0] = 0.0
        after = 0
        for cap in reversed(caps):
            if self.ended():
                raise GivenUp
            options = _options(cap, len(need))
            savings = (options * (options - 1) // 2) @ (units * self._shape.steps[1])
            rows.insert(0, np.empty(states))
            leaf = core.Options(options, savings)
            core.pack_leaf(cap, sum(caps) - after - cap, after, need, strides, leaf, rows[1], rows[0])
            after += cap
        return rows

    def _packings(self, p: int, taken: IntArray, slack: float) -> _Packings:
        # By the pairs of nodes of each job that share a leaf: the nodes of each job on each leaf of a pod.
        s, caps, present = self._shape, self._caps[p], np.flatnonzero(taken)
        need = taken[present]
        units = s.units[s.types[present]] * s.steps[1]
        rows = self._table(caps, need, s.units[s.types[present]])
        least = float(rows[0][-1]) - slack - _TIES * (1.0 + float(rows[0][-1]))
        strides = np.cumprod(np.concatenate(([1], need[:-1] + 1)))[: len(need)]
        states: _States = {(tuple(need.tolist()), (0,) * len(need)): ()}
        for cap, row in zip(caps, rows[1:], strict=True):
            if self.ended():
                raise GivenUp
            after: _States = {}
            options = _options(cap, len(need)).tolist()
            for (still, pairs), leaves in states.items():
                for option in options:
                    left = tuple(n - a for n, a in zip(still, option, strict=True))
                    if min(left, default=0) < 0:
                        continue
                    sums = tuple(x + a * (a - 1) // 2 for x, a in zip(pairs, option, strict=True))
                    if float(np.dot(sums, units)) + row[int(np.dot(left, strides))] >= least:
                        after[left, sums] = (*leaves, tuple(option))
            if len(after) > _MOST_PACKINGS:
                raise GivenUp
            states = after
        found: _Packings = {}
        for (_, pairs), leaves in states.items():
            all_pairs, rows_ = np.zeros(len(taken), np.int64), np.zeros((len(caps), len(taken)), np.int64)
            all_pairs[present] = pairs
            rows_[:, present] = np.array(leaves, np.int64).reshape(len(caps), len(present))
            found[tuple(all_pairs.tolist())] = tuple(tuple(row) for row in rows_.tolist())
        return found


@cache
def _options(cap: int, jobs: int) -> IntArray:
    """All numbers of nodes that so many jobs may have on a leaf."""
    rows: list[tuple[int, ...]] = [()]
    for _ in range(jobs):
        rows = [(*row, a) for row in rows for a in range(cap - sum(row) + 1)]
    return np.array(rows, np.int64).reshape(len(rows), jobs)
