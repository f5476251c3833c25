"""OR-Tools' own knapsack solvers, in a process that can be stopped."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from transom.errors import SpecError
from transom.models.knapsack import Knapsack
from transom.models.reduction import Reduced, reduce
from transom.solvers.backends.native import run_deferred
from transom.solvers.backends.worker_process import WorkerProcess, borrowed_worker
from transom.solvers.knapsack import ortools_process as worker
from transom.solvers.knapsack.incumbent import first_incumbent, warm_up
from transom.stop import Budget

Algorithm = Literal["branch-and-bound", "dp", "64items", "divide-and-conquer"]

_BYTES_PER_CAPACITY = {"dp": 12, "divide-and-conquer": 24}
_PER_ITEM = 2e-7  # what it takes to ask the worker [s]
_SHARE = 0.1  # of the CPU time that is left, for a first run with a limit
_GRACE = 0.02  # how long past the budget an answer may take that the solver's own limit brought about [s]


@dataclass(frozen=True, slots=True)
class OrToolsKnapsack:
    """``knapsack_solver`` of OR-Tools with one of its algorithms.

    Of these only branch and bound keeps a time limit, all of them hold the interpreter lock while
    they run, and branch and bound takes hundreds of MiB a second on hard instances. They therefore
    run in a worker process with limited memory, which is started once, reused, and killed when the
    budget ends or the user interrupts; the greedy answer and Dantzig's bound remain then. The
    library reports nothing on the way. Iterations do not apply. Its time limit is of the wall clock: with
    a budget of CPU time, branch and bound therefore runs up to a tenth of it for an answer, and again without a
    limit for the proof.

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
        if self.algorithm == "branch-and-bound":
            return None
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
        run_deferred()
        with _worker(self.memory):
            pass

    def __call__(self, problem: Knapsack, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        first_incumbent(problem, budget, rng)
        # To ask the worker cannot be cut short, nor can reading its answer.
        if budget.done() or budget.short(_PER_ITEM * len(problem)):
            return
        reduced = reduce(problem)
        with _worker(self.memory) as process:
            status, chosen = _ask(process, reduced, self.algorithm, budget)
        if status == worker.NO_MEMORY:
            budget.notes["ended"] = "out of memory"
        elif status is not None:
            budget.found(reduced.solution(chosen))
            if status == worker.OPTIMAL:
                budget.prove(problem.value(reduced.solution(chosen)))
            else:
                budget.notes["ended"] = "by its own time limit"  # which it meets with a margin


def _ask(
    process: WorkerProcess, reduced: Reduced, algorithm: str, budget: Budget
) -> tuple[bytes | None, NDArray[np.bool_]]:
    """The status, None when the time was over first, and the choice, shape ``(m,)``, bool."""
    count = len(reduced.items)
    kind = list(worker.TYPES).index(algorithm)
    left = budget.seconds_left()
    own = algorithm == "branch-and-bound" and math.isfinite(left)  # whether it keeps limits
    again = own and not budget.wall
    grace = _GRACE if own and budget.wall else 0.0
    question = worker.QUESTION.pack(count, reduced.capacity, kind, _SHARE * left if again else left, again)
    numbers = np.concatenate((reduced.values, reduced.weights)).tobytes()
    answer = process.ask(question + numbers, 1 + count, budget, grace)
    if answer[:1] == worker.FEASIBLE and again:
        budget.found(reduced.solution(np.frombuffer(answer[1:], np.bool_)))
        answer = process.read(1 + count)
    return answer[:1] or None, np.frombuffer(answer[1:], np.bool_)


def _worker(memory: int) -> AbstractContextManager[WorkerProcess]:
    return borrowed_worker(Path(worker.__file__), str(memory))
