"""Every promise of a replay, by pass: which jobs were promised another start than before, or none any more.

A promise stands from the pass that makes it to the next one that names the job again. Passes log changes alone, for a
pass over thousands of reservations mostly leaves them as they are; :func:`promises_in_force` puts them together.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from transom._system.trusted import make_folder
from transom.models.arrays import IntArray
from transom.simulation.core.decision import Reservation
from transom.simulation.core.noted_promises import COUNT, GONE, Noted

PIECE = 1 << 20
"""Promises that are read at once."""


class Changes(NamedTuple):
    """What consecutive passes promised.

    Parameters
    ----------
    first : row of the first of these passes among the decisions.
    offsets : the changes of pass ``first + k`` are ``offsets[k]`` to ``offsets[k + 1] - 1``, shape ``(passes + 1,)``.
    jobs : ids, no job twice in a pass.
    starts : what each was promised [s], -1 where it holds no promise any more: it starts in this pass, or the promise
        was withdrawn.
    """

    first: int
    offsets: IntArray
    jobs: IntArray
    starts: IntArray


def promises_in_force(changes: Iterable[Changes], row: int) -> dict[int, int]:
    """All promises that stand after a pass.

    Parameters
    ----------
    changes : of a replay from its first pass on, such as :func:`~transom.simulation.output.recording.read_promises`
        gives.
    row : the pass, from 0: its row among the decisions.

    Returns
    -------
    The promised start [s] by job id, in the order in which jobs were first promised one.
    """
    held: dict[int, int] = {}
    for each in changes:
        if each.first > row:
            break
        end = int(each.offsets[min(row - each.first + 1, len(each.offsets) - 1)])
        for job, start in zip(each.jobs[:end].tolist(), each.starts[:end].tolist(), strict=True):
            if start == GONE:
                held.pop(job, None)
            else:
                held[job] = start
    return held


class PromiseLog:
    """Takes down the promises of a replay, in a file without a name: memory does not grow with their number.

    Parameters
    ----------
    folder : where the file is, made if need be; by default where temporary files are. It goes with the log.
    """

    def __init__(self, folder: Path | None = None) -> None:
        if folder is not None:
            make_folder(folder)
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (goes with the log)
        self._rows: list[IntArray] = []
        self._counts: list[IntArray] = []
        self._held: dict[int, int] = {}
        self._passes = 0

    def __len__(self) -> int:
        """How many changes there are."""
        return sum(int(counts.sum()) for counts in self._counts)

    @property
    def per_pass(self) -> IntArray:
        """The number of changes of each pass, shape ``(passes,)``."""
        counts = np.zeros(self._passes, np.int64)
        for rows, number in zip(self._rows, self._counts, strict=True):
            counts[rows] = number
        return counts

    def add(self, rows: IntArray, jobs: IntArray, starts: IntArray) -> None:
        """Take down changes of passes after those before; ``rows`` ascend."""
        if len(rows) == 0:
            return
        rows, counts = np.unique(rows, return_counts=True)
        self._rows.append(rows)
        self._counts.append(counts)
        self._file.write(np.column_stack((jobs, starts)).astype(np.int64).tobytes())

    def take(self, noted: Noted, ids: IntArray) -> None:
        """Take down what compiled passes have noted, and empty it."""
        rows, jobs, starts = noted.entries[: noted.at[COUNT]].T
        self.add(rows, ids[jobs], starts)
        noted.at[COUNT] = 0

    def add_pass(self, row: int, reserve: Sequence[Reservation]) -> None:
        """Take down a pass after which these promises stand, and no others."""
        standing: dict[int, int] = {}
        for each in reserve:
            standing.setdefault(each.job, each.start)
        changed = {job: GONE for job in self._held if job not in standing}
        changed |= {job: start for job, start in standing.items() if self._held.get(job) != start}
        self._held = standing
        pairs = np.array(list(changed.items()), np.int64).reshape(-1, 2)
        self.add(np.full(len(pairs), row), *pairs.T)

    def finish(self, decisions: Mapping[str, NDArray[Any]]) -> None:
        """The replay is over; where nothing was taken down, no pass held more promises than its row states."""
        starts = decisions["reserved_start"]
        jobs = np.where(starts < 0, GONE, decisions["reserved_job"])  # who is first, but promised nothing
        self._passes = len(jobs)
        if self._rows or not len(jobs):
            return
        before, was = np.append(-1, jobs[:-1]), np.append(-1, starts[:-1])
        lost, made = (before != jobs) & (before >= 0), ((before != jobs) | (was != starts)) & (jobs >= 0)
        order = np.argsort(np.append(np.flatnonzero(lost), np.flatnonzero(made)), kind="stable")
        rows, who, when = (
            np.append(gone, new)[order]
            for gone, new in (
                (np.flatnonzero(lost), np.flatnonzero(made)),
                (before[lost], jobs[made]),
                (np.full(int(lost.sum()), GONE), starts[made]),
            )
        )
        self.add(rows, who, when)

    def pieces(self) -> Iterator[Changes]:
        """All changes, some passes at a time."""
        counts = self.per_pass
        self._file.seek(0)
        for begin, end in pieces_of(counts, PIECE):
            offsets = np.append(0, np.cumsum(counts[begin:end]))
            pairs = np.frombuffer(self._file.read(16 * int(offsets[-1])), np.int64).reshape(-1, 2)
            yield Changes(begin, offsets, pairs[:, 0], pairs[:, 1])


def pieces_of(counts: IntArray, limit: int) -> Iterator[tuple[int, int]]:
    """Consecutive rows that hold at most ``limit`` together, or one that holds more."""
    until = np.cumsum(counts)
    begin = 0
    while begin < len(counts):
        done = int(until[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(until, done + limit, side="right")))
        yield begin, end
        begin = end
