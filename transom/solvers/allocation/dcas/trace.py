"""From the best choice of structures back to the owner of each entry."""

from __future__ import annotations

import numpy as np

from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.dcas import labels as kernel
from transom.solvers.allocation.dcas.sets import ALL, GUARD, PACKED, SIZE, SPAN, UNIT
from transom.solvers.allocation.dcas.structures import Best, Structures

_WORK = 100_000  # labels in one call


def owners(structures: Structures, best: Best, sizes: IntArray) -> IntArray:
    """The solution, shape ``(entries,)``.

    Sums are added up again in the order in which they were added, so that equal floats tell the way back.

    Parameters
    ----------
    sizes : nodes of the jobs, shape ``(jobs,)``; jobs of one size are alike.
    """
    trace = _Trace(structures, sizes)
    everything, entries = structures.sets.shape[1] - 1, structures.pack.length
    if best.which < 0:
        trace.line(best.table, 0, everything)
    else:
        trace.structure(best.at, best.which, True)
        end = best.at + int(structures.sets[SPAN, best.which]) - entries
        trace.line(best.table, end, everything - best.which)
    return trace.owner


class _Trace:
    def __init__(self, structures: Structures, sizes: IntArray) -> None:
        self._found = structures
        self._entries = structures.pack.length
        self._waiting = [np.flatnonzero(sizes == size).tolist() for size in structures.pack.sizes]
        self.owner = np.full(self._entries, -1)

    def line(self, table: FloatArray, at: int, which: int) -> None:
        """The structures of a set from entry ``at`` on."""
        found = self._found
        while which:
            if table[at, which] == table[at + 1, which]:
                at += 1
                continue
            row = at + self._entries
            for first in self._listed(0, row):
                end, rest = at + int(found.sets[SPAN, first]), which - first
                if (
                    end < len(table)
                    and self._disjoint(first, rest)
                    and found.cost[row, first] + table[end, rest] == table[at, which]
                ):
                    self.structure(row, first, False)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def side_by_side(self, at: int, which: int, circle: bool) -> None:
        """A row of structures from entry ``at`` of the doubled sequence."""
        found = self._found
        while which:
            row = self._row(at, circle)
            if found.cost[row, which] == found.together[row, which]:
                self.structure(at, which, circle)
                return
            for first in self._listed(0, row):
                end, rest = at + int(found.sets[SPAN, first]), which - first
                if end >= 2 * self._entries or not rest or not self._disjoint(first, rest):
                    continue
                behind = self._row(end, circle)
                if rest in self._listed(1, behind) and (
                    found.cost[row, first] + found.together[behind, rest] == found.together[row, which]
                ):
                    self.structure(at, first, circle)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def structure(self, at: int, which: int, circle: bool) -> None:
        """One structure from entry ``at`` of the doubled sequence."""
        found = self._found
        if at >= self._entries or at + found.sets[SPAN, which] <= self._entries:
            circle = False
            at += 0 if at >= self._entries else self._entries
        row = int(found.outer[at, which])
        job = self._waiting[row].pop(0)
        for jumped in self._jumps(at, row, which, circle):
            if jumped:
                self.side_by_side(at, jumped, circle)
                at += int(found.sets[SPAN, jumped])
            self.owner[at % self._entries] = job
            at += 1

    def _jumps(self, at: int, row: int, which: int, circle: bool) -> list[int]:
        """The set jumped before each node of the outer job; labels are set once more to find out."""
        found = self._found
        jumps = [0] * int(found.jobs[SIZE, row])
        if which == found.jobs[UNIT, row]:
            return jumps
        state = np.zeros(kernel.FIELDS, np.int64)
        state[kernel.AT], state[kernel.ROW], state[kernel.WANTED] = at, row, which
        state[kernel.ONLY], state[kernel.FOUND], state[kernel.CIRCLE], state[kernel.LAST] = 1, -1, circle, -1
        state[kernel.PHASE] = kernel.BEGIN_JOB
        while (why := found.grow(state, _WORK)) != kernel.DONE:
            if why == kernel.FULL:
                found.make_room(np.inf)
        jumps[-1] = int(state[kernel.FOUND_JUMP])
        label = int(state[kernel.FOUND])
        for placed in range(len(jumps) - 2, -1, -1):
            jumps[placed] = int(found.labels[label, kernel.JUMPED])
            label = int(found.labels[label, kernel.PARENT])
        return jumps

    def _listed(self, kind: int, row: int) -> list[int]:
        found = self._found
        return found.lists[kind, row, : found.lengths[kind, row]].tolist()  # type: ignore[no-any-return]

    def _row(self, at: int, circle: bool) -> int:
        # As kernel.row_of has it.
        crosses = circle and at + self._found.total > self._entries
        return at if at >= self._entries or crosses else at + self._entries

    def _disjoint(self, first: int, second: int) -> bool:
        if second < 0:
            return False
        packed, room = self._found.sets[PACKED], self._found.room
        return bool((room[ALL] - packed[first] - packed[second]) & room[GUARD] == room[GUARD])
