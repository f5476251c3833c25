"""The heartbeat of a worker process: its stage and deadline in memory shared with the process that watches it."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from time import monotonic

IDLE, TAKEN, WARMING, RUNNING, JUDGING, DONE, MODIFIED = range(7)
"""Stages of a worker; in the last one the run is over too, but left it so that it should not be used again."""

WORDS = {
    IDLE: "taking the run",
    TAKEN: "before the run",
    WARMING: "warm-up",
    RUNNING: "the run",
    JUDGING: "judging",
    DONE: "sending the row",
    MODIFIED: "sending the row",
}

_FIELD = struct.Struct("d")
_NAMES = ("pid", "stage", "since", "deadline", "processor")


class WorkerStatus:
    """The status of a worker in shared memory, which survives the worker and never blocks it.

    Parameters
    ----------
    path : the file behind it.
    new : whether to begin it, with zeros.

    Attributes
    ----------
    pid : the worker's process; 0 before there is one.
    stage : where it is, see above.
    since : when that stage began, by ``time.monotonic`` [s].
    deadline : when the worker has to be ended, by the same clock; 0 for never [s].
    processor : CPU time of the worker and its children in that stage at which they have to be ended; 0 for never [s].
    """

    pid: float
    stage: float
    since: float
    deadline: float
    processor: float

    def __init__(self, path: Path, new: bool = False) -> None:
        if new:
            path.write_bytes(bytes(_FIELD.size * len(_NAMES)))
        with path.open("r+b") as file:
            self._memory = mmap.mmap(file.fileno(), _FIELD.size * len(_NAMES))

    def __getattr__(self, name: str) -> float:
        if name not in _NAMES:
            raise AttributeError(name)
        return float(_FIELD.unpack_from(self._memory, _NAMES.index(name) * _FIELD.size)[0])

    def begin(self, stage: int, longest: float = 0.0, processor: float = 0.0) -> None:
        """Say that a stage begins, and how long it may take by the clock and in CPU time; 0 for no limit [s]."""
        # Each number is written at once, and the limits first: whoever reads in between gets a later one.
        now = monotonic()
        self._set("deadline", now + longest if longest else 0.0)
        self._set("processor", processor)
        self._set("since", now)
        self._set("stage", stage)

    def set_pid(self, pid: int) -> None:
        """Set the process id."""
        self._set("pid", pid)

    def close(self) -> None:
        """Unmap the memory."""
        self._memory.close()

    def _set(self, name: str, value: float) -> None:
        _FIELD.pack_into(self._memory, _NAMES.index(name) * _FIELD.size, value)
