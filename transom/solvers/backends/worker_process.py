"""Worker processes for libraries that cannot be interrupted: started once, reused, killed when time is over."""

from __future__ import annotations

import atexit
import math
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from transom._system.signals import sigint_masked
from transom.solvers.backends.native import defer_cleanup

READY = b"r"
"""What a worker writes once it can be asked."""


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
        self.read(len(READY))

    def write(self, question: bytes, deadline: float = math.inf) -> bool:
        """Send a question; False if the deadline (of ``perf_counter``) came first: the worker is then killed.

        Raises
        ------
        RuntimeError : the worker died.
        """
        assert self._process.stdin is not None
        pipe = self._process.stdin.fileno()
        os.set_blocking(pipe, False)  # a worker that is still busy reading must not hold us beyond the deadline
        try:
            view = memoryview(question)
            while view:
                if not select.select([], [pipe], [], _wait(deadline))[1]:
                    self.kill()
                    return False
                view = view[os.write(pipe, view) :]
        except BrokenPipeError as error:
            raise RuntimeError("the worker process died") from error
        return True

    def read(self, size: int, deadline: float = math.inf) -> bytes:
        """So many bytes of the answer; empty if the deadline came first: the worker is then killed.

        Raises
        ------
        RuntimeError : the worker died.
        """
        assert self._process.stdout is not None
        parts = b""
        while len(parts) < size:
            if not select.select([self._process.stdout], [], [], _wait(deadline))[0]:
                self.kill()
                return b""
            part = self._process.stdout.read(size - len(parts))
            if not part:
                self.alive = False
                raise RuntimeError(f"the worker process ended with status {self._process.wait()}")
            parts += part
        return parts

    def running(self) -> bool:
        """Whether the process is still there; it may have been killed while nobody asked it anything."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process; it is waited for later, since the system may take its time to clear up a large one."""
        self.alive = False
        self._process.kill()
        defer_cleanup(self._process.communicate)


def _wait(deadline: float) -> float | None:
    return None if deadline == math.inf else max(0.0, deadline - perf_counter())


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
