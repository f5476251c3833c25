"""How fast this machine is, in units that a table of ``auto`` can carry to another one."""

from __future__ import annotations

from functools import cache
from time import thread_time

import numpy as np

_REPEATS = 30


@cache
def seconds_of_a_probe() -> float:
    """CPU time of a fixed piece of work on one core [s], some 80 microseconds; measured once in a process.

    A thousand binary searches among two thousand integers depend on clock rate, cache and branches, as the solvers do,
    and neither on vector instructions nor on a compiler. A running sum does not serve: what was just stored is read
    again, which takes five cycles on some processors and none on others, and they seemed to differ by a factor of four.
    Nor does searching for the same numbers again: processors learn the way by heart, some all of it and some the half,
    and two that proved at one speed seemed to differ by a factor of 3.5. The least of some repeats is taken, so that
    other work on the machine does not count.
    """
    rng = np.random.default_rng(0)
    numbers = np.sort(rng.integers(0, 2**30, 2**11))
    least = float("inf")
    for wanted in rng.integers(0, 2**30, (_REPEATS, 2**10)):
        began = thread_time()
        np.searchsorted(numbers, wanted)
        least = min(least, thread_time() - began)
    return max(least, 1e-9)
