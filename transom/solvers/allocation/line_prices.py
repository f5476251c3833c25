r"""Prices of the count rows: the Lagrangian dual of a packing on the line, by a proximal bundle method.

With a price :math:`\lambda_r` paid for each block of size r, the counts are free and what is left is a
shortest path over the entries:

.. math:: L(\lambda) = \sum_r \epsilon_r \lambda_r + \min_{\text{paths}} \sum_{\text{blocks}} (c_r(i) - \lambda_r)

Every path gives a cut :math:`L(\mu) \le a + g \mu` with its cost a and g the counts it misses. The next
trial point maximises the model of all cuts less the distance from the best point, whose dual is a
quadratic programme over the simplex. Prices are measured per node of a block. At the end prices give
the bound of the path polytope with count rows, in about as many passes as there are sizes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled, no_refcount
from transom._system.records import record
from transom._system.sorting import put
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.block_dp import Blocks

_PIVOTS = 1000  # of the quadratic programme, per pass


class Bundle(NamedTuple):
    """Cuts, and the blocks of a path that meets all counts."""

    trial: FloatArray  # point, (sizes,)
    center: FloatArray  # the best point
    missed: FloatArray  # counts that the path of each cut misses, (cuts, sizes)
    inner: FloatArray  # products of these by nodes, (cuts, cuts)
    cost: FloatArray  # of the path of each cut
    weight: FloatArray  # of each cut in the last step
    rows: IntArray
    starts: IntArray


class Ascent:
    """The bound, the length of a step, how much the cuts allow the bound to rise in it; cuts, null steps in a row."""

    bound: float
    step: float
    gain: float
    used: int
    nulls: int
    exact: bool


class Arcs(NamedTuple):
    """Blocks by the entry where they end."""

    first: IntArray  # where those of each end begin, (length + 2,)
    rows: IntArray
    slacks: FloatArray  # what each adds to the shortest way to the end


class Prices:
    """The dual of one line: the best prices so far and their bound.

    Parameters
    ----------
    costs : cost of each block by its first entry, shape ``(sizes, length)``; every size has one.
    sizes, counts : of the blocks, shape ``(sizes,)``.
    first : prices to begin with, shape ``(sizes,)``; by default each size's cheapest block.
    """

    def __init__(self, costs: FloatArray, sizes: IntArray, counts: IntArray, first: FloatArray | None = None) -> None:
        self._blocks = Blocks(costs, sizes, counts)
        cuts, blocks = min(2 * len(sizes) + 30, 300), int(counts.sum())
        trial = costs.min(axis=1) if first is None else first.copy()
        self.rows, self.starts = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
        self._bundle = Bundle(
            trial, trial.copy(), np.zeros((cuts, len(sizes))), np.zeros((cuts, cuts)), np.zeros(cuts), np.zeros(cuts),
            self.rows, self.starts,
        )  # fmt: skip
        self._ascent = record(Ascent)
        self._ascent.bound, self._ascent.gain = -np.inf, np.inf

    @property
    def bound(self) -> float:
        """What no packing of the line costs less than, in floating point."""
        return float(self._ascent.bound)

    @property
    def gap(self) -> float:
        """How much the cuts allow the bound to rise within the step: about zero at the end."""
        return float(self._ascent.gain)

    @property
    def exact(self) -> bool:
        """Whether a path met all counts: ``rows`` and ``starts`` are then optimal blocks."""
        return bool(self._ascent.exact)

    def bundle_steps(self, passes: int, gap: float) -> None:
        """Go on for so many shortest paths or until no more than ``gap`` is left to gain."""
        _bundle_steps(self._blocks, self._bundle, self._ascent, passes, gap)

    def potentials(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The best prices ``(sizes,)``, distances of each entry from the first and to the end ``(length + 1,)``."""
        costs, sizes, _ = self._blocks
        prices = self._bundle.center.copy()
        return prices, distances(costs, sizes, prices, 0), distances_back(costs, sizes, prices)


