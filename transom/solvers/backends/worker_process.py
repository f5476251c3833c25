"""Worker processes for libraries that cannot be interrupted: started once, reused, killed when time is over.

All that has to do with their time is here. On a budget of the wall clock they have until its end. On one of another
clock, a busy machine or one that stands still for a while costs them nothing: what they use of the CPU is charged to
the clock of the budget, which knows nothing of living children, and they are killed at its end; only one that hardly
uses the CPU for many times as long is given up.
"""

from __future__ import annotations

import atexit
import os
import select
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter

from transom._system.cpu_clock import charge, clock_of
from transom._system.signals import sigint_masked
from transom.solvers.backends.native import defer_cleanup
from transom.stop import Budget

READY = b"r"
"""What a worker writes once it can be asked."""

_PATIENCE, _AT_LEAST = 10.0, 5.0  # wall-clock time after which a worker hangs: in what the budget has left, and [s]
_AWAKE = 0.01  # unless it used so much of it
_SHORTEST = 0.001  # between two looks at how much it used [s]
_LONGEST = 1e6  # what waiting can be limited to [s]


class _Term:
    """How long a worker may go on.

    Parameters
    ----------
    budget : it ends with this one; what the worker uses of the CPU is charged to it, if it is not of the wall clock.
    cpu : the clock of the worker.
    """

    def __init__(self, budget: Budget, cpu: Callable[[], float]) -> None:
        self._budget, self._cpu, self._paid = budget, cpu, cpu()
        self._patience = _PATIENCE * budget.seconds_left() + _AT_LEAST
        self._hangs, self._used = perf_counter() + self._patience, 0.0

    def left(self, grace: float) -> float:
        """How long nobody needs to look [s], 0 where the time is over by more than a grace [s]."""
        self.pay()
        seconds = self._budget.stop.seconds
        # What is left is never negative: without this the grace would begin anew at every look.
        over = 0.0 if seconds is None else max(0.0, self._budget.seconds() - seconds)
        left = self._budget.seconds_left() + grace - over
        if left <= 0 or self._budget.wall:
            return max(0.0, left)
        if perf_counter() >= self._hangs and self._used >= _AWAKE * self._patience:
            self._hangs, self._used = perf_counter() + self._patience, 0.0
        # It uses one core at most, hence cannot be over before.
        return max(0.0, min(max(left, _SHORTEST), self._hangs - perf_counter()))

    def pay(self) -> None:
        """Charge what the worker used since it was last looked at."""
        if not self._budget.wall:
            with suppress(OSError):  # it is gone
                now = self._cpu()
                charge(now - self._paid)
                self._used += now - self._paid
                self._paid = now


class WorkerProcess:
    """A running worker, asked through its pipes.

    Parameters
    ----------
    script : the file it runs, outside the package; it answers until its standard input ends.
    arguments : the script's arguments.

    Raises
    ------
    RuntimeError : it died before it was ready.
    """

    def __init__(self, script: Path, arguments: tuple[str, ...]) -> None:
        self.alive = True
        # -P: the script's folder must not shadow installed modules.
        command = [sys.executable, "-P", str(script), *arguments]
        with sigint_masked():  # else one that is about to start prints where it was
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._term: _Term | None = None
        try:
            self._cpu = clock_of(self._process.pid)
            self._receive(len(READY))
        except BaseException:  # such as an interrupt, after which nobody would know of it
            self.kill()
            raise

    def ask(self, question: bytes, size: int, budget: Budget, grace: float = 0.0) -> bytes:
        """Send a question, and :meth:`read` so many bytes of the answer.

        Raises
        ------
        RuntimeError : the worker died.
        """
        self._term = _Term(budget, self._cpu)
        return self.read(size, grace) if self._send(question) else b""

    def read(self, size: int, grace: float = 0.0) -> bytes:
        """So many more bytes of the answer; empty if the budget was over by more than a grace [s]: the worker is then
        killed.

        Raises
        ------
        RuntimeError : the worker died.
        """
        answer = self._receive(size, grace)
        if self._term is not None:
            self._term.pay()
        return answer

    def _send(self, question: bytes) -> bool:
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)  # a worker that is still busy reading must not hold us beyond the end
        try:
            view = memoryview(question)
            while view:
                if not self._wait(pipe, select.POLLOUT, 0.0):
                    return False
                view = view[os.write(pipe, view) :]
        except BrokenPipeError as error:
            raise RuntimeError("the worker process died") from error
        return True

    def _receive(self, size: int, grace: float = 0.0) -> bytes:
        assert self._process.stdout is not None
        parts = b""
        while len(parts) < size:
            if not self._wait(self._process.stdout.fileno(), select.POLLIN, grace):
                return b""
            part = self._process.stdout.read(size - len(parts))
            if not part:
                self.alive = False
                raise RuntimeError(f"the worker process ended with status {self._process.wait()}")
            parts += part
        return parts

    def _wait(self, pipe: int, what: int, grace: float) -> bool:
        """Wait for a pipe; False if the time was over first: the worker is then killed."""
        ready = select.poll()  # not select.select, which takes no files beyond 1024
        ready.register(pipe, what)
        while True:
            left = None if self._term is None else self._term.left(grace)
            if ready.poll(None if left is None or left > _LONGEST else 1000 * left):
                return True
            if not left:
                self.kill()
                return False

    def running(self) -> bool:
        """Whether the process is still there; it may have been killed while nobody asked it anything."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process; it is waited for later, since the system may take its time to clear up a large one."""
        self.alive = False
        self._process.kill()
        defer_cleanup(self._process.communicate)


_Key = tuple[int, Path, tuple[str, ...]]
_idle: list[tuple[_Key, WorkerProcess]] = []  # with the process they belong to: a fork must not share them


@contextmanager
def borrowed_worker(script: Path, *arguments: str) -> Iterator[WorkerProcess]:
    """A worker that runs this script with these arguments: an idle one if there is one, which it becomes again.

    It is killed where the block ends with an exception, such as an interrupt.
    """
    key = (os.getpid(), script, arguments)
    found = None
    for entry in list(_idle):
        if entry[0] == key:
            try:
                _idle.remove(entry)
            except ValueError:  # another thread was quicker
                continue
            if entry[1].running():
                found = entry[1]
                break
    process = found or WorkerProcess(script, arguments)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    if process.alive:
        _idle.append((key, process))


@atexit.register
def _end() -> None:
    for (owner, _, _), process in _idle:
        if owner == os.getpid():
            process.kill()
