"""OR-Tools' own knapsack solvers, in a process that can be stopped."""

from __future__ import annotations

import atexit
import math
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from transom.errors import SpecError
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers import _knapsack_worker as worker
from transom.solvers.incumbent import first_incumbent, warm_up
from transom.stop import Budget

Algorithm = Literal["branch-and-bound", "dp", "64items", "divide-and-conquer"]

_BYTES_PER_CAPACITY = {"dp": 12, "divide-and-conquer": 24}
_GRACE = 0.02  # how long past the budget an answer may take that the solver's own limit brought about [s]


@dataclass(frozen=True, slots=True)
class OrToolsKnapsack:
    """``knapsack_solver`` of OR-Tools with one of its algorithms.

    Of these only branch and bound keeps a time limit, all of them hold the interpreter lock while
    they run, and branch and bound takes hundreds of MiB a second on hard instances. They therefore
    run in a worker process with limited memory, which is started once, reused, and killed when the
    budget ends or the user interrupts; the greedy answer and Dantzig's bound remain then. The
    library reports nothing on the way. Iterations do not apply.

    Parameters
    ----------
    algorithm : ``branch-and-bound``; ``dp``, over all capacities; ``64items``, branch and bound for at
        most 64 items; ``divide-and-conquer``, over all capacities with recursion in place of a table.
    memory : how much the worker may grow [MiB], > 0.

    Raises
    ------
    SpecError : the algorithm is unknown or ``memory`` not positive.
    """

    name: ClassVar[str] = "ortools-knapsack"
    solves: ClassVar[type] = Knapsack
    needs: ClassVar[tuple[str, ...]] = ("ortools",)

    algorithm: Algorithm = "branch-and-bound"
    memory: int = 1024

    def __post_init__(self) -> None:
        if self.algorithm not in worker.TYPES:
            known = ", ".join(get_args(Algorithm))
            raise SpecError(f"ortools-knapsack: unknown algorithm {self.algorithm!r}. Known: {known}")
        if self.memory <= 0:
            raise SpecError(f"ortools-knapsack: memory must be > 0 MiB, got {self.memory}")

    def supports(self, problem: Knapsack, /) -> str | None:
        """None unless there are too many items or capacities for the algorithm."""
        reduced = reduce(problem)
        if self.algorithm == "64items" and len(reduced.items) > 64:
            return f"its algorithm takes at most 64 items, {len(reduced.items)} are undecided"
        needed = _BYTES_PER_CAPACITY.get(self.algorithm, 0) * (reduced.capacity + 1)
        if needed > self.memory * 2**20:
            return (
                f"its algorithm needs {-(-needed // 2**20)} MiB for {reduced.capacity + 1} capacities, "
                f"more than memory={self.memory}"
            )
        return None

    def warm_up(self) -> None:
        """Start a worker, which imports OR-Tools."""
        warm_up()
        with _worker(self.memory):
            pass

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        if budget.done():
            return
        reduced = reduce(problem)
        with _worker(self.memory) as process:
            status, chosen = process.ask(reduced, self.algorithm, budget)
        if status == worker.NO_MEMORY:
            budget.notes["ended"] = "out of memory"
        elif status is not None:
            budget.found(reduced.solution(chosen))
            if status == worker.OPTIMAL:
                budget.prove(problem.value(reduced.solution(chosen)))
            else:
                budget.notes["ended"] = "by its own time limit"  # which it meets with a margin


class Worker:
    """A running worker process.

    Parameters
    ----------
    memory : how much it may grow [MiB].
    """

    def __init__(self, memory: int) -> None:
        self.memory = memory
        self.alive = True
        script = Path(worker.__file__)
        # -P: the script's folder must not shadow installed modules.
        command = [sys.executable, "-P", str(script), str(memory)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self._read(1, math.inf)

    def ask(self, reduced: Reduced, algorithm: str, budget: Budget) -> tuple[bytes | None, np.ndarray]:
        """Solve a problem.

        Returns
        -------
        The status, None when the time was over first, and the choice, shape ``(m,)``, bool.

        Raises
        ------
        RuntimeError : the worker died.
        """
        count = len(reduced.items)
        kind = list(worker.TYPES).index(algorithm)
        left = budget.seconds_left()
        deadline = perf_counter() + left + (_GRACE if algorithm == "branch-and-bound" else 0)
        question = worker.QUESTION.pack(count, reduced.capacity, kind, left)
        self._write(question + np.concatenate((reduced.values, reduced.weights)).tobytes())
        answer = self._read(1 + count, deadline)
        return answer[:1] or None, np.frombuffer(answer[1:], np.bool_)

    def kill(self) -> None:
        """End the process."""
        self.alive = False
        self._process.kill()
        self._process.communicate()

    def _write(self, question: bytes) -> None:
        assert self._process.stdin is not None
        try:
            view = memoryview(question)
            while view:
                view = view[self._process.stdin.write(view) :]
        except BrokenPipeError as error:
            raise RuntimeError("the worker process died") from error

    def _read(self, size: int, deadline: float) -> bytes:
        # Empty when the deadline comes first; the worker is of no use then.
        assert self._process.stdout is not None
        parts = b""
        while len(parts) < size:
            wait = None if deadline == math.inf else max(0.0, deadline - perf_counter())
            if not select.select([self._process.stdout], [], [], wait)[0]:
                self.kill()
                return b""
            part = self._process.stdout.read(size - len(parts))
            if not part:
                self.alive = False
                raise RuntimeError(f"the worker process ended with status {self._process.wait()}")
            parts += part
        return parts


_idle: list[tuple[int, Worker]] = []  # with the process they belong to: a fork must not share them


@contextmanager
def _worker(memory: int) -> Iterator[Worker]:
    found = None
    for entry in list(_idle):
        if entry[0] == os.getpid() and entry[1].memory == memory:
            try:
                _idle.remove(entry)
            except ValueError:  # another thread was quicker
                continue
            found = entry[1]
            break
    process = found or Worker(memory)
    try:
        yield process
    except BaseException:
        process.kill()
        raise
    if process.alive:
        _idle.append((os.getpid(), process))


@atexit.register
def _end() -> None:
    for owner, process in _idle:
        if owner == os.getpid():
            process.kill()
