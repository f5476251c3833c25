"""The set of rows of chosen jobs that a search has visited."""

from __future__ import annotations

import numpy as np

from transom._system.compiling import compiled
from transom.models.arrays import BoolArray, IntArray

_SLOTS = 1 << 12  # of the first table of known rows, a power of two
_MOST_SLOTS = 1 << 24  # of the largest one, 128 MiB; then it forgets all


class VisitedSet:
    """A set of visited rows, stored as 64-bit signatures.

    Two rows share one with a probability of about 1e-19; the second is then taken for known and not tried.

    Parameters
    ----------
    jobs : length of the rows.
    rng : where the signatures come from.
    """

    def __init__(self, jobs: int, rng: np.random.Generator) -> None:
        self.marks: IntArray = rng.integers(1, 2**63 - 1, jobs, np.int64)
        self.table: IntArray = np.zeros(_SLOTS, np.int64)
        self.count = 0

    def reserve(self, rows: int) -> None:
        """Make room for so many further ones."""
        if 2 * (self.count + rows) > _MOST_SLOTS:
            self.table, self.count = np.zeros(_SLOTS, np.int64), 0
        slots = len(self.table)
        while 2 * (self.count + rows) > slots:
            slots *= 2
        if slots > len(self.table):
            old = self.table[self.table != 0]
            self.table = np.zeros(slots, np.int64)
            _insert(self.table, old)

    def add(self, rows: BoolArray) -> BoolArray:
        """Note rows; which of them were new, shape ``(rows,)``."""
        self.reserve(len(rows))
        fresh = np.zeros(len(rows), np.bool_)
        self.count += int(_note(rows, self.marks, self.table, fresh))
        return fresh


@compiled
def slot(table: IntArray, mark: int) -> int:
    """Where a signature stands in the table, or the empty place where it would."""
    mask = len(table) - 1
    at = mark & mask
    while table[at] != 0 and table[at] != mark:
        at = (at + 1) & mask
    return at


@compiled
def _insert(table: IntArray, signatures: IntArray) -> None:
    for mark in signatures:
        table[slot(table, mark)] = mark


@compiled
def signature(row: BoolArray, marks: IntArray) -> int:
    """The signature of a row."""
    mixed = np.int64(0)
    for job in range(len(row)):
        if row[job]:
            mixed ^= marks[job]
    return int(mixed) if mixed != 0 else 1  # 0 is an empty slot


@compiled
def _note(rows: BoolArray, marks: IntArray, table: IntArray, fresh: BoolArray) -> int:
    count = 0
    for row in range(len(rows)):
        mark = signature(rows[row], marks)
        at = slot(table, mark)
        if table[at] == 0:
            table[at] = mark
            fresh[row] = True
            count += 1
    return count
