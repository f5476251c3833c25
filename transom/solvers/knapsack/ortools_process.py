"""A process that solves knapsacks with OR-Tools' knapsack solver, asked through its pipes.

Run as a script, without the rest of the package. A question is a header (:data:`QUESTION`) and the
values and weights as int64; an answer is a status and one byte per item (:data:`READY` first).
"""

from __future__ import annotations

import ctypes
import resource
import signal
import struct
import sys
from typing import Any

import numpy as np

QUESTION = struct.Struct("<qqqd?")
"""Number of items, capacity, position in :data:`TYPES`, seconds (infinite for no limit), and whether to follow an
answer that is not proved with one of a run without a limit."""

TYPES = {
    "branch-and-bound": "KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER",
    "dp": "KNAPSACK_DYNAMIC_PROGRAMMING_SOLVER",
    "64items": "KNAPSACK_64ITEMS_SOLVER",
    "divide-and-conquer": "KNAPSACK_DIVIDE_AND_CONQUER_SOLVER",
}
"""OR-Tools' name of each algorithm."""

READY, FEASIBLE, OPTIMAL, NO_MEMORY = b"r", b"f", b"o", b"m"


def main(memory: int) -> None:
    """Answer until standard input ends.

    Parameters
    ----------
    memory : how much the process may grow from here [MiB].
    """
    from ortools.algorithms.python import knapsack_solver

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: die with the parent
    with open("/proc/self/statm") as statm:
        size = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + memory * 2**20,) * 2)
    types = [getattr(knapsack_solver.SolverType, name) for name in TYPES.values()]
    stdin, stdout = sys.stdin.buffer, sys.stdout.buffer
    stdout.write(READY)
    stdout.flush()
    while header := stdin.read(QUESTION.size):
        count, capacity, kind, seconds, again = QUESTION.unpack(header)
        values, weights = np.frombuffer(stdin.read(16 * count), np.int64).reshape(2, count).tolist()
        for limit in (seconds, np.inf) if again else (seconds,):
            answer = _solve(knapsack_solver, types[kind], values, weights, capacity, limit)
            stdout.write(answer)
            stdout.flush()
            if answer[:1] != FEASIBLE:
                break


def _solve(library: Any, kind: Any, values: list[int], weights: list[int], capacity: int, seconds: float) -> bytes:
    try:
        solver = library.KnapsackSolver(kind, "transom")
        if np.isfinite(seconds):
            solver.set_time_limit(seconds)
        solver.init(values, [weights], [capacity])
        solver.solve()
        chosen = bytes(solver.best_solution_contains(item) for item in range(len(values)))
        return (OPTIMAL if solver.is_solution_optimal() else FEASIBLE) + chosen
    except MemoryError:
        return NO_MEMORY + bytes(len(values))


if __name__ == "__main__":
    main(int(sys.argv[1]))
