"""Jobs on identical machines, so that the last one ends early: a problem and a solver in a package of their own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from transom import Budget, Window
from transom.models.arrays import Frozen
from transom.models.problem import ProblemType

Machines = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Makespan(Frozen):
    """Give each job a machine; what counts is when the last job ends."""

    times: tuple[int, ...]
    machines: int

    kind = "makespan"
    sense = "min"

    def value(self, solution: Sequence[int], /) -> int:
        loads = [0] * self.machines
        for time, machine in zip(self.times, solution, strict=True):
            loads[machine] += time
        return max(loads)

    def violations(self, solution: Sequence[int], /) -> list[str]:
        if len(solution) != len(self.times):
            return [f"{len(self.times)} jobs, but {len(solution)} machines are given"]
        return [f"job {job} is on machine {at}" for job, at in enumerate(solution) if not 0 <= at < self.machines]

    def frozen(self, solution: Sequence[int], /) -> Machines:
        return tuple(solution)


class LongestFirst:
    """Longest processing time first (Graham 1969); the bound is the longest job or the mean load."""

    name = "longest-job"
    solves = Makespan

    def supports(self, problem: Makespan, /) -> str | None:
        return None

    def __call__(self, problem: Makespan, budget: Budget, rng: np.random.Generator, /, start: Any = None) -> None:
        loads = [0] * problem.machines
        placed: dict[int, int] = {}
        for job in sorted(range(len(problem.times)), key=lambda job: -problem.times[job]):
            placed[job] = loads.index(min(loads))
            loads[placed[job]] += problem.times[job]
        budget.found([placed[job] for job in range(len(problem.times))])
        budget.prove(max(*problem.times, -(-sum(problem.times) // problem.machines)))


def waiting(window: Window) -> tuple[Makespan, list[int]]:
    """The jobs that wait, each for its walltime on one of the nodes that are free."""
    return Makespan(tuple(window.queue.walltime.tolist()), window.free_nodes), window.queue.id.tolist()


MAKESPAN = ProblemType(kind="makespan", model=Makespan, solver="longest-job", made_from={"window": waiting})
