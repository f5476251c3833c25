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
from transom._system.sorting import dot, put, smallest_at
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.block_dp import Blocks
from transom.solvers.allocation.cut_weights import weigh

_RUN = 32  # entries that are reached side by side


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
    first : prices to begin with, shape ``(sizes,)``, such as what each size's cheapest block costs.
    """

    def __init__(self, costs: FloatArray, sizes: IntArray, counts: IntArray, first: FloatArray) -> None:
        self._blocks = Blocks(costs, sizes, counts)
        cuts, blocks = min(2 * len(sizes) + 30, 300), int(counts.sum())
        trial = first.copy()
        self.rows, self.starts = np.empty(blocks, np.int64), np.empty(blocks, np.int64)
        self._bundle = Bundle(
            trial, trial.copy(), np.zeros((cuts, len(sizes))), np.zeros((cuts, cuts)), np.zeros(cuts), np.zeros(cuts),
            self.rows, self.starts,
        )  # fmt: skip
        self._ascent = record(Ascent)
        self._ascent.bound, self._ascent.gain = -np.inf, np.inf
        self._known: tuple[FloatArray, FloatArray, FloatArray] | None = None

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
        self._known = None
        _bundle_steps(self._blocks, self._bundle, self._ascent, passes, gap)

    def potentials(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The best prices ``(sizes,)``, distances of each entry from the first and to the end ``(length + 1,)``."""
        if self._known is None:
            costs, sizes, _ = self._blocks
            prices = self._bundle.center.copy()
            self._known = prices, distances(costs, sizes, prices, 0), distances_back(costs, sizes, prices)
        return self._known


@compiled
def distances(costs: FloatArray, sizes: IntArray, prices: FloatArray, head: int) -> FloatArray:
    """Least priced cost from entry ``head`` to every later one, shape ``(length + 1,)``; infinite before."""
    dist = np.full(costs.shape[1] + 1, np.inf)
    _reach(costs, sizes, prices, head, dist)
    return dist


@compiled
def distances_back(costs: FloatArray, sizes: IntArray, prices: FloatArray) -> FloatArray:
    """Least priced cost from every entry to the end, shape ``(length + 1,)``."""
    length, few = costs.shape[1], _fewer(sizes)
    dist = np.empty(length + 1)
    dist[length] = best = 0.0
    for end in range(length, 0, -_RUN):
        begin = max(0, end - _RUN)
        run = dist[begin:end]
        run[:] = np.inf
        for r in range(few, len(sizes)):
            size, price = sizes[r], prices[r]
            most = min(end, length - size + 1) - begin
            if most <= 0:
                break
            after, cost = dist[begin + size : begin + size + most], costs[r, begin : begin + most]
            for k in range(most):
                value = after[k] + cost[k] - price
                run[k] = value if value < run[k] else run[k]
        for i in range(end - 1, begin - 1, -1):
            if dist[i] < best:
                best = dist[i]
            for r in range(few):
                if i + sizes[r] > length:
                    break
                value = dist[i + sizes[r]] + costs[r, i] - prices[r]
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
    # Row by row, which reads memory in order: first how many end at each entry, then which.
    counts, place, lost = np.zeros(length + 1, np.int64), np.empty(length + 1, np.int64), np.empty(length + 1)
    for i in range(length + 1):
        lost[i] = ahead[i] + back[i] - back[0]
    for r in range(len(sizes)):
        size, price, blocks = sizes[r], prices[r], length - sizes[r] + 1
        if blocks > 0:
            cost, here, there, so_far = costs[r, :blocks], back[:blocks], back[size:], lost[:blocks]
            ends = counts[size:]
            for start in range(blocks):
                slack = cost[start] - price + there[start] - here[start]
                ends[start] += 1 if slack < np.inf and so_far[start] + slack <= most else 0
    first, found = np.empty(length + 2, np.int64), 0
    for end in range(length + 1):
        first[end] = place[end] = found
        found += counts[end]
    first[length + 1] = found
    rows, slacks = np.empty(found, np.int64), np.empty(found)
    for r in range(len(sizes)):
        size, price = sizes[r], prices[r]
        for start in range(length - size + 1):
            slack = costs[r, start] - price + back[start + size] - back[start]
            if slack < np.inf and lost[start] + slack <= most:
                at = place[start + size]
                rows[at], slacks[at] = r, max(0.0, slack)
                place[start + size] = at + 1
    return Arcs(first, rows, slacks)


@no_refcount
def _fewer(sizes: IntArray) -> int:
    """How many of the ascending sizes are less than a run."""
    few = 0
    while few < len(sizes) and sizes[few] < _RUN:
        few += 1
    return few


