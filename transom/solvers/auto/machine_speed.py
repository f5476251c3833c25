"""How fast this machine is, in units that a table of ``auto`` can carry to another one."""

from __future__ import annotations

from functools import cache
from time import thread_time

import numpy as np

_REPEATS = 30


@cache
def seconds_of_a_probe() -> float:
    """CPU time of a fixed piece of work on one core [s], some 50 microseconds; measured once in a process.

    A running sum of 2^15 integers depends on clock rate and cache, and neither on vector instructions nor on
    a compiler. The least of some repeats is taken, so that other work on the machine does not count.
    """
    numbers, sums = np.arange(2**15), np.empty(2**15, np.int64)
    least = float("inf")
    for _ in range(_REPEATS):
        began = thread_time()
        np.cumsum(numbers, out=sums)
        least = min(least, thread_time() - began)
    return max(least, 1e-9)
