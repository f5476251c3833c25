"""Ctrl-C is tried on one solver after another, in one process that goes on after each of them."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib import import_module
from threading import Timer
from time import perf_counter, process_time, sleep
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
    command = [sys.executable, "-m", __name__, "once", case.__module__, case.__name__, json.dumps(runs)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    return done.stdout.splitlines() + done.stderr.splitlines()


def interrupted_often(case: Callable[..., tuple[Any, Solver]], given: Sequence[str], times: int) -> Counter[str]:
    """How often each thing happened that a process said after Ctrl-C at random moments of a search.

    Parameters
    ----------
    case, given : a function as for :func:`interrupted`, and its arguments.
    times : how often to press.
    """
    command = [sys.executable, "-m", __name__, "often", case.__module__, case.__name__, json.dumps(given), str(times)]
    said: Counter[str] = Counter()
    moments = random.Random(" ".join(given))
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "searches\n":
                sleep(0.01 + 0.15 * moments.random())
                process.send_signal(signal.SIGINT)
            else:
                said[line.rstrip()] += 1
    said[f"status {process.returncode}"] += 1
    return said


def search_often(module: str, name: str, given: str, times: str) -> None:
    problem, solver = getattr(import_module(module), name)(*json.loads(given))
    warm_up(solver, type(problem))
    for _ in range(int(times)):
        try:
            print("searches", flush=True)
            result = solve(problem, solver, Stop(seconds=30))
            print("not interrupted:", result.reason, result.error, flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)


def search_once(module: str, name: str, runs: str) -> None:
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
            print(*run, "interrupted" if late < SOON else f"went on for {took} s")
        pressed.cancel()


if __name__ == "__main__":
    {"once": search_once, "often": search_often}[sys.argv[1]](*sys.argv[2:])
