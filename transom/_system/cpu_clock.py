"""CPU time of this process and of the workers that work for it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from resource import RUSAGE_SELF, getrusage
from time import clock_gettime

_charged = 0.0


def cpu_time() -> float:
    """CPU time of this process, which knows nothing of living children, and what was charged to it [s].

    :func:`time.process_time` goes in steps of several milliseconds where the process has a limit or a timer of CPU
    time, as under ``ulimit -t``: the kernel then answers with what it added up at its last tick.
    """
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime + _charged


def charge(seconds: float) -> None:
    """Count CPU time that another process spent for this one [s]."""
    global _charged
    _charged += seconds


def clock_of(process: int) -> Callable[[], float]:
    """A clock of the CPU time of another process, given by its number: all its threads, itself only [s].

    It raises ``OSError`` once nothing is left of the process.
    """
    number = ctypes.c_int()
    look_up = getattr(ctypes.CDLL(None), "clock_getcpuclockid", None)
    if look_up is not None and look_up(process, ctypes.byref(number)) == 0:
        return lambda: clock_gettime(number.value)
    import psutil  # in steps of 10 ms where it has to do

    other = psutil.Process(process)

    def read() -> float:
        try:
            times = other.cpu_times()
        except psutil.Error as error:
            raise OSError(str(error)) from error
        return float(times.user + times.system)

    return read
