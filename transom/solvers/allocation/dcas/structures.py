"""All structures of a window under the dynamic rule that may be part of a better solution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from transom._system.compiling import compiled
from transom._system.records import record, records
from transom.models.allocation import Allocation
from transom.models.arrays import FloatArray, IntArray
from transom.models.hop_cost import hops_cost
from transom.reductions.packing import Packing
from transom.solvers.allocation.dcas.bounds import Bounds, Places, gains, survey
from transom.solvers.allocation.dcas.join import across, promising, tails
from transom.solvers.allocation.dcas.levels import gains_on_levels
from transom.solvers.allocation.dcas.records import Demands, Label, Labels, State, Switches, Table, Window
from transom.solvers.allocation.dcas.search import search
from transom.solvers.allocation.dcas.sets import JobSets, make_sets

_LABELS = 4096  # room for labels to begin with
_STEPS = 2_000_000  # of the join between two looks at the clock: a few milliseconds


class Best(NamedTuple):
    """The best choice of structures: the tails it was read from, and the structure across the end, if any.

    ``tail`` is that of ``tails`` up to entry ``at``; ``which`` is -1 if no structure crosses the end.
    """

    tail: FloatArray
    at: int
    which: int


def table_bytes(pack: Packing) -> float:
    """Memory of the tables of the search [bytes]."""
    sets, most = float(np.prod(pack.counts + 1.0)), float(pack.sizes[-1]) + 1
    return pack.length * (sets * (2 * 26 + 2 * 8) + 4 * 8 * most * len(pack.sizes))


def alternating(lined: Places, ordered: Places) -> bool:
    """Whether a switch is left and come back to, from the survey of a sequence and of the same switch by switch."""
    return bool(lined.leaf[-1] != ordered.leaf[-1] or lined.pod[-1] != ordered.pod[-1])


@compiled
def _lowest(sets: JobSets, counts: IntArray, bounds: Bounds) -> float:
    """What all jobs cost at least, rounding included; of use where there are no prices.

    Fills in what each set costs at least, prices included and not rounded.
    """
    weights, low, total = bounds.weights, bounds.low, 0.0
    low[:] = 0.0
    for size in range(len(sets.nodes)):
        n, unit = sets.nodes[size], sets.unit[size]
        table = size if len(bounds.units) > 1 else 0
        pairs, hop = n * (n - 1) // 2, weights[3] / n
        gain = bounds.anywhere[table, n]
        least = hop * (weights[0] * pairs) - hop / bounds.units[table] * gain
        for which in range(len(low)):
            low[which] += (which // unit % (counts[size] + 1)) * least
        total += counts[size] * hops_cost(n, weights[0] * pairs - round(gain), weights)
    return total


def _columns(upper: IntArray) -> IntArray:
    """Switches of each entry on several levels, numbered from 0 over all of them, shape ``(levels, entries)``."""
    columns = np.empty(upper.shape, np.int64)
    count = 0
    for level, labels in enumerate(upper):
        columns[level] = np.unique(labels, return_inverse=True)[1] + count
        count = int(columns[level].max(initial=count - 1)) + 1
    return columns


def _demands(problem: Allocation) -> Demands:
    """What the jobs of each row of the packing ask for beside their number of nodes."""
    if problem.limited is None:
        return Demands(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0), np.bool_))
    first, limits, types = problem.classes.first, problem.leaf_limits, problem.node_types
    return Demands(
        problem.sizes[first] if limits is None else limits[first],
        np.zeros(len(problem.idle), np.int64) if types is None else types.copy(),
        np.ones((len(first), 1), np.bool_) if problem.accepts is None else problem.accepts[first],
    )


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
        self._weights = problem.weights
        order = np.lexsort((problem.leaf, problem.pod))
        lined: Places = survey(problem.leaf, problem.pod)
        sorted_: Places = survey(problem.leaf[order], problem.pod[order])
        # Bounds look at the entries switch by switch: as they come, unless switches alternate.
        self._upper = _columns(problem.upper)
        self._mixed = alternating(lined, sorted_) or len(self._upper) > 0 or problem.limited is not None
        self._order = order if self._mixed else np.arange(len(order))
        self._places = sorted_ if self._mixed else lined
        self.sets: JobSets = make_sets(pack.sizes, pack.counts)
        self.window = Window(self._places, self._switches(), self.sets, _demands(problem), pack.costs)
        self.total = int(self.sets.span[-1])
        self.lowest = self._measure(np.ones(1), np.zeros(pack.length))
        """What all jobs cost at least, each alone on all idle nodes."""

    def _switches(self) -> Switches:
        """Leaf switch of each entry and the column of its pod, and of the pod of each leaf switch."""
        leaf, pod, leaves = self._places.leaf, self._places.pod, int(self._places.leaf[-1]) + 1
        if not self._mixed:
            return Switches(*np.empty((3, 0), np.int64), *np.empty((2, 0, 0), np.int64))
        upper = self._upper + leaves + len(self._places.starts)
        switches = Switches(
            np.empty_like(leaf), np.empty_like(pod), np.empty(leaves, np.int64), upper,
            np.empty((len(upper), leaves), np.int64),
        )  # fmt: skip
        switches.leaf[self._order] = leaf
        switches.pod[self._order] = switches.pod_of[leaf] = pod + leaves
        switches.upper_of[:, switches.leaf] = upper
        return switches

    def _measure(self, units: FloatArray, prices: FloatArray) -> float:
        pack, pods, laps = self.pack, len(self._places.starts), 2
        entries, sets, width = pack.length, len(self.sets.span), int(pack.sizes[-1]) + 1
        charged = np.zeros(2 * entries + 1)
        np.cumsum(np.concatenate((prices, prices)), out=charged[1:])
        in_pod, beyond = np.empty((len(units), entries, width)), np.empty((len(units), pods + 1, width))
        for table, unit in enumerate(units.tolist()):
            gains(self._places, prices[self._order], unit, self._weights, in_pod[table], beyond[table])
            if len(self._upper):
                saved = self._weights[[2, *[1] * (1 + len(self._upper))]]
                switches = self.window.switches
                leaf, pod = switches.leaf, switches.pod - switches.pod.min()
                levels = np.vstack((leaf, pod, self._upper - self._upper.min(axis=1, keepdims=True)))
                beyond[table, 0] = gains_on_levels(levels, saved, prices, unit, width - 1)
        self._bounds = Bounds(
            self._weights, prices, charged, np.empty(sets), units, in_pod,
            np.empty((len(units), laps * pods + 1, width)), beyond[:, 0].copy(),
            np.empty((len(units), laps, entries, width)), np.empty((len(units), laps, entries), np.int64),
        )  # fmt: skip
        return float(_lowest(self.sets, pack.counts, self._bounds))

    @property
    def _base(self) -> float:
        return float(self._bounds.low[-1] - self._bounds.prices.sum())

    def charge(self, prices: FloatArray) -> float:
        """Put prices on the entries, alike on a leaf, shape ``(entries,)``; the lower bound that follows, unrounded."""
        self._measure(self._weights[3] / self.pack.sizes, prices)
        return self._base - (self._jobs_in_all if self.pack.whole else 0)

    def prepare(self, value: float, share: float = 1.0) -> None:
        """Begin the search for structures of solutions that cost less than ``value``.

        With a ``share`` below 1 it is only for those solutions whose distance from the lower bound is at most
        that share of the distance of ``value``.
        """
        entries, sets = self.pack.length, len(self.sets.span)
        # The bounds in floats leave rounding down out: less than 1 for each job.
        loss = self._jobs_in_all if self.pack.whole else 0
        least = value - 0.5 + loss if self.pack.whole else value - 1e-9 * abs(value)
        limit = share * (least - self._base)
        self.proved = self._base + limit - loss if share < 1 else value
        """What every solution that is not among the structures costs at least, once the search is done."""
        leaves = int(self._places.leaf[-1]) + 1
        columns = leaves + len(self._places.starts) + int(self._upper.max(initial=-1)) + 1 if self._mixed else 0
        self._bounds.stamps[:] = -1
        self.labels = Labels(
            records(Label, _LABELS), np.empty((_LABELS, columns), np.int32), np.empty(leaves, np.int64),
            np.full((2, sets), -1), np.empty((2, sets), np.int64), np.zeros(2, np.int64),
        )  # fmt: skip
        lines = 2 * entries, sets
        self.table = Table(
            np.empty(lines), np.empty(lines, np.int16), np.empty(lines),
            np.empty(lines, np.int32), np.zeros(2 * entries, np.int64),
            np.empty(lines, np.int32), np.zeros(2 * entries, np.int64), np.full(2 * entries + 1, 4 * entries),
        )  # fmt: skip
        self.state = record(State)
        self.state.at, self.state.limit, self.state.last = 2 * entries - 1, limit, -1
        # Where every entry is taken, each gap of every block is filled: nothing needs to cross the end.
        self.state.wrap = self.pack.wrap and self.total < entries

    def grow(self, state: State, work: int) -> int:
        """Search on for about so many labels: ``MORE``, ``FULL`` or ``DONE``."""
        return int(search(self.window, self._bounds, self.labels, self.table, state, work))

    def make_room(self, memory: float) -> bool:
        """Twice the room for labels, if it fits into ``memory`` bytes."""
        arena, tally = self.labels.arena, self.labels.tally
        count = len(arena)
        if 3 * count * (arena.itemsize + tally.itemsize * tally.shape[1]) > memory:
            return False
        larger = records(Label, 2 * count), np.empty((2 * count, tally.shape[1]), tally.dtype)
        larger[0][:count], larger[1][:count] = arena, tally
        self.labels = self.labels._replace(arena=larger[0], tally=larger[1])
        return True

    def best(self, value: float, stop: Callable[[], bool]) -> Best | None:
        """The best choice of the structures found, if it costs less than ``value``.

        ``stop`` is asked every few milliseconds whether to give up, with what has been found so far.
        """
        entries, everything = self.pack.length, len(self.sets.span) - 1
        value = float(value)  # whole costs are ints, for which the kernels would be compiled once more
        line = self._tails(entries, stop)
        if line is None:
            return None
        value, best = float(value), None
        if line[0, everything] < value:
            value, best = float(line[0, everything]), Best(line, entries, -1)
        at = entries - 1 if self.state.wrap else -1
        while (at := promising(at, value, self.sets, self.table, line)) >= 0:
            tail = self._tails(at, stop)
            if tail is None:
                return best
            better, which = self.across(at, value, tail)
            if which >= 0:
                value, best = better, Best(tail, at, which)
            at -= 1
        return best

    def across(self, at: int, value: float, tail: FloatArray) -> tuple[float, int]:
        """The best solution below ``value`` with a structure from ``at`` across the end, and this structure's set."""
        return across(at, value, self.sets, self.table, tail)

    def _tails(self, until: int, stop: Callable[[], bool]) -> FloatArray | None:
        tail = np.empty((self.pack.length + 1, len(self.sets.span)))
        at = until + 1
        while at := tails(at, until, _STEPS, self.sets, self.table, tail):
            if stop():
                return None
        return tail
