"""What runs in a worker process of the bench. Loads nothing before the threads of libraries are fixed."""

from __future__ import annotations

import ctypes
import faulthandler
import os
import resource
import signal
import sys
from pathlib import Path

import msgspec

from transom.bench.manners import condition, spoilt
from transom.bench.notice import DONE, JUDGING, RUNNING, SPOILT, TAKEN, WARMING, Notice
from transom.bench.task import Task
from transom.bench.threads import announce_threads
from transom.ctrl_c import HELD

NOTICE, OUTPUT = "notice", "output"
"""Files in a worker's folder."""

MARGIN = 5.0
"""How long past its deadline a worker lives on where nobody ends it, because the bench itself was stopped [s]."""

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # of prctl(2), which Python has no names for

_STAGES = {"warm-up": WARMING, "run": RUNNING, "judging": JUDGING}
_notice: Notice
_preparing: float


def begin(folder: str, preparing: float) -> None:
    """Make this process a worker: its own group, its output in a file, its threads fixed.

    Parameters
    ----------
    folder : of this worker alone.
    preparing : how long a warm-up, or judging an answer, may take [s].
    """
    global _notice, _preparing
    os.setpgid(0, 0)  # so that its children can be ended with it, and Ctrl-C at the terminal goes to the bench alone
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)  # a solver may want to send it to a child of its own
    _die_with_parent()
    _adopt_orphans()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    output = os.open(Path(folder, OUTPUT), os.O_CREAT | os.O_WRONLY | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    faulthandler.enable(2)
    announce_threads(1)
    _preparing = preparing
    _notice = Notice(Path(folder, NOTICE))
    _notice.sign(os.getpid())


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
    from transom.bench.execution import get_ready

    get_ready()


def work(data: bytes) -> bytes:
    """Carry out a task, and give its row; both in JSON."""
    task = msgspec.json.decode(data, type=Task)
    longest = {"warm-up": _preparing, "run": task.seconds, "judging": _preparing}
    if task.what == "replay":  # it prepares itself in the same stage
        longest["run"] += _preparing
    os.ftruncate(1, 0)
    _begin(TAKEN, _preparing)
    worker = os.getpid()
    before = condition()

    def announce(stage: str) -> None:
        nonlocal before
        if os.getpid() != worker:
            os._exit(0)  # a copy of the worker that a solver made; one is enough
        if stage == "run":  # what loading a library changes is no fault of the run
            before = condition()
        _begin(_STAGES[stage], longest[stage])

    try:
        from transom.bench.execution import execute

        return execute(data, announce)
    except BaseException as fault:  # such as KeyboardInterrupt, which cannot come from a terminal here
        from transom.bench.failures import failed

        return msgspec.json.encode(failed(task, "error", f"{type(fault).__name__}: {fault}"))
    finally:
        if os.getpid() != worker:
            os._exit(0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        _notice.begin(SPOILT if spoilt(before) else DONE, _preparing)


def _begin(stage: int, longest: float) -> None:
    # The kernel ends this process even where compiled code spins for ever and nobody watches.
    signal.setitimer(signal.ITIMER_REAL, longest + MARGIN)
    _notice.begin(stage, longest)