@no_refcount
def _reach(costs: FloatArray, sizes: IntArray, prices: FloatArray, head: int, dist: FloatArray) -> None:
    """Least priced cost from entry ``head`` to every later one.

    Blocks that are no shorter than a run of entries come from before it, so that all entries of the run are looked at
    side by side, several in one instruction.
    """
    length, few = costs.shape[1], _fewer(sizes)
    dist[head] = best = 0.0
    for begin in range(head + 1, length + 1, _RUN):
        end = min(begin + _RUN, length + 1)
        dist[begin:end] = np.inf
        for r in range(few, len(sizes)):
            size, price = sizes[r], prices[r]
            first = max(begin, head + size)
            if first >= end:
                break
            run, before, cost = dist[first:end], dist[first - size : end - size], costs[r, first - size : end - size]
            for k in range(end - first):
                value = before[k] + cost[k] - price
                run[k] = value if value < run[k] else run[k]
        for i in range(begin, end):
            if dist[i] < best:
                best = dist[i]
            for r in range(few):
                start = i - sizes[r]
                if start < head:
                    break
                value = dist[start] + costs[r, start] - prices[r]
                if value < best:
                    best = value
            dist[i] = best


@no_refcount
def _block_before(costs: FloatArray, sizes: IntArray, prices: FloatArray, dist: FloatArray, i: int) -> int:
    """The size row of the block by which a shortest path reaches an entry; -1 where it comes from the one before."""
    if dist[i] == dist[i - 1]:
        return -1
    by, best = -1, np.inf
    for r in range(len(sizes)):
        start = i - sizes[r]
        if start < 0:
            break
        value = dist[start] + costs[r, start] - prices[r]
        if value < best:
            by, best = r, value
    return by


@no_refcount
def _linearise(
    missed: FloatArray, cost: FloatArray, center: FloatArray, bound: float, used: int, errors: FloatArray
) -> None:
    """How far each cut lies above the bound at the best point."""
    for k in range(used):
        error = cost[k] - bound
        for r in range(len(center)):
            error += missed[k, r] * center[r]
        errors[k] = error


@compiled
def _slot(weights: FloatArray, errors: FloatArray, used: int) -> int:
    """Which cut to replace once all are taken: of those without weight the loosest, else the lightest."""
    slot = -1
    for k in range(used):
        if weights[k] <= 0.0 and (slot < 0 or errors[k] > errors[slot]):
            slot = k
    return smallest_at(weights[:used]) if slot < 0 else slot


@compiled
def _bundle_steps(blocks: Blocks, bundle: Bundle, ascent: Ascent, passes: int, gap: float) -> None:
    costs, sizes, counts = blocks
    trial, center, missed, inner, cost, weight, rows, starts = bundle
    length, kinds = costs.shape[1], len(sizes)
    most = len(missed)
    dist = np.empty(length + 1)
    errors, direction = np.zeros(most), np.zeros(kinds)
    bound, step, gain = ascent.bound, ascent.step, ascent.gain
    used, nulls = ascent.used, ascent.nulls
    for _ in range(passes):
        _reach(costs, sizes, trial, 0, dist)
        value = float(dist[length]) + dot(trial, counts)
        if used == most:
            _linearise(missed, cost, center, bound, used, errors)
        slot = used if used < most else _slot(weight, errors, used)
        used = max(used, slot + 1)
        cost[slot] = weight[slot] = 0.0
        put(missed[slot], counts)
        i = length
        while i > 0:
            r = _block_before(costs, sizes, trial, dist, i)
            i -= 1 if r < 0 else sizes[r]
            if r >= 0:
                cost[slot] += costs[r, i]
                missed[slot, r] -= 1.0
        for r in range(kinds):
            direction[r] = missed[slot, r] * sizes[r] * sizes[r]
        for k in range(used):
            product = 0.0
            for r in range(kinds):
                product += direction[r] * missed[k, r]
            inner[slot, k] = inner[k, slot] = product
        paid = 0.0
        for r in range(kinds):
            paid += abs(trial[r] * counts[r])
        scale = abs(value) + paid
        if inner[slot, slot] == 0.0:  # the path meets the counts: no price can do better
            ascent.exact = True
            found, i = 0, length
            while i > 0:
                r = _block_before(costs, sizes, trial, dist, i)
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
            if nulls >= 3 and cost[slot] - bound + dot(missed[slot], center) > 2.0 * gain:
                step *= 0.6
                nulls = 0
            if value > bound:
                bound = value
                put(center, trial)
        _linearise(missed, cost, center, bound, used, errors)
        for k in range(used):
            errors[k] = max(0.0, errors[k])
        weigh(inner, errors, weight, used, step, 0.0 if gain == np.inf else gain, scale)
        for r in range(kinds):
            direction[r] = 0.0
        gain = 0.0
        for k in range(used):
            if weight[k] > 0.0:
                gain += weight[k] * errors[k]
                for r in range(kinds):
                    direction[r] += weight[k] * missed[k, r]
        for r in range(kinds):
            gain += step * (sizes[r] * direction[r]) ** 2
            trial[r] = center[r] + step * sizes[r] * sizes[r] * direction[r]
        if gain <= gap:
            break
    ascent.bound, ascent.step, ascent.gain, ascent.used, ascent.nulls = bound, step, gain, used, nulls
