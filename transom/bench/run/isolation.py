"""Isolated execution: one run at a time in a worker process that may crash or hang."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import Iterable
from concurrent.futures import Future, wait
from pathlib import Path
from threading import Lock
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from transom._system.signals import sigint_masked_for_pools
from transom.bench.plan.failures import failed
from transom.bench.plan.task import Row, Task
from transom.bench.run.engine import EngineError
from transom.bench.run.heartbeat import DONE, IDLE, MODIFIED, WorkerStatus
from transom.bench.run.recovery import recovered
from transom.bench.run.watch import Watch, last_words, resident
from transom.bench.run.worker import OUTPUT, OWN, STATUS, begin, own_folder, ready, work

if TYPE_CHECKING:
    from pebble import ProcessPool

PREPARING = 600.0
"""CPU time that a warm-up may take, which compiles, by default [s]: a busy machine gives each process little of it."""

TICK = 0.05
"""How often a worker is looked at [s]."""

_START = 600.0  # how long a process may take to start [s]
_DYING = 1.0  # how long what was killed may take to be gone: the kernel may be in the middle of its input or output [s]
_TRIES = 3  # to start a worker, and to hand one a task before it dies of something else

_ROW = msgspec.json.Decoder(Row)


class Closed(Exception):
    """The isolation was closed while a run was going on."""


class Isolation:
    """Executes tasks one after another in a worker process, which is reused as long as it has no side effects.

    The worker is the only one of a pool of the library ``pebble``: so it is known which process a task is in, and a
    process that is killed at any moment, even while it holds the pool's lock, takes nobody with it. Limits are watched
    here and not by the pool, since the clock of a run starts after its warm-up.

    Parameters
    ----------
    workers : how many runs go on side by side, for the rows.
    preparing : CPU time that a warm-up may take, with all its processes, and judging an answer [s].

    Raises
    ------
    EngineError : there is no room for temporary files.
    """

    def __init__(self, workers: int = 1, preparing: float = PREPARING) -> None:
        self._workers = workers
        self._preparing = preparing
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="transom-bench-"))
            try:
                self._status = WorkerStatus(self._folder / STATUS, new=True)
            except OSError:
                shutil.rmtree(self._folder, ignore_errors=True)
                raise
        except OSError as error:
            raise EngineError(f"{tempfile.gettempdir()}: no place for what workers need: {error.strerror}") from None
        self._pool: ProcessPool | None = None
        self._process: Any = None
        self._children: set[Any] = set()  # of the worker, as far as they were seen: they may outlive it
        self._lean = 0.0  # resident memory of the worker after its first run [MiB]
        self._closed = False
        self._lock = Lock()  # closing comes from another thread

    def run_one(self, task: Task) -> Row:
        """Execute a task; there is a row for every outcome.

        Raises
        ------
        EngineError : no worker can be started.
        Closed : :meth:`stop` or :meth:`close` was called meanwhile.
        """
        from concurrent.futures.process import BrokenProcessPool

        from pebble import ProcessExpired

        data = msgspec.json.encode(task)
        words = "nothing is known of them"
        for _ in range(_TRIES):
            pool, process = self._worker(task.memory)
            self._status.begin(IDLE, processor=self._preparing)
            sent = perf_counter()
            try:
                future = pool.schedule(work, (data,))
            except RuntimeError:  # it died since it was last seen
                self._end()
                continue
            watch = Watch(task, self._status, process, self._folder / OUTPUT, self._children)
            while not wait([future], timeout=TICK).done and watch.well():
                if self._closed:
                    raise Closed
            if watch.verdict is not None:
                self._end()
                return self._completed(failed(task, *watch.verdict), watch)
            fault = future.exception()
            if fault is None:
                row = _ROW.decode(future.result())
                spent = perf_counter() - sent
                overhead = spent - (row.wall or 0.0) - (row.cold or 0.0)
                if int(self._status.stage) == MODIFIED:
                    self._end()
                return self._completed(msgspec.structs.replace(row, overhead=overhead), watch)
            if not isinstance(fault, (ProcessExpired, BrokenProcessPool)):  # nothing died: no worker got it
                return self._completed(failed(task, "error", f"{type(fault).__name__}: {fault}"), watch)
            stage = int(self._status.stage)
            verdict = watch.death(getattr(fault, "exitcode", None), fault)
            self._end()
            if self._closed:
                raise Closed
            if stage not in (IDLE, DONE, MODIFIED):  # else it was not the run that it died of
                return self._completed(failed(task, *verdict), watch)
            words = verdict[1]
        return self._completed(failed(task, "crash", f"{_TRIES} worker processes died, last: {words}"), None)

    def stop(self) -> None:
        """Have :meth:`run_one`, in whatever thread it is, end at once."""
        self._closed = True

    def close(self) -> None:
        """End the worker, in the middle of a run if need be."""
        self.stop()
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _completed(self, row: Row, watch: Watch | None) -> Row:
        memory = max(row.memory or 0.0, watch.most if watch else 0.0) or None
        if watch is not None and int(self._status.stage) != IDLE:  # else what is there is of an earlier run
            row = recovered(row, watch.task, own_folder(self._folder, watch.process.pid))
        return msgspec.structs.replace(row, workers=self._workers, memory=memory)

    def _worker(self, memory: int) -> tuple[ProcessPool, Any]:
        """The worker and its pool; a new one where it is gone, or where earlier runs left too little memory [MiB]."""
        pool, process = self._pool, self._process
        if pool is not None and process is not None:
            taken = resident(process)
            self._lean = self._lean or taken
            if pool.active and process.is_running() and taken <= max(memory / 2, 2 * self._lean):
                return pool, process
            self._end()
        import psutil
        from pebble import ProcessPool

        self._lean = 0.0
        last: BaseException | None = None
        for _ in range(_TRIES):
            self._status.set_pid(0)
            with self._lock:
                if self._closed:
                    raise Closed
                _allow_children()
                for left in self._folder.glob(f"{OWN}*"):
                    shutil.rmtree(left, ignore_errors=True)
                known = (str(self._folder), self._preparing)
                pool = self._pool = ProcessPool(1, initializer=begin, initargs=known, context=_context())
            try:
                with sigint_masked_for_pools():
                    started = pool.schedule(ready)
                self._await(started)
                process = self._process = psutil.Process(int(self._status.pid))
                return pool, process
            except Exception as fault:
                last = fault
                self._end()
                if self._closed:
                    raise Closed from None
        raise EngineError(f"no worker process starts: {last_words(self._folder / OUTPUT) or last}")

    def _await(self, started: Future[None]) -> None:
        """Wait until a worker is there; not for one that was stopped meanwhile, of which nothing is ever heard."""
        latest = monotonic() + _START
        while not wait([started], timeout=TICK).done:
            if self._closed:
                raise Closed
            if monotonic() > latest:
                raise TimeoutError(f"no sign of it after {_START:.0f} s")
        started.result()

    def _end(self) -> None:
        """End the worker with all its children, and its pool."""
        with self._lock:
            pool, self._pool = self._pool, None
            process, self._process = self._process, None
            if pool is None:
                return
            pool.stop()
            _end_group(process, int(self._status.pid))
            pool.join()
            _end_group(process, int(self._status.pid))
            children, self._children = self._children, set()
            _kill(children)


def _end_group(process: Any, pid: int) -> None:
    """Kill a worker, its process group and whatever else it started; the pool may have begun a new one by now."""
    for each in {process.pid if process is not None else 0, pid} - {0}:
        end_group(each)


def end_group(pid: int) -> None:
    """Kill a process, its process group and whatever else it started."""
    import psutil

    try:
        others = psutil.Process(pid).children(recursive=True)
    except psutil.Error:
        others = []
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    _kill(others)


def _kill(processes: Iterable[Any]) -> None:
    """Kill processes that are still the same ones; what they held is free when this returns."""
    import psutil

    killed = list(processes)
    for each in killed:
        with contextlib.suppress(psutil.Error):
            each.kill()
    psutil.wait_procs(killed, timeout=_DYING)


def _context() -> Any:
    import multiprocessing

    return multiprocessing.get_context("spawn")


def _allow_children() -> None:
    """Let this process have children of its own, also where it is a daemonic worker of another pool.

    The rule against that is there so that none is left behind when a daemon is ended. Ours end by themselves: with the
    thread that started them, where the kernel can do that; else an idle one when its pipe closes, a busy one by the
    kernel's timer.
    """
    import multiprocessing

    multiprocessing.current_process()._config.pop("daemon", None)  # type: ignore[attr-defined]
