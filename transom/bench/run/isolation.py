"""Isolated execution: each run in a process of its own, which may crash or hang."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import msgspec

from transom.bench.plan.failures import failed
from transom.bench.plan.task import Row, Task
from transom.bench.run.engine import EngineError
from transom.bench.run.heartbeat import DONE, IDLE, WorkerStatus
from transom.bench.run.recovery import recovered
from transom.bench.run.threads import thread_variables
from transom.bench.run.watch import Watch, last_words
from transom.bench.run.worker import FILES, OUTPUT, ROW, SCRATCH, STATUS, TASK
from transom.class_files import trusted_files

PREPARING = 600.0
"""CPU time that a warm-up may take, which compiles, by default [s]: a busy machine gives each process little of it."""

TICK = 0.05
"""How often a worker is looked at [s]."""

_DYING = 1.0  # how long what was killed may take to be gone: the kernel may be in the middle of its input or output [s]
_TRIES = 3  # to start a process
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); "
    "from transom.bench.run.worker import main; main(sys.argv[2], float(sys.argv[3]))"
)

_ROW = msgspec.json.Decoder(Row)


class Closed(Exception):
    """Runs were stopped while this one was going on."""


def run_isolated(
    task: Task, workers: int = 1, preparing: float = PREPARING, stopped: Callable[[], bool] = lambda: False
) -> Row:
    """Execute a task in a fresh process and end that with all that it started; there is a row for every outcome.

    Limits are watched here, since the clock of a run starts after its warm-up.

    Parameters
    ----------
    task : the run.
    workers : how many runs go on side by side, for the row.
    preparing : CPU time that a warm-up may take, with all its processes, and judging an answer [s].
    stopped : ends the run at once when it says so.

    Raises
    ------
    EngineError : no process can be started, or there is no room for temporary files.
    Closed : ``stopped`` said so.
    """
    for _ in range(_TRIES):
        begun = perf_counter()
        folder = _new_folder(task)
        try:
            row, last = _run(task, folder, preparing, stopped)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if row is not None:
            overhead = row.overhead
            if row.outcome != "crash" and row.wall is not None:
                overhead = perf_counter() - begun - row.wall - (row.cold or 0.0)
            return msgspec.structs.replace(row, workers=workers, overhead=overhead)
    raise EngineError(f"no worker process starts: {last}")


def _new_folder(task: Task) -> Path:
    """A folder with what a run needs."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="transom-bench-"))
        try:
            (folder / SCRATCH).mkdir()
            (folder / TASK).write_bytes(msgspec.json.encode(task))
            (folder / FILES).write_bytes(msgspec.json.encode(trusted_files()))
            WorkerStatus(folder / STATUS, new=True).close()
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    except OSError as error:
        raise EngineError(f"{tempfile.gettempdir()}: no place for what workers need: {error.strerror}") from None
    return folder


def _run(task: Task, folder: Path, preparing: float, stopped: Callable[[], bool]) -> tuple[Row | None, str]:
    """The row of a run, or None and why not where its process did not come so far as to begin it."""
    import psutil

    status = WorkerStatus(folder / STATUS)
    status.begin(IDLE, processor=preparing)
    process = _started(task, folder, preparing)
    watch = Watch(task, status, psutil.Process(process.pid), folder / OUTPUT)
    try:
        while process.poll() is None and int(status.stage) != DONE and watch.well():
            if stopped():
                raise Closed
            sleep(TICK)
    finally:
        end_group(process.pid, watch.children)
        process.wait()
    try:
        row = _ROW.decode((folder / ROW).read_bytes())
    except OSError:  # it has come to no end of its own
        if watch.verdict is None and int(status.stage) == IDLE:
            return None, last_words(folder / OUTPUT) or f"it ended with status {process.returncode}"
        row = failed(task, *(watch.verdict or watch.death(process.returncode)))
    row = recovered(row, task, folder)
    return msgspec.structs.replace(row, memory=max(row.memory or 0.0, watch.most) or None), ""


def _started(task: Task, folder: Path, preparing: float) -> subprocess.Popen[bytes]:
    """A process for a run: a group of its own, which Ctrl-C at the terminal does not reach; output goes to a file."""
    # Modules are looked for where they are here, also by processes that a solver starts from its own folder.
    places = json.dumps([os.path.abspath(place) for place in sys.path])
    environment = os.environ | thread_variables(task.threads)
    if given := os.environ.get("PYTHONPATH"):
        environment["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, given.split(os.pathsep)))
    with (folder / OUTPUT).open("ab") as output:
        try:
            return subprocess.Popen(
                [sys.executable, "-c", _START, places, str(folder), str(preparing)],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                cwd=folder / SCRATCH, env=environment, process_group=0,
            )  # fmt: skip
        except OSError as error:
            raise EngineError(f"no worker process starts: {sys.executable}: {error.strerror}") from None


def end_group(pid: int, seen: Iterable[Any] = ()) -> None:
    """Kill a process, its process group and whatever else it started; what they held is free when this returns.

    Parameters
    ----------
    pid : of a process that nobody has waited for, so that the number is still its own.
    seen : further processes that it started, which may have left it.
    """
    import psutil

    killed = list(seen)
    with contextlib.suppress(psutil.Error):
        killed += psutil.Process(pid).children(recursive=True)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for each in killed:
        with contextlib.suppress(psutil.Error):
            each.kill()
    psutil.wait_procs(killed, timeout=_DYING)