@compiled
def distances(costs: FloatArray, sizes: IntArray, prices: FloatArray, head: int) -> FloatArray:
    """Least priced cost from entry ``head`` to every later one, shape ``(length + 1,)``; infinite before."""
    length = costs.shape[1]
    dist = np.full(length + 1, np.inf)
    dist[head] = 0.0
    for i in range(head + 1, length + 1):
        best = dist[i - 1]
        for r in range(len(sizes)):
            start = i - sizes[r]
            if start < head:
                break
            value = dist[start] + costs[r, start] - prices[r]
            if value < best:
                best = value
        dist[i] = best
    return dist


@compiled
def distances_back(costs: FloatArray, sizes: IntArray, prices: FloatArray) -> FloatArray:
    """Least priced cost from every entry to the end, shape ``(length + 1,)``."""
    length = costs.shape[1]
    dist = np.zeros(length + 1)
    for i in range(length - 1, -1, -1):
        best = dist[i + 1]
        for r in range(len(sizes)):
            end = i + sizes[r]
            if end > length:
                break
            value = dist[end] + costs[r, i] - prices[r]
            if value < best:
                best = value
        dist[i] = best
    return dist


@compiled
def tight_arcs(
    costs: FloatArray, sizes: IntArray, prices: FloatArray, ahead: FloatArray, back: FloatArray, most: float
) -> Arcs:
    """Blocks on some path that costs at most ``most`` more than the shortest."""
    length = costs.shape[1]
    first = np.zeros(length + 2, np.int64)
    rows, slacks = np.empty(0, np.int64), np.empty(0)
    for turn in range(2):
        found = 0
        for end in range(length + 1):
            first[end] = found
            for r in range(len(sizes)):
                start = end - sizes[r]
                if start < 0:
                    break
                slack = costs[r, start] - prices[r] + back[end] - back[start]
                if slack < np.inf and ahead[start] + back[start] - back[0] + slack <= most:
                    if turn == 1:
                        rows[found], slacks[found] = r, max(0.0, slack)
                    found += 1
        first[length + 1] = found
        if turn == 0:
            rows, slacks = np.empty(found, np.int64), np.empty(found)
    return Arcs(first, rows, slacks)


@no_refcount
def _shortest(costs: FloatArray, sizes: IntArray, prices: FloatArray, dist: FloatArray, into: IntArray) -> None:
    """``distances`` from entry 0 with the size row that each entry is reached by, -1 for none."""
    dist[0] = 0.0
    for i in range(1, costs.shape[1] + 1):
        best, by = dist[i - 1], -1
        for r in range(len(sizes)):
            start = i - sizes[r]
            if start < 0:
                break
            value = dist[start] + costs[r, start] - prices[r]
            if value < best:
                best, by = value, r
        dist[i], into[i] = best, by


@compiled
def _slot(weights: FloatArray, errors: FloatArray, used: int) -> int:
    """Which cut to replace once all are taken: of those without weight the loosest, else the lightest."""
    slot = -1
    for k in range(used):
        if weights[k] <= 0.0 and (slot < 0 or errors[k] > errors[slot]):
            slot = k
    return int(np.argmin(weights[:used])) if slot < 0 else slot


