"""All structures of a window under the dynamic rule that may be part of a better solution."""

from __future__ import annotations

import numpy as np

from transom.compiling import compiled
from transom.models._arrays import FloatArray, IntArray
from transom.models.allocation import Allocation
from transom.solvers import _dcas_labels as kernel
from transom.solvers._dcas_bounds import UNKNOWN, cost_of, free_savings, survey
from transom.solvers._dcas_join import cross, tails
from transom.solvers._dcas_labels import PACKED, PACKED_UNIT, SIZE, SPAN, UNIT
from transom.solvers._packing import Packing

_LABELS = 4096  # room for labels to begin with


def num_sets(pack: Packing) -> int:
    """How many sets of jobs there are, those of one size alike."""
    return int(np.prod(pack.counts + 1))


def table_bytes(pack: Packing) -> int:
    """Memory of the tables of the search [bytes]."""
    sets, entries, most = float(np.prod(pack.counts + 1.0)), pack.length, float(pack.sizes[-1]) + 1
    return int(2 * entries * sets * 26 + entries * sets * 16 + 24 * entries * most)


@compiled
def _sets(sizes, counts):  # type: ignore[no-untyped-def]
    """Jobs and sets as the kernels want them: see ``_dcas_labels``; and the guard bits."""
    sets = 1
    for count in counts:
        sets *= count + 1
    jobs = np.empty((3, len(sizes)), np.int64)
    table = np.zeros((2, sets), np.int64)
    room = np.zeros(2, np.int64)
    unit, shift = 1, 0
    for row in range(len(sizes)):
        width = 1
        while counts[row] >> width:
            width += 1
        jobs[SIZE, row] = sizes[row]
        jobs[UNIT, row] = unit
        jobs[PACKED_UNIT, row] = 1 << shift
        for which in range(sets):
            digit = which // unit % (counts[row] + 1)
            table[PACKED, which] += digit << shift
            table[SPAN, which] += digit * sizes[row]
        room[0] += (counts[row] << shift) + (1 << (shift + width))
        room[1] += 1 << (shift + width)
        unit *= counts[row] + 1
        shift += width + 1
    return jobs, table, room


