"""Lists of states, which the dynamic programmes for knapsacks share: rows, numbers, and how each state came about.

``lists`` has shape ``(2, rows, room)``: two buffers that take turns. A state carries its last decisions as bits and a
link into a table of earlier states: every 64 items the bits and links of all living states move into a new table. This
keeps the way back to every state at 16 bytes per state and 64 items.
"""

from __future__ import annotations

import numpy as np

from transom._system.compiling import no_refcount
from transom._system.records import record
from transom.models.arrays import IntArray

VALUE, WEIGHT, BITS, LINK, LOSS = range(5)
"""Rows of a list: value and weight of a state, its decisions since the last table, its place in that table, and what
its changes of side cost under a cut, where there is one."""

FINISHED, FULL, FILED, PAUSED = range(4)
"""Why a search returned: at its end, list full, bits used up, work or iterations done."""


class Numbers:
    """Where a search stands."""

    count: int  # states
    turn: int  # the buffer they are in
    best: int  # the best value
    best_bits: int  # how it came about
    best_link: int
    improved: bool  # whether it is newer than the last report
    used: int  # bits in use
    items: int  # taken in so far
    work: int  # states looked at so far
    next: int  # the next item, or those on both sides of an expanding core
    left: int
    right: int
    merging: int  # whether a core is taking an item in, 0 or 1
    value_step: int  # what that adds
    weight_step: int
    plain: int  # the next state without and with it
    shifted: int
    kept: int  # states kept
    top: int  # the highest value seen


def begun() -> Numbers:
    """One state, at value and weight 0."""
    at = record(Numbers)
    at.count = 1
    return at


class History:
    """How the states came about."""

    def __init__(self) -> None:
        self.bits: IntArray = np.zeros(64, np.int64)
        """Which item each bit stands for."""
        self.tables: list[tuple[IntArray, IntArray, IntArray]] = []

    @property
    def size(self) -> int:
        """What the tables take [bytes]."""
        return sum(flags.nbytes + links.nbytes for flags, links, _ in self.tables)

    def file(self, lists: IntArray, at: Numbers) -> None:
        """Move the bits and links of all states into a new table."""
        count = int(at.count)
        states = lists[at.turn, :, :count]
        self.tables.append((states[BITS].copy(), states[LINK].copy(), self.bits.copy()))
        states[BITS] = 0
        states[LINK] = np.arange(count)
        at.used = 0

    def changed(self, flags: int, link: int) -> IntArray:
        """The items that have changed sides in a state with these bits and this link, each once."""
        items, changed = self.bits, []
        for table in range(len(self.tables), -1, -1):
            changed.append(items[bits_of(int(flags), 64)])
            if table:
                of_flags, of_link, items = self.tables[table - 1]
                flags, link = of_flags[link], of_link[link]
        return np.concatenate(changed)


def bits_of(mask: int, length: int) -> IntArray:
    """Which bits are set."""
    return np.flatnonzero([mask >> bit & 1 for bit in range(length)])


def with_room(lists: IntArray, at: Numbers, room: int) -> IntArray:
    """The lists with room for so many states."""
    larger = np.empty((*lists.shape[:2], room), np.int64)
    larger[at.turn, :, : at.count] = lists[at.turn, :, : at.count]  # the other buffer is written anew
    return larger


@no_refcount
def improve(source: IntArray, at: Numbers, value: int, weight: int, room: int) -> None:
    """Note the best of the states that are feasible with an item, if it is better than what is known."""
    # Values rise with weights, so the heaviest one is the best one.
    low, high = 0, at.count
    while low < high:
        middle = (low + high) // 2
        if source[WEIGHT, middle] + weight <= room:
            low = middle + 1
        else:
            high = middle
    if low and source[VALUE, low - 1] + value > at.best:
        at.best = source[VALUE, low - 1] + value
        at.best_bits = source[BITS, low - 1] | np.int64(1) << at.used
        at.best_link = source[LINK, low - 1]
        at.improved = True
