"""What runs in a worker process of the bench. Loads nothing before the threads of libraries are fixed."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from transom._system.signals import HELD
from transom.bench.plan.task import Task
from transom.bench.run.heartbeat import DONE, JUDGING, MODIFIED, RUNNING, TAKEN, WARMING, WorkerStatus
from transom.bench.run.side_effects import condition, was_modified
from transom.bench.run.threads import announce_threads

if TYPE_CHECKING:
    from transom.bench.run.incumbents import Incumbents

STATUS, OUTPUT = "status", "output"
"""Files in a worker's folder."""
OWN = "process-"
"""What folders in it begin with that belong to one process each: a worker that died may be followed by another."""

MARGIN = 5.0
"""How long past its deadline a worker lives on where nobody ends it, because the bench itself was stopped [s]."""

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # of prctl(2), which Python has no names for

_STAGES = {"warm-up": WARMING, "run": RUNNING, "judging": JUDGING}
_status: WorkerStatus
_incumbents: Incumbents
_scratch: Path
_preparing: float


def own_folder(folder: Path, pid: int) -> Path:
    """The scratch folder of a worker process."""
    return folder / f"{OWN}{pid}"


def begin(folder: str, preparing: float) -> None:
    """Make this process a worker: its own group, its output in a file, its threads fixed.

    Parameters
    ----------
    folder : of this worker alone.
    preparing : CPU time that a warm-up, or judging an answer, may take [s].
    """
    global _status, _incumbents, _scratch, _preparing
    os.setpgid(0, 0)  # so that its children can be ended with it, and Ctrl-C at the terminal goes to the bench alone
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)  # a solver may want to send it to a child of its own
    _die_with_parent()
    _adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    output = os.open(Path(folder, OUTPUT), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    faulthandler.enable(2)
    announce_threads(1)
    _preparing = preparing
    from transom.bench.run.incumbents import Incumbents

    own = own_folder(Path(folder), os.getpid())
    own.mkdir()
    _incumbents = Incumbents(own)
    _scratch = own / "scratch"
    _move_to(_scratch)
    _status = WorkerStatus(Path(folder, STATUS))
    _status.set_pid(os.getpid())


def _move_to(scratch: Path) -> None:
    """Work in a folder of our own, where files that a solver writes without saying where do no harm."""
    # Modules are looked for where they were before, also by processes that a solver starts.
    sys.path[:] = [os.path.abspath(place) for place in sys.path]
    if places := os.environ.get("PYTHONPATH"):
        os.environ["PYTHONPATH"] = os.pathsep.join(map(os.path.abspath, places.split(os.pathsep)))
    scratch.mkdir()
    os.chdir(scratch)


def _clear(scratch: Path) -> None:
    """Remove what a run left in its folder; what cannot be removed goes with the folder of the worker."""
    with contextlib.suppress(OSError):
        for left in list(os.scandir(scratch)):
            if left.is_dir(follow_symlinks=False):
                shutil.rmtree(left.path, ignore_errors=True)
            else:
                os.unlink(left.path)


def _die_with_parent() -> None:
    """Have the kernel end this process when the bench is killed, so that no run of it disturbs the next bench.

    Strictly, when the thread ends that started this process. That thread keeps the worker; where it does not any more,
    the worker is idle, and one that is gone is replaced.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)


def _adopt_orphans() -> None:
    """Have processes that a solver cast off stay below this one, so that they are counted and ended with it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1)


def ready() -> None:
    """Load what every run needs: whoever gets an answer knows that the worker is there, and warm."""
    from transom.bench.run.execution import get_ready

    get_ready()


def work(data: bytes) -> bytes:
    """Execute a task and return its row; both in JSON."""
    task = msgspec.json.decode(data, type=Task)
    os.ftruncate(1, 0)
    _incumbents.begin()
    _begin(TAKEN)
    worker = os.getpid()
    before = condition()

    def announce(stage: str) -> None:
        nonlocal before
        if os.getpid() != worker:
            os._exit(0)  # a copy of the worker that a solver made; one is enough
        if stage == "run":  # what loading a library changes is no fault of the run
            before = condition()
        _begin(_STAGES[stage], task.seconds if stage == "run" else 0.0)

    try:
        from transom.bench.run.execution import execute

        return execute(data, announce, _incumbents.watched)
    except BaseException as fault:  # such as KeyboardInterrupt, which cannot come from a terminal here
        from transom.bench.plan.failures import failed

        return msgspec.json.encode(failed(task, "error", f"{type(fault).__name__}: {fault}"))
    finally:
        if os.getpid() != worker:
            os._exit(0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        _clear(_scratch)
        _status.begin(MODIFIED if was_modified(before) else DONE, processor=_preparing)


def _begin(stage: int, longest: float = 0.0) -> None:
    """Begin a stage that may take so long by the clock [s]; without that, the CPU time of what is no run."""
    # The kernel ends this process even where compiled code spins for ever and nobody watches.
    signal.setitimer(signal.ITIMER_REAL, longest + MARGIN if longest else 0.0)
    signal.setitimer(signal.ITIMER_PROF, 0.0 if longest else _preparing + MARGIN)
    _status.begin(stage, longest, 0.0 if longest else _preparing)
