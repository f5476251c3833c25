"""The heartbeat of a worker process: its stage and deadline in memory shared with the process that watches it."""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from time import monotonic

IDLE, WARMING, RUNNING, JUDGING, DONE = range(5)
"""Stages of a worker."""

WORDS = {IDLE: "starting", WARMING: "warm-up", RUNNING: "the run", JUDGING: "judging", DONE: "sending the row"}

_FIELD = struct.Struct("d")
_NAMES = ("stage", "since", "deadline", "processor")


class WorkerStatus:
    """The status of a worker in shared memory, which survives the worker and never blocks it.

    Parameters
    ----------
    path : the file behind it.
    new : whether to begin it, with zeros.

    Attributes
    ----------
    stage : where it is, see above.
    since : when that stage began, by ``time.monotonic`` [s].
    deadline : when the worker has to be ended, by the same clock; 0 for never [s].
    processor : CPU time of the worker and its children in that stage at which they have to be ended; 0 for never [s].
    """

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

    def close(self) -> None:
        """Unmap the memory."""
        self._memory.close()

    def _set(self, name: str, value: float) -> None:
        _FIELD.pack_into(self._memory, _NAMES.index(name) * _FIELD.size, value)
