"""Side effects of a run on its worker process; a worker with side effects is replaced."""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from time import monotonic, process_time, sleep
from typing import Any, NamedTuple

_LOOKS = 3  # a worker counts as busy that is so each time
_APART = 0.01  # from one look to the next [s]
_BUSY = 0.5  # processor time, got or waited for, in that of the clock
_HAS_SCHEDSTAT = Path("/proc/self/schedstat").exists()  # what threads wait for
_LIMITS = tuple(getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_"))
_NATIVE = "transom-native"  # threads of searches that were left behind; the next run waits for them


class Condition(NamedTuple):
    """Process-wide state that no run may change.

    Parameters
    ----------
    settings : of the process.
    threads : how many it has.
    """

    settings: tuple[Any, ...]
    threads: int


def condition() -> Condition:
    """The current state; takes some tens of microseconds."""
    settings: list[Any] = [_folder(), gc.isenabled(), sys.getrecursionlimit()]
    settings += [signal.getsignal(each) for each in (signal.SIGALRM, signal.SIGPROF)]
    settings += [_file(number) for number in range(3)]
    settings += [(id(stream), getattr(stream, "closed", True)) for stream in (sys.stdout, sys.stderr)]
    settings += [resource.getrlimit(limit) for limit in _LIMITS]
    settings += [os.getpriority(os.PRIO_PROCESS, 0), sys.gettrace(), sys.getprofile()]
    if hasattr(os, "sched_getaffinity"):
        settings.append(frozenset(os.sched_getaffinity(0)))
    if numpy := sys.modules.get("numpy"):
        settings.append(tuple(sorted(numpy.geterr().items())))
    return Condition(tuple(settings), len(_tasks()))


def was_modified(before: Condition) -> bool:
    """Whether settings have changed, or threads or child processes are still busy.

    Those that wait to be used again, as of a pool, do no harm.
    """
    now = condition()
    if now.settings != before.settings:
        return True
    threads = now.threads > before.threads and all(each.name != _NATIVE for each in threading.enumerate())
    if not threads and not _children():
        return False
    for _ in range(_LOOKS):
        wanted, begun = _demand(), monotonic()
        sleep(_APART)
        # What a thread waits for counts when it gets it: one that has waited all the time is recognised by its state.
        busy = _demand() - wanted >= _BUSY * (monotonic() - begun) or any(map(_runs, _others()))
        if not busy and not any(map(_runs, _children())):
            return False
    return True


def _demand() -> float:
    """Processor time that the other threads have got so far, and waited for: a busy machine gives each little [s]."""
    if not _HAS_SCHEDSTAT:
        return process_time()
    total, own = 0, str(threading.get_native_id())
    for each in _tasks():
        with contextlib.suppress(OSError):  # it has ended
            if each != own:
                got, waited, _ = Path(f"/proc/self/task/{each}/schedstat").read_text().split()
                total += int(got) + int(waited)
    return total / 1e9


def _folder() -> str | None:
    try:
        return os.getcwd()
    except OSError:
        return None


def _file(number: int) -> tuple[int, int] | None:
    try:
        found = os.fstat(number)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _tasks() -> list[str]:
    try:
        return os.listdir("/proc/self/task")
    except OSError:
        return [each.name for each in threading.enumerate()]


def _others() -> list[str]:
    """The other threads, as the system numbers them."""
    own = str(threading.get_native_id())
    return [f"self/task/{each}" for each in _tasks() if each != own] if _HAS_SCHEDSTAT else []


def _children() -> list[str]:
    found: list[str] = []
    for each in _tasks():
        try:
            found += Path(f"/proc/self/task/{each}/children").read_text().split()
        except OSError:
            continue
    return found


def _runs(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "R"
    except OSError:
        return False
