"""One line of blocks to be packed: its bound, packings close to it, the proof."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.sorting import largest, smallest_at, sum_of
from transom.models.arrays import FloatArray, IntArray
from transom.reductions.packing import Packing
from transom.solvers.allocation.block_dp import Blocks
from transom.solvers.allocation.line_labels import Beam, Sweep
from transom.solvers.allocation.line_prices import Prices

_STEPS = 2_000_000  # steps of a kernel between two looks at the clock: 2-4 ms
_BEAMS = (3, 30)  # labels of an entry: most packings that meet the bound take few
_SIDES = 16  # costs that are looked at side by side
_LABELS = 40_000  # labels between two looks at the clock: a few milliseconds


class Best:
    """The best packing found so far.

    Parameters
    ----------
    pack : what is packed.
    report : called with the rows and starts of every better packing.
    """

    def __init__(self, pack: Packing, report: Callable[[IntArray, IntArray], None]) -> None:
        self.pack, self._report = pack, report
        self.cost = math.inf
        self.blocks: tuple[IntArray, IntArray] | None = None

    def offer(self, rows: IntArray, starts: IntArray) -> None:
        """Take the blocks if they are better than the best."""
        cost = math.fsum(self.pack.costs[rows, starts])
        if cost < self.cost:
            self.cost, self.blocks = cost, (rows.copy(), starts.copy())
            self._report(rows, starts)

    @property
    def goal(self) -> float:
        """A packing is better only if it costs no more than this."""
        return self.cost - 1.0 if self.pack.whole else self.cost


class Line:
    """The packing of a line: all of Q without wrap-around, or what a block that wraps leaves.

    Parameters
    ----------
    pack : the whole packing.
    best : the best packing found so far, shared by all lines.
    memory : most memory for labels [bytes].
    wrapped : size row of the block that wraps and its entries at the head; None if none does.
    prices : to begin with, shape ``(sizes,)``.
    """

    def __init__(
        self,
        pack: Packing,
        best: Best,
        memory: int,
        wrapped: tuple[int, int] | None = None,
        prices: FloatArray | None = None,
    ) -> None:
        self._best, self._memory = best, memory
        self._low, high, self._fixed = 0, pack.length, np.empty((2, 0), np.int64)
        counts, self._cost = pack.counts.copy(), 0.0
        if wrapped is not None:
            row, head = wrapped
            counts[row] -= 1
            self._low, high = head, pack.length - int(pack.sizes[row]) + head
            self._fixed = np.array([[row], [high]])
            self._cost = float(pack.costs[row, high])
        self._kinds = np.flatnonzero(counts)
        self.sizes, self.counts = pack.sizes[self._kinds], counts[self._kinds]
        self.length = high - self._low
        self.costs = _without_wrapping(pack, self._kinds, self._low, high)
        spans = _spans(self.costs, self.sizes)
        self.bound = -math.inf
        """No packing of this line costs less, in floating point; infinite where none is better than the best."""
        self.complete = False
        """Whether the last sweep left nothing out."""
        self.passes = 0
        """Shortest paths so far."""
        self._ceiling = math.inf  # what a packing costs at most
        self.scale = 1.0
        """What costs of a packing are about: the unit of tolerances."""
        if not len(self.sizes):
            self._offer(np.empty(0, np.int64), np.empty(0, np.int64))
            self.bound = math.inf
        elif np.isinf(spans.least).any():
            self.bound = math.inf
        else:
            self.bound = self._cost + float(self.counts @ spans.least)
            self._ceiling = self._cost + float(self.counts @ spans.most)
            # With what is fixed: where all else costs nothing, its rounding must not look like a bound too high.
            self.scale = max(float(self.counts @ spans.mean) + abs(self._cost), 1e-9)
            first = spans.least if prices is None else prices[self._kinds]
            self.dual = Prices(self.costs, self.sizes, self.counts, first)

    def _offer(self, rows: IntArray, starts: IntArray) -> None:
        self._best.offer(
            np.concatenate((self._fixed[0], self._kinds[rows])), np.concatenate((self._fixed[1], starts + self._low))
        )

    def settled(self) -> bool:
        """Whether this line holds nothing better than the best packing, to the last digits of a sum."""
        best = self._best
        beaten = self.bound >= best.cost - 1e-11 * self.scale or self.bound - 1e-9 * self.scale > best.goal
        # Where there is no packing, prices and bound grow without limit.
        if beaten or self.bound > self._ceiling + 1e-6 * self.scale:
            self.bound = math.inf
        return self.bound == math.inf

    def _tiny(self) -> float:
        # Whole costs may be a little more than the goal in floating point, others no more than rounding makes them.
        return (2e-9 if self._best.goal < self._best.cost else 2e-11) * self.scale

    def approach(self, passes: int, precision: float) -> Iterator[None]:
        """Raise the bound to that of the path polytope, about; returns to the caller every few milliseconds.

        Parameters
        ----------
        passes : shortest paths at most.
        precision : what may be left to gain, as a share of the cost.
        """
        each = max(1, _STEPS // ((self.length + 10_000) * max(1, len(self.sizes))))  # no size: only one block, it wraps
        done = 0
        while done < passes and not self.settled():
            self.dual.bundle_steps(min(each, passes - done), precision * self.scale)
            done += each
            self.passes += each
            self.bound = max(self.bound, self._cost + self.dual.bound)
            if self.dual.exact:
                self._offer(self.dual.rows, self.dual.starts)
                self.bound = math.inf
            self.settled()  # now: where there is no packing the bound may be any number
            yield
            if self.dual.gap <= precision * self.scale:
                return

    def sweep(self, limit: float, width: int, reward: float, whole: bool) -> Iterator[None]:
        """Sweep once for better packings; ``complete`` then says whether nothing was left out."""
        limit = min(limit, self._best.goal - self._cost - self.dual.bound + self._tiny())
        blocks, beam = Blocks(self.costs, self.sizes, self.counts), Beam(limit, width, reward, whole)
        search = Sweep(blocks, self.dual.potentials(), beam, self._memory)
        while not search.go(_LABELS):
            yield
        found = search.best()
        if found is not None:
            self._offer(*found)
        if search.complete:
            if found is not None:
                self.bound = math.inf
            else:
                self.bound = max(self.bound, self._cost + self.dual.bound + limit)
            self.settled()
        self.complete = search.complete
        yield

    def beams(self) -> Iterator[None]:
        """Look for a first good packing near the bound, in ever wider circles."""
        limit = 1e-4 * self.scale
        while not self.settled():
            for width, share in itertools.product(_BEAMS, (0.1, 1.0)):
                reward = share * min(limit, self.scale) / int(self.sizes @ self.counts)
                for _ in self.sweep(limit, width, reward, False):
                    yield
                if self.settled():
                    return
            if self._best.cost - self._cost - self.dual.bound <= limit or limit == math.inf:
                return
            limit = limit * 100.0 if limit < self.scale else math.inf

    def close(self, width: int) -> Iterator[None]:
        """Prove how far the best is from the optimum of this line, until an entry has too many labels."""
        limit = 1e-6 * self.scale
        while not self.settled():
            self.complete = False
            for _ in self.sweep(limit, width, 0.0, True):
                yield
            if not self.complete:
                return
            limit = limit * 4.0 if limit < 1e3 * self.scale else math.inf


def _without_wrapping(pack: Packing, kinds: IntArray, low: int, high: int) -> FloatArray:
    """Costs of the blocks between two entries, infinite for those that do not end on this line."""
    whole = len(kinds) == len(pack.sizes) and high - low == pack.length
    if whole and not pack.wrap and pack.costs.flags.c_contiguous:
        return pack.costs  # there are none; of a large table a copy takes a millisecond
    cut = np.empty((len(kinds), high - low))
    for row, (kind, size) in enumerate(zip(kinds.tolist(), pack.sizes[kinds].tolist(), strict=True)):
        last = max(0, high - low - size + 1)
        cut[row, :last], cut[row, last:] = pack.costs[kind, low : low + last], np.inf
    return cut


class Spans(NamedTuple):
    """What blocks of each size cost where there is one, shape ``(sizes,)``; the least is infinite where none is."""

    least: FloatArray
    most: FloatArray
    mean: FloatArray  # of the absolute costs


@compiled
def _spans(costs: FloatArray, sizes: IntArray) -> Spans:
    kinds, length = costs.shape
    spans = Spans(np.empty(kinds), np.empty(kinds), np.empty(kinds))
    # Several sums side by side: one alone waits for each of its additions.
    least, most, total, there = np.empty(_SIDES), np.empty(_SIDES), np.empty(_SIDES), np.empty(_SIDES)
    for row in range(kinds):
        least[:], most[:], total[:], there[:] = np.inf, -np.inf, 0.0, 0.0
        last = max(0, length - sizes[row] + 1)
        for begin in range(0, last, _SIDES):
            some = costs[row, begin : min(begin + _SIDES, last)]
            for k in range(len(some)):
                cost, exists = some[k], some[k] < np.inf
                least[k] = cost if cost < least[k] else least[k]
                most[k] = cost if exists and cost > most[k] else most[k]
                total[k] += abs(cost) if exists else 0.0
                there[k] += 1.0 if exists else 0.0
        spans.least[row], spans.most[row] = least[smallest_at(least)], largest(most)
        spans.mean[row] = sum_of(total) / max(sum_of(there), 1.0)
    return spans
