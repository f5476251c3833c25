"""All structures of a window under the dynamic rule that may be part of a better solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hops_cost
from transom.reductions.packing import Packing
from transom.solvers.allocation.dcas import labels as kernel
from transom.solvers.allocation.dcas import mixed
from transom.solvers.allocation.dcas.bounds import LEAF, POD, gains, pod_starts, survey
from transom.solvers.allocation.dcas.join import across, promising, tails
from transom.solvers.allocation.dcas.search import search
from transom.solvers.allocation.dcas.sets import SPAN, UNIT, make_sets

_LABELS = 4096  # room for labels to begin with
_STEPS = 2_000_000  # of the join between two looks at the clock: a few milliseconds


class Best(NamedTuple):
    """The best choice of structures: the table it was read from, and the one across the end, if any.

    ``table`` is that of ``tails`` up to entry ``at``; ``which`` is -1 if no structure crosses the end.
    """

    table: FloatArray
    at: int
    which: int


def table_bytes(pack: Packing) -> float:
    """Memory of the tables of the search [bytes]."""
    sets, most = float(np.prod(pack.counts + 1.0)), float(pack.sizes[-1]) + 1
    return pack.length * (sets * (2 * 26 + 2 * 8) + 4 * 8 * most * len(pack.sizes))


def alternating(lined: IntArray, ordered: IntArray) -> bool:
    """Whether a switch is left and come back to, from the survey of a sequence and of the same switch by switch."""
    return bool((lined[: POD + 1, -1] != ordered[: POD + 1, -1]).any())


@compiled
def _lowest(sizes, units, beyond, jobs, counts, weights, low):  # type: ignore[no-untyped-def]
    """What all jobs cost at least, rounding included; of use where there are no prices.

    ``low``, shape ``(sets,)``, becomes what each set costs at least, prices included and not rounded.
    """
    low[:] = 0.0
    total = 0.0
    for row in range(len(sizes)):
        n, unit = sizes[row], jobs[UNIT, row]
        table = row if len(units) > 1 else 0
        pairs, hop = n * (n - 1) // 2, weights[3] / n
        gain = beyond[table, 0, n]
        least = hop * (weights[0] * pairs) - hop / units[table] * gain
        for which in range(len(low)):
            low[which] += (which // unit % (counts[row] + 1)) * least
        total += counts[row] * hops_cost(n, weights[0] * pairs - round(gain), weights)
    return total


class Structures:
    """The structures that cost at most so much more than their jobs at their best, and their best choice.

    Parameters
    ----------
    problem : not more nodes are asked for than idle.
    pack : its packing.
    """

    def __init__(self, problem: Allocation, pack: Packing) -> None:
        self.pack = pack
        self._jobs_in_all = len(problem)
        self._weights = problem.cost.weights
        order = np.lexsort((problem.leaf, problem.pod))
        lined: IntArray = survey(problem.leaf, problem.pod)
        sorted_: IntArray = survey(problem.leaf[order], problem.pod[order])
        # Bounds look at the entries switch by switch: as they come, unless switches alternate.
        self._mixed = alternating(lined, sorted_)
        self._order = order if self._mixed else np.arange(len(order))
        self._places = sorted_ if self._mixed else lined
        self._starts: IntArray = pod_starts(self._places)
        self._switches = self._columns() if self._mixed else np.zeros((3, 0), np.int64)
        self._latest = np.empty(int(self._places[LEAF, -1]) + 1, np.int64)
        self.jobs, self.sets, self.room = make_sets(pack.sizes, pack.counts)
        self._low = np.empty(self.sets.shape[1])
        self.total = int(self.sets[SPAN, -1])
        self.lowest = self._measure(np.ones(1), np.zeros(pack.length))
        """What all jobs cost at least, each alone on all idle nodes."""

    def _columns(self) -> IntArray:
        """Leaf switch of each entry and the column of its pod, and of the pod of each leaf switch."""
        switches = np.zeros((3, self.pack.length), np.int64)
        leaves = int(self._places[LEAF, -1]) + 1
        switches[mixed.LEAF, self._order] = self._places[LEAF]
        switches[mixed.POD, self._order] = self._places[POD] + leaves
        switches[mixed.POD_OF, self._places[LEAF]] = self._places[POD] + leaves
        return switches

    def _measure(self, units: FloatArray, prices: FloatArray) -> float:
        entries, most = self.pack.length, int(self.pack.sizes[-1])
        self._units, self._prices = units, prices
        self._charged = np.zeros(2 * entries + 1)
        np.cumsum(np.concatenate((prices, prices)), out=self._charged[1:])
        self._in_pod = np.empty((len(units), entries, most + 1))
        beyond = np.empty((len(units), len(self._starts) + 1, most + 1))
        for table, unit in enumerate(units.tolist()):
            gains(self._places, prices[self._order], unit, most, self._weights, self._in_pod[table], beyond[table])
        self._anywhere = beyond[:, 0].copy()
        pack = self.pack
        return float(_lowest(pack.sizes, units, beyond, self.jobs, pack.counts, self._weights, self._low))

    @property
    def _base(self) -> float:
        return float(self._low[-1] - self._prices.sum())

    def charge(self, prices: FloatArray) -> float:
        """Put prices on the entries, alike on a leaf, shape ``(entries,)``; the lower bound that follows, unrounded."""
        self._measure(self._weights[3] / self.pack.sizes, prices)
        return self._base - (self._jobs_in_all if self.pack.whole else 0)

    def prepare(self, value: float, share: float = 1.0) -> None:
        """Begin the search for structures of solutions that cost less than ``value``.

        With a ``share`` below 1 it is only for those solutions whose distance from the lower bound is at most
        that share of the distance of ``value``.
        """
        entries, sets = self.pack.length, self.sets.shape[1]
        # The bounds in floats leave rounding down out: less than 1 for each job.
        loss = self._jobs_in_all if self.pack.whole else 0
        least = value - 0.5 + loss if self.pack.whole else value - 1e-9 * abs(value)
        self._limit = share * (least - self._base)
        self.proved = self._base + self._limit - loss if share < 1 else value
        """What every solution that is not among the structures costs at least, once the search is done."""
        most, tables = int(self.pack.sizes[-1]) + 1, len(self._units)
        self._ahead = np.empty((tables, 2 * len(self._starts) + 1, most))
        self._known = np.empty((tables, 2, entries, most))
        self._stamps = np.full((tables, 2, entries), -1)
        self.labels = np.empty((_LABELS, 8), np.int64)
        self._paid = np.empty(_LABELS)
        columns = len(self._latest) + len(self._starts) if self._mixed else 0
        self._tally = np.empty((_LABELS, columns), np.int32)
        self._heads = np.full((2, sets), -1)
        self._active = np.empty((2, sets), np.int64)
        self._actives = np.zeros(2, np.int64)
        self.cost = np.empty((2 * entries, sets))
        self.outer = np.empty((2 * entries, sets), np.int16)
        self.together = np.empty((2 * entries, sets))
        self.lists = np.empty((2, 2 * entries, sets), np.int32)
        self.lengths = np.zeros((2, 2 * entries), np.int64)
        self._following = np.full(2 * entries + 1, 4 * entries)
        self.state = np.zeros(kernel.FIELDS, np.int64)
        self.state[kernel.AT], self.state[kernel.LAST] = 2 * entries - 1, -1
        # Where every entry is taken, each gap of every block is filled: nothing needs to cross the end.
        self.state[kernel.WRAP] = self.pack.wrap and self.total < entries

    def grow(self, state: IntArray, work: int) -> int:
        """Search on for about so many labels: ``MORE``, ``FULL`` or ``DONE`` of ``_dcas_labels``."""
        return search(  # type: ignore[no-any-return]
            state, work, self._limit, self._places, self._prices, self._charged, self._units, self._starts,
            self._in_pod, self._ahead, self._known, self._stamps, self._weights, self.jobs, self.sets, self.room,
            self._low, self.pack.costs, self.labels, self._paid, self._heads, self._active, self._actives,
            self.cost, self.outer, self.together, self.lists, self.lengths, self._following,
            self._switches, self._anywhere, self._latest, self._tally,
        )  # fmt: skip

    def make_room(self, memory: float) -> bool:
        """Twice the room for labels, if it fits into ``memory`` bytes."""
        count = len(self._paid)
        if 3 * count * (72 + self._tally.itemsize * self._tally.shape[1]) > memory:
            return False
        tally = np.empty((2 * count, self._tally.shape[1]), self._tally.dtype)
        tally[:count], self._tally = self._tally, tally
        labels, paid = np.empty((2 * count, 8), np.int64), np.empty(2 * count)
        labels[:count], paid[:count] = self.labels, self._paid
        self.labels, self._paid = labels, paid
        return True

    def best(self, value: float, stop: Callable[[], bool]) -> Best | None:
        """The best choice of the structures found, if it costs less than ``value``.

        ``stop`` is asked every few milliseconds whether to give up, with what has been found so far.
        """
        entries, everything = self.pack.length, self.sets.shape[1] - 1
        value = float(value)  # whole costs are ints, for which the kernels would be compiled once more
        line = self._tails(entries, stop)
        if line is None:
            return None
        value, best = float(value), None
        if line[0, everything] < value:
            value, best = float(line[0, everything]), Best(line, entries, -1)
        at = entries - 1 if self.state[kernel.WRAP] else -1
        while (at := promising(at, value, self.sets, self.cost, self.lists, self.lengths, line)) >= 0:
            table = self._tails(at, stop)
            if table is None:
                return best
            better, which = self.across(at, value, table)
            if which >= 0:
                value, best = better, Best(table, at, which)
            at -= 1
        return best

    def across(self, at: int, value: float, table: FloatArray) -> tuple[float, int]:
        """The best solution below ``value`` with a structure from ``at`` across the end, and this structure's set."""
        return across(at, value, self.sets, self.cost, self.lists, self.lengths, table)  # type: ignore[no-any-return]

    def _tails(self, until: int, stop: Callable[[], bool]) -> FloatArray | None:
        table = np.empty((self.pack.length + 1, self.sets.shape[1]))
        at = until + 1
        while at := tails(at, until, _STEPS, self.sets, self.room, self.cost, self.lists, self.lengths, table):
            if stop():
                return None
        return table