@compiled
def _weigh(
    inner: FloatArray, errors: FloatArray, weights: FloatArray, used: int, step: float, gap: float, scale: float
) -> None:
    r"""Minimise :math:`\tfrac t2 \alpha^T Q \alpha + e^T \alpha` over the simplex by steps along pairs."""
    weights[:used] /= weights[:used].sum()
    slope = np.empty(used)
    for k in range(used):
        slope[k] = errors[k]
        for other in range(used):
            slope[k] += step * inner[k, other] * weights[other]
    for _ in range(_PIVOTS):
        up, down = 0, -1
        for k in range(used):
            if slope[k] < slope[up]:
                up = k
            if weights[k] > 0.0 and (down < 0 or slope[k] > slope[down]):
                down = k
        gain = slope[down] - slope[up]
        if gain <= 1e-3 * gap or gain <= 1e-12 * scale:
            break
        curve = step * (inner[up, up] + inner[down, down] - 2.0 * inner[up, down])
        moved = weights[down]
        if curve > 0.0:
            moved = min(moved, gain / curve)
        weights[up] += moved
        weights[down] -= moved
        if weights[down] < 1e-12:
            weights[down] = 0.0
        for k in range(used):
            slope[k] += step * moved * (inner[k, up] - inner[k, down])


@compiled
def _bundle_steps(blocks: Blocks, bundle: Bundle, ascent: Ascent, passes: int, gap: float) -> None:
    costs, sizes, counts = blocks
    trial, center, missed, inner, cost, weight, rows, starts = bundle
    length, kinds = costs.shape[1], len(sizes)
    most = len(missed)
    dist, into = np.empty(length + 1), np.empty(length + 1, np.int64)
    errors, direction = np.zeros(most), np.zeros(kinds)
    bound, step, gain = ascent.bound, ascent.step, ascent.gain
    used, nulls = ascent.used, ascent.nulls
    for _ in range(passes):
        _shortest(costs, sizes, trial, dist, into)
        value = dist[length] + (trial * counts).sum()
        for k in range(used):
            errors[k] = cost[k] - bound + (missed[k] * center).sum()
        slot = used if used < most else _slot(weight, errors, used)
        used = max(used, slot + 1)
        cost[slot] = weight[slot] = 0.0
        missed[slot] = counts
        i = length
        while i > 0:
            r = int(into[i])
            i -= 1 if r < 0 else sizes[r]
            if r >= 0:
                cost[slot] += costs[r, i]
                missed[slot, r] -= 1.0
        for k in range(used):
            inner[slot, k] = 0.0
            for r in range(kinds):
                inner[slot, k] += missed[slot, r] * missed[k, r] * sizes[r] * sizes[r]
            inner[k, slot] = inner[slot, k]
        scale = abs(value) + np.abs(trial * counts).sum()
        if inner[slot, slot] == 0.0:  # the path meets the counts: no price can do better
            ascent.exact = True
            found, i = 0, length
            while i > 0:
                r = int(into[i])
                i -= 1 if r < 0 else sizes[r]
                if r >= 0:
                    rows[found], starts[found] = r, i
                    found += 1
            bound, gain = max(bound, value), 0.0
            put(center, trial)
            break
        if step == 0.0:
            bound = value
            put(center, trial)
            step = max(0.01 * scale, 1e-6) / inner[slot, slot]
            weight[slot] = 1.0
        elif value >= bound + 0.1 * gain:
            if value >= bound + 0.5 * gain and nulls == 0:
                step *= 2.0
            bound, nulls = value, 0
            put(center, trial)
        else:
            nulls += 1
            if nulls >= 3 and cost[slot] - bound + (missed[slot] * center).sum() > 2.0 * gain:
                step *= 0.6
                nulls = 0
            if value > bound:
                bound = value
                put(center, trial)
        for k in range(used):
            errors[k] = max(0.0, cost[k] - bound + (missed[k] * center).sum())
        _weigh(inner, errors, weight, used, step, 0.0 if gain == np.inf else gain, scale)
        direction[:] = 0.0
        gain = 0.0
        for k in range(used):
            if weight[k] > 0.0:
                gain += weight[k] * errors[k]
                direction += weight[k] * missed[k]
        for r in range(kinds):
            gain += step * (sizes[r] * direction[r]) ** 2
            trial[r] = center[r] + step * sizes[r] * sizes[r] * direction[r]
        if gain <= gap:
            break
    ascent.bound, ascent.step, ascent.gain, ascent.used, ascent.nulls = bound, step, gain, used, nulls
