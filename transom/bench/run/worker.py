"""The process of a run: what it is given, how it ends by itself, where its row goes."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import gc
import os
import resource
import signal
import sys
from pathlib import Path
from time import sleep

import msgspec

from transom._system.signals import HELD
from transom.bench.plan.failures import failed
from transom.bench.plan.task import Task
from transom.bench.run.execution import Stage, execute
from transom.bench.run.heartbeat import DONE, JUDGING, RUNNING, WARMING, WorkerStatus
from transom.bench.run.incumbents import Incumbents
from transom.class_files import trust_same

STATUS, OUTPUT, TASK, FILES, ROW, SCRATCH = "status", "output", "task.json", "files.json", "row.json", "scratch"
"""What is in the folder of a run; it works in the last one, where files that a solver writes do no harm."""

MARGIN = 5.0
"""How long past its deadline a process lives on where nobody ends it, because the bench itself was stopped [s]."""

_SET_DEATH_SIGNAL, _SET_SUBREAPER = 1, 36  # of prctl(2), which Python has no names for
_STAGES = {"warm-up": WARMING, "run": RUNNING, "judging": JUDGING}


def main(place: str, preparing: float) -> None:
    """Execute the task of a folder and leave its row there; then wait to be ended.

    Parameters
    ----------
    place : the folder.
    preparing : CPU time that a warm-up, or judging an answer, may take [s].
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HELD)  # a solver may want to send it to a child of its own
    for number in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        prctl = ctypes.CDLL(None).prctl
        # The kernel ends this process when the bench is killed, so that no run of it disturbs the next bench.
        prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
        # Processes that a solver cast off stay below this one, so that they are counted and ended with it.
        prctl(_SET_SUBREAPER, 1)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable(2)
    folder, worker = Path(place), os.getpid()
    status, data = WorkerStatus(folder / STATUS), (folder / TASK).read_bytes()
    task = msgspec.json.decode(data, type=Task)
    trust_same(msgspec.json.decode((folder / FILES).read_bytes()))

    def announce(stage: Stage) -> None:
        _leave_copy(worker)
        if stage == "run":
            # Modules and compiled code stay for good: without them a collection takes no time worth mentioning.
            gc.freeze()
        longest = task.seconds if stage == "run" else 0.0
        # The kernel ends this process even where compiled code spins for ever and nobody watches.
        signal.setitimer(signal.ITIMER_REAL, longest + MARGIN if longest else 0.0)
        signal.setitimer(signal.ITIMER_PROF, 0.0 if longest else preparing + MARGIN)
        status.begin(_STAGES[stage], longest, 0.0 if longest else preparing)

    try:
        row = execute(data, announce, Incumbents(folder).report)
    except BaseException as fault:  # such as KeyboardInterrupt, which cannot come from a terminal here
        row = msgspec.json.encode(failed(task, "error", f"{type(fault).__name__}: {fault}"))
    _leave_copy(worker)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer(signal.ITIMER_PROF, 0)
    part = folder / f"{ROW}.part"
    part.write_bytes(row)
    part.replace(folder / ROW)
    status.begin(DONE)
    with contextlib.suppress(BaseException):  # the bench ends it together with what the run left behind
        sleep(MARGIN)
    os._exit(0)


def _leave_copy(worker: int) -> None:
    """End a copy of the process that a solver made: one is enough."""
    if os.getpid() != worker:
        os._exit(0)
