"""CPU time of this process."""

from __future__ import annotations

from resource import RUSAGE_SELF, getrusage


def cpu_time() -> float:
    """CPU time of this process [s].

    :func:`time.process_time` goes in steps of several milliseconds where the process has a limit or a timer of CPU
    time, as under ``ulimit -t``: the kernel then answers with what it added up at its last tick.
    """
    used = getrusage(RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
