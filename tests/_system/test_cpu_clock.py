"""The clock of CPU time is exact to a few microseconds, whatever limits and timers the process has."""

from __future__ import annotations

import signal
from time import process_time

from transom import Knapsack, Stop
from transom._system.cpu_clock import cpu_time


def test_a_timer_of_cpu_time_does_not_make_it_coarse() -> None:
    clock = Stop(seconds=1).start(Knapsack([1], [1], 1), clock=process_time).clock
    signal.setitimer(signal.ITIMER_PROF, 3600)
    try:
        seen = [cpu_time() for _ in range(2000)]
        budgeted = [clock() for _ in range(2000)]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    for readings in (seen, budgeted):  # process_time gives two values or three here
        assert readings == sorted(readings)
        assert len(set(readings)) > 20  # a call may take less than the microsecond of the clock