@compiled
def _lowest(jobs, sets, counts, free, weights):  # type: ignore[no-untyped-def]
    """What each set of jobs costs at least, each job alone on all idle nodes, shape ``(sets,)``."""
    low = np.zeros(sets.shape[1])
    for row in range(jobs.shape[1]):
        n, unit = jobs[SIZE, row], jobs[UNIT, row]
        least = cost_of(n, weights[0] * (n * (n - 1) // 2) - free[0, n], weights)
        for which in range(len(low)):
            low[which] += (which // unit % (counts[row] + 1)) * least
    return low


class Structures:
    """The structures that cost at most so much more than their jobs at their best, and their best choice.

    Parameters
    ----------
    problem : jobs on a contiguous tree; not more nodes are asked for than idle.
    pack : its packing.
    """

    def __init__(self, problem: Allocation, pack: Packing) -> None:
        self._pack = pack
        self._problem = problem
        self._weights = problem.cost.weights
        self._places: IntArray = survey(problem.leaf, problem.pod)
        self._free: IntArray = free_savings(self._places, int(pack.sizes[-1]), self._weights)
        self._jobs, self._sets, self._room = _sets(pack.sizes, pack.counts)
        self._low: FloatArray = _lowest(self._jobs, self._sets, pack.counts, self._free, self._weights)
        self._total = int(self._sets[kernel.SPAN, -1])
        self.lowest = float(self._low[-1])
        """What all jobs cost at least, each alone on all idle nodes."""

    def prepare(self, limit: float) -> None:
        """Begin the search for the structures that cost at most ``limit`` more than their jobs at their best."""
        entries, sets = self._pack.length, self._sets.shape[1]
        self._limit = limit
        most = int(self._pack.sizes[-1]) + 1
        self._inside = np.full((entries, most), UNKNOWN)
        self._rest = np.full((2, entries, most), UNKNOWN)
        self._rooms = np.empty(entries, np.int64)
        self._labels = np.empty((_LABELS, 8), np.int64)
        self._paid = np.empty(_LABELS)
        self._heads = np.full((2, sets), -1)
        self._active = np.empty((2, sets), np.int64)
        self._actives = np.zeros(2, np.int64)
        self._cost = np.empty((2 * entries, sets))
        self._outer = np.empty((2 * entries, sets), np.int16)
        self._together = np.empty((2 * entries, sets))
        self._lists = np.empty((2, 2 * entries, sets), np.int32)
        self._lengths = np.zeros((2, 2 * entries), np.int64)
        self._following = np.full(2 * entries + 1, 4 * entries)
        self.state = np.zeros(kernel.FIELDS, np.int64)
        self.state[kernel.AT] = 2 * entries - 1
        # Where every entry is taken, each gap of every block is filled: nothing needs to cross the end.
        self.state[kernel.WRAP] = self._pack.wrap and self._total < entries

    def grow(self, work: int) -> int:
        """Search on for about so many labels; :data:`MORE`, :data:`FULL` or :data:`DONE`."""
        return int(self._search(self.state, work))

    def _search(self, state: IntArray, work: int) -> int:
        return kernel.search(  # type: ignore[no-any-return]
            state, work, self._limit, self._places, self._free, self._inside, self._rest, self._rooms, self._weights,
            self._jobs, self._sets, self._room, self._low, self._pack.costs, self._labels, self._paid, self._heads,
            self._active, self._actives, self._cost, self._outer, self._together, self._lists, self._lengths,
            self._following,
        )  # fmt: skip

    def make_room(self, memory: int) -> bool:
        """Twice the room for labels, if it fits into ``memory`` bytes."""
        count = len(self._paid)
        if 3 * count * 72 > memory:
            return False
        labels, paid = np.empty((2 * count, 8), np.int64), np.empty(2 * count)
        labels[:count], paid[:count] = self._labels, self._paid
        self._labels, self._paid = labels, paid
        return True

    def best(self, value: float) -> IntArray | None:
        """The best solution made of the structures found, if it costs less than ``value``; shape ``(entries,)``.

        Call it when :meth:`grow` is done.
        """
        entries, everything = self._pack.length, self._sets.shape[1] - 1
        found = (self._sets, self._room, self._cost, self._lists, self._lengths)
        table = np.empty((entries + 1, everything + 1))
        tails(entries, *found, table)
        across, across_set = -1, -1
        best = float(min(value, table[0, everything]))
        if self.state[kernel.WRAP]:
            shorter = np.empty_like(table)
            at = entries - 1
            while at >= 0:
                at, better, where, which = cross(at, best, *found, table, shorter)
                if where >= 0:
                    best, across, across_set = better, where, which
        if not best < value:
            return None
        owner = np.full(entries, -1)
        self._waiting = [np.flatnonzero(self._problem.sizes == size).tolist() for size in self._pack.sizes]
        if across < 0:
            self._trace_line(table, 0, everything, owner)
        else:
            self._trace_structure(across, across_set, True, owner)
            tails(across, *found, table)
            self._trace_line(table, int(across + self._sets[SPAN, across_set]) - entries, everything - across_set, owner)
        return owner

    def _trace_line(self, table: FloatArray, at: int, which: int, owner: IntArray) -> None:
        entries = self._pack.length
        while which:
            row = at + entries
            if table[at, which] == table[at + 1, which]:
                at += 1
                continue
            for first in self._lists[0, row, : self._lengths[0, row]].tolist():
                end = at + int(self._sets[SPAN, first])
                rest = which - first
                if end < len(table) and self._disjoint(first, rest) and (
                    self._cost[row, first] + table[end, rest] == table[at, which]
                ):
                    self._trace_structure(row, first, False, owner)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def _disjoint(self, first: int, second: int) -> bool:
        if second < 0:
            return False
        packed = self._sets[PACKED]
        return int((self._room[0] - packed[first] - packed[second]) & self._room[1]) == int(self._room[1])

    def _row(self, at: int, circle: bool) -> int:
        entries = self._pack.length
        return at if at >= entries or (circle and at + self._total > entries) else at + entries

    def _trace_row(self, at: int, which: int, circle: bool, owner: IntArray) -> None:
        while which:
            row = self._row(at, circle)
            if self._cost[row, which] == self._together[row, which]:
                self._trace_structure(at, which, circle, owner)
                return
            for first in self._lists[0, row, : self._lengths[0, row]].tolist():
                end, rest = at + int(self._sets[SPAN, first]), which - first
                if end >= 2 * self._pack.length or not self._disjoint(first, rest) or not rest:
                    continue
                behind = self._row(end, circle)
                if rest in self._lists[1, behind, : self._lengths[1, behind]] and (
                    self._cost[row, first] + self._together[behind, rest] == self._together[row, which]
                ):
                    self._trace_structure(at, first, circle, owner)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def _trace_structure(self, at: int, which: int, circle: bool, owner: IntArray) -> None:
        entries = self._pack.length
        if at < entries and (not circle or at + self._sets[SPAN, which] <= entries):
            at, circle = at + entries, False
        if at >= entries:
            circle = False
        job = int(self._outer[at, which])
        size = int(self._jobs[SIZE, job])
        jumps = [0] * size  # the set jumped before each node of the outer job
        if which != self._jobs[UNIT, job]:
            state = np.zeros(kernel.FIELDS, np.int64)
            state[kernel.AT], state[kernel.ROW], state[kernel.WANTED] = at, job, which
            state[kernel.ONLY], state[kernel.FOUND], state[kernel.CIRCLE] = 1, -1, circle
            state[kernel.PHASE] = kernel.BEGIN_JOB
            while self._search(state, 2**62) == kernel.FULL:
                self.make_room(2**62)
            jumps[-1] = int(state[kernel.FOUND_JUMP])
            label = int(state[kernel.FOUND])
            for placed in range(size - 2, -1, -1):
                jumps[placed] = int(self._labels[label, kernel.JUMPED])
                label = int(self._labels[label, kernel.PARENT])
        who = self._waiting[job].pop(0)
        for jumped in jumps:
            if jumped:
                self._trace_row(at, jumped, circle, owner)
                at += int(self._sets[SPAN, jumped])
            owner[at % entries] = who
            at += 1
