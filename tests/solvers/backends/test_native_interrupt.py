from __future__ import annotations

import os
import signal
import time
from threading import Event, Timer

import numpy as np
import polars  # noqa: F401  (its handler of signals restarts a waiting call)
import pytest

from transom.models import Knapsack
from transom.solvers.backends.native import run_deferred, run_native
from transom.stop import Stop

PROBLEM = Knapsack(np.array([60, 100, 120]), np.array([1, 2, 3]), 5)


@pytest.mark.parametrize("slow", [0.0, 0.2])
def test_nothing_native_runs_on_after_an_interrupt(slow: float) -> None:
    # A thread in native code while the interpreter ends aborts the process.
    told, finished = Event(), Event()

    def search() -> None:
        Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
        told.wait(600)
        time.sleep(slow)
        finished.set()

    with pytest.raises(KeyboardInterrupt):
        run_native(search, told.set, Stop().start(PROBLEM))
    assert told.is_set()
    run_deferred()
    assert finished.is_set()
