"""Incumbents and bounds of a run, reported while it runs, so that they survive its process.

The worker writes into files of its folder, which stay when it is killed: steps of the curve into one that grows, the
best answer into two in turn, so that one of them is always whole. Handing over takes time of the run. What goes beyond
a small share of it waits, until the share has grown or a thread writes it; so the cost is bounded however fast
improvements come, and of a run that goes on for long nothing stays behind.
"""

from __future__ import annotations

import math
import os
import struct
from pathlib import Path
from threading import Event, Lock, Thread
from time import sleep, thread_time
from typing import Any, NamedTuple
from zlib import crc32

import msgspec
import numpy as np

from transom.models import ParetoFront
from transom.stop import Budget

FREE, SHARE = 1e-3, 0.02
"""CPU time that handing over may take of a run at once: so many seconds, and this share of its time so far."""

_PAUSE = 0.01  # until the thread writes what had to wait [s]
_STEP = struct.Struct("<3d")  # seconds, value, bound; nan for none
_HEAD = struct.Struct("<QQI")  # number of the answer, length of what follows, checksum of both
_CURVE, _ANSWERS = "curve", ("answer-0", "answer-1")
_KINDS = {"bool": np.bool_, "int64": np.int64}

Array = tuple[str, tuple[int, ...], bytes]
Step = tuple[float, float | None, float | None]


class Answer(msgspec.Struct, frozen=True, array_like=True):
    """The incumbent of a run.

    Parameters
    ----------
    seconds : when it came, on the clock of the run [s].
    value : what the run took it for.
    arrays : the solution: the array, of a front its values and selections; empty where there is none.
    infeasible : whether the run has proved that there is no solution.
    """

    seconds: float
    value: int | float | None
    arrays: tuple[Array, ...]
    infeasible: bool = False

    def solution(self) -> Any:
        """The solution; None without one."""
        found: list[Any] = [np.frombuffer(data, _KINDS[kind]).reshape(shape) for kind, shape, data in self.arrays]
        return None if not found else found[0] if len(found) == 1 else ParetoFront(*found)


class Handed(NamedTuple):
    """What a run has reported: its incumbent and its curve."""

    answer: Answer | None
    curve: tuple[Step, ...]


class Incumbents:
    """The side of the run.

    Parameters
    ----------
    folder : of this process alone, so that nothing is there of another one.
    """

    def __init__(self, folder: Path) -> None:
        flags = os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC
        self._curve = os.open(folder / _CURVE, flags | os.O_APPEND, 0o600)
        self._answers = [os.open(folder / name, flags, 0o600) for name in _ANSWERS]
        self._process = os.getpid()
        self._lock, self._late = Lock(), Event()
        self._latest: _Incumbent | None = None
        self._number = self._steps = 0  # of what was written of this run
        self._solution: Any = None
        self._infeasible = False
        self._spent = 0.0
        Thread(target=self._write_late, name="transom-incumbents", daemon=True).start()

    def report(self, budget: Budget) -> None:
        """Hand over what is new, now if the share of the time so far allows that."""
        if os.getpid() != self._process:
            return  # a copy of the worker that a solver made
        if self._latest is not None and budget.solution is self._latest.solution:
            found_at = self._latest.seconds
        else:
            found_at = budget.curve[-1][0] if budget.curve else 0.0
        curve = budget.curve
        latest = _Incumbent(budget.solution, budget.value, found_at, budget.infeasible, curve, len(curve))
        self._latest = latest
        if self._spent > FREE + SHARE * budget.seconds() or not self._lock.acquire(blocking=False):
            if not self._late.is_set():
                self._late.set()
            return
        try:
            self._write(latest)
        finally:
            self._lock.release()

    def _write_late(self) -> None:
        while self._late.wait():
            sleep(_PAUSE)
            self._late.clear()
            with self._lock:
                if self._latest is not None:
                    self._write(self._latest)

    def _write(self, latest: _Incumbent) -> None:
        begun = thread_time()
        if latest.solution is not self._solution or latest.infeasible != self._infeasible:
            answer = Answer(latest.seconds, _plain(latest.value), _arrays(latest.solution), latest.infeasible)
            data = msgspec.msgpack.encode(answer)
            self._number += 1
            head = (self._number, len(data))
            file = self._answers[self._number % 2]
            os.pwrite(file, _HEAD.pack(*head, _checksum(*head, data)) + data, 0)
            self._solution, self._infeasible = latest.solution, latest.infeasible
        if latest.steps > self._steps:
            new = (_STEP.pack(*map(_number, step)) for step in latest.curve[self._steps : latest.steps])
            os.write(self._curve, b"".join(new))
            self._steps = latest.steps
        self._spent += thread_time() - begun


class _Incumbent(NamedTuple):
    """What a budget knows at a moment: the best answer, when it came, and so many steps of the curve."""

    solution: Any
    value: float | None
    seconds: float
    infeasible: bool
    curve: list[Step]
    steps: int


def handed_over(folder: Path) -> Handed:
    """What the run that a worker does, or died of, has handed over."""
    found = [answer for answer in map(_read, (folder / name for name in _ANSWERS)) if answer is not None]
    answer = max(found, key=lambda each: each[0])[1] if found else None
    try:
        data = (folder / _CURVE).read_bytes()
    except OSError:
        data = b""
    steps = _STEP.iter_unpack(data[: len(data) - len(data) % _STEP.size])
    return Handed(answer, tuple((when, _some(value), _some(bound)) for when, value, bound in steps))


def _read(path: Path) -> tuple[int, Answer] | None:
    """An answer with its number; None where there is none, or it was not written whole."""
    try:
        data = path.read_bytes()
    except OSError:
        return None
    if len(data) < _HEAD.size:
        return None
    number, length, checksum = _HEAD.unpack_from(data)
    body = data[_HEAD.size : _HEAD.size + length]
    if len(body) < length or checksum != _checksum(number, length, body):
        return None
    return number, msgspec.msgpack.decode(body, type=Answer)


def _checksum(number: int, length: int, data: bytes) -> int:
    return crc32(data, crc32(b"%d %d" % (number, length)))


def _arrays(solution: Any) -> tuple[Array, ...]:
    """A solution as plain data; nothing of one that is neither an array nor a front."""
    parts = (solution.values, solution.selections) if isinstance(solution, ParetoFront) else (solution,)
    if any(not isinstance(each, np.ndarray) or each.dtype.name not in _KINDS for each in parts):
        return ()
    return tuple((each.dtype.name, each.shape, each.tobytes()) for each in parts)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _some(number: float) -> float | None:
    return None if math.isnan(number) else number
