"""What a compiled pass promises, noted where a reservation is made, moved or kept.

A pass of conservative backfilling may move thousands of reservations. Whoever records them gives the plan a
:class:`Noted`; the passes note what differs from what was noted before, and the recorder takes it away now and then.
Without a recorder the arrays are empty, and nothing is noted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from transom._system.compiling import inlined
from transom.models.arrays import IntArray

ENOUGH = 1 << 16
"""With so many entries it is time to take them away."""

GONE = -1
"""The begin of a job that holds no promise any more: it starts, or the promise was withdrawn."""

COUNT, ROW = range(2)


class Noted(NamedTuple):
    """Promises by pass.

    ``begin`` is what each job was promised last (-1: nothing), shape ``(jobs,)``; ``entries`` are rows of pass, job
    and begin; ``at`` says how many those are and which pass is under way. A pass notes a job once at most.
    """

    begin: IntArray
    entries: IntArray
    at: IntArray


def new_noted(jobs: int) -> Noted:
    """Nothing has been promised; ``jobs`` is 0 where nobody records."""
    entries = np.empty((ENOUGH + jobs if jobs else 0, 3), np.int64)
    return Noted(np.full(jobs, GONE, np.int64), entries, np.zeros(2, np.int64))


@inlined
def note(noted: Noted, job: int, begin: int, now: int) -> None:
    """A job's reservation is made or moved; one for now is none: the job starts."""
    if len(noted.begin) == 0:
        return
    if begin <= now:
        begin = GONE
    if noted.begin[job] != begin:
        noted.begin[job] = begin
        k = noted.at[COUNT]
        noted.entries[k, 0], noted.entries[k, 1], noted.entries[k, 2] = noted.at[ROW], job, begin
        noted.at[COUNT] = k + 1
