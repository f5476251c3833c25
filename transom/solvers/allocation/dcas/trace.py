"""From the best choice of structures back to the owner of each entry."""

from __future__ import annotations

import numpy as np

from transom._system.records import record
from transom.models.arrays import FloatArray, IntArray
from transom.solvers.allocation.dcas.layers import line_of
from transom.solvers.allocation.dcas.records import BEGIN_JOB, DONE, FULL, State
from transom.solvers.allocation.dcas.sets import disjoint
from transom.solvers.allocation.dcas.structures import Best, Structures

_WORK = 100_000  # labels in one call


def owners(structures: Structures, best: Best, rows: IntArray) -> IntArray:
    """The solution, shape ``(entries,)``.

    Sums are added up again in the order in which they were added, so that equal floats show the way back.

    Parameters
    ----------
    rows : of the jobs in the packing, shape ``(jobs,)``; jobs of one row are alike.
    """
    trace = _Trace(structures, rows)
    everything, entries = len(structures.sets.span) - 1, structures.pack.length
    if best.which < 0:
        trace.line(best.tail, 0, everything)
    else:
        trace.structure(best.at, best.which, True)
        end = best.at + int(structures.sets.span[best.which]) - entries
        trace.line(best.tail, end, everything - best.which)
    return trace.owner


class _Trace:
    def __init__(self, structures: Structures, rows: IntArray) -> None:
        self._found = structures
        self._entries = structures.pack.length
        self._waiting = [np.flatnonzero(rows == row).tolist() for row in range(len(structures.pack.sizes))]
        self.owner = np.full(self._entries, -1)

    def line(self, tail: FloatArray, at: int, which: int) -> None:
        """The structures of a set from entry ``at`` on."""
        found = self._found
        while which:
            if tail[at, which] == tail[at + 1, which]:
                at += 1
                continue
            line = at + self._entries
            for first in self._structures(line):
                end, rest = at + int(found.sets.span[first]), which - first
                if (
                    end < len(tail)
                    and disjoint(first, rest, found.sets)
                    and found.table.cost[line, first] + tail[end, rest] == tail[at, which]
                ):
                    self.structure(line, first, False)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def side_by_side(self, at: int, which: int, circle: bool) -> None:
        """A row of structures from entry ``at`` of the doubled sequence."""
        found, cost, row_cost = self._found, self._found.table.cost, self._found.table.row_cost
        while which:
            line = self._line(at, circle)
            if cost[line, which] == row_cost[line, which]:
                self.structure(at, which, circle)
                return
            for first in self._structures(line):
                end, rest = at + int(found.sets.span[first]), which - first
                if end >= 2 * self._entries or not rest or not disjoint(first, rest, found.sets):
                    continue
                behind = self._line(end, circle)
                if rest in self._rows(behind) and (
                    found.table.cost[line, first] + found.table.row_cost[behind, rest]
                    == found.table.row_cost[line, which]
                ):
                    self.structure(at, first, circle)
                    at, which = end, rest
                    break
            else:
                raise AssertionError(f"no structure from entry {at} leads to set {which}")

    def structure(self, at: int, which: int, circle: bool) -> None:
        """One structure from entry ``at`` of the doubled sequence."""
        found = self._found
        if at >= self._entries or at + found.sets.span[which] <= self._entries:
            circle = False
            at += 0 if at >= self._entries else self._entries
        size = int(found.table.outer[at, which])
        job = self._waiting[size].pop(0)
        for jumped in self._jumps(at, size, which, circle):
            if jumped:
                self.side_by_side(at, jumped, circle)
                at += int(found.sets.span[jumped])
            self.owner[at % self._entries] = job
            at += 1

    def _jumps(self, at: int, size: int, which: int, circle: bool) -> list[int]:
        """The set jumped before each node of the outer job; labels are set once more to find out."""
        found = self._found
        jumps = [0] * int(found.sets.nodes[size])
        if which == found.sets.unit[size]:
            return jumps
        state = record(State)
        state.phase, state.at, state.outer_size, state.circle, state.last = BEGIN_JOB, at, size, circle, -1
        state.traced, state.wanted, state.found, state.limit = True, which, -1, found.state.limit
        while (why := found.grow(state, _WORK)) != DONE:
            if why == FULL:
                found.make_room(np.inf)
        jumps[-1] = state.found_jump
        label = found.labels.arena[state.found]
        for placed in range(len(jumps) - 2, -1, -1):
            jumps[placed] = int(label.jumped)
            label = found.labels.arena[label.parent]
        return jumps

    def _structures(self, line: int) -> list[int]:
        table = self._found.table
        found: list[int] = table.sets[line, : table.numbers[line]].tolist()
        return found

    def _rows(self, line: int) -> list[int]:
        table = self._found.table
        found: list[int] = table.row_sets[line, : table.row_numbers[line]].tolist()
        return found

    def _line(self, at: int, circle: bool) -> int:
        return int(line_of(at, self._entries, self._found.total, circle))
