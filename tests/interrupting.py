"""Ctrl-C is tried on one solver after another, in one process that goes on after each of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Timer
from time import perf_counter, process_time
from typing import Any

from transom import Stop, solve
from transom.solving import Solver, warm_up

SOON = 3.0
"""How long a solver may go on after it [s]."""


def interrupted(case: Callable[..., tuple[Any, Solver]], runs: Sequence[Sequence[str]]) -> list[str]:
    """What a process says that has tried it.

    Parameters
    ----------
    case : a function of a module, which makes a problem, and a solver that would be busy with it for a minute.
    runs : its arguments, for each solver.

    Returns
    -------
    A line for each of the runs, which ends in ``interrupted`` if all is well, and whatever else was printed.
    """
    command = [sys.executable, "-m", __name__, case.__module__, case.__name__, json.dumps(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.stdout.splitlines() + done.stderr.splitlines()


def main(module: str, name: str, runs: str) -> None:
    for run in json.loads(runs):
        problem, solver = getattr(import_module(module), name)(*run)
        warm_up(solver, type(problem))
        pressed = Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
        began, worked = perf_counter(), process_time()
        try:
            pressed.start()
            solve(problem, solver, Stop(seconds=60))
            print(*run, "not interrupted at all")
        except KeyboardInterrupt:
            took = perf_counter() - began
            late = min(took, process_time() - worked)  # others may keep the machine busy
            print(*run, "interrupted" if late < SOON and took < 30 else f"went on for {took} s")
        pressed.cancel()


if __name__ == "__main__":
    main(*sys.argv[1:])
